"""Write a passageway connector in Python: the plumbing of the protocol, without dependencies."""

from passageway_sdk.connector import Connector
from passageway_sdk.errors import SettingsError, SourceError
from passageway_sdk.markdown import first_h1, split_markdown, strip_code

__all__ = ["Connector", "SettingsError", "SourceError", "first_h1", "split_markdown", "strip_code"]

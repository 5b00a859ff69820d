"""A passageway connector for the files that websites publish for language models."""

from passageway_connector_llmstxt.connector import LlmsTxt

__all__ = ["LlmsTxt"]

"""A passageway connector for a part of Wikipedia or of another MediaWiki site."""

from passageway_connector_wikipedia.connector import Wikipedia

__all__ = ["Wikipedia"]

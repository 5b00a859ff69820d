"""`python -m passageway_connector_markdown MODE`: one call of the connector protocol."""

from passageway_connector_markdown.connector import MarkdownFolder

if __name__ == "__main__":
    MarkdownFolder.main()

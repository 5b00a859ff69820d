"""`python -m passageway_connector_confluence check|list|fetch|changed`."""

from passageway_connector_confluence.connector import ConfluenceConnector

if __name__ == "__main__":
    ConfluenceConnector.main()

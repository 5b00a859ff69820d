"""`python -m passageway_connector_trilium check|list|fetch|changed`."""

from passageway_connector_trilium.connector import TriliumConnector

if __name__ == "__main__":
    TriliumConnector.main()

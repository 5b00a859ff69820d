"""The sync service: runs connectors and is the only writer of the index files."""

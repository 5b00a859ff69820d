"""The query service: reads the index files, ranks, gates, and speaks to clients."""

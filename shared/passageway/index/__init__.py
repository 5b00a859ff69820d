"""One SQLite file a source: the whole contract between sync, which writes it, and query, which reads it."""

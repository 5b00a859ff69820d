"""The embed service: one model in memory for everybody."""

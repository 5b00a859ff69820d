"""A passageway connector for a folder of markdown files."""

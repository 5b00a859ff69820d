"""A passageway connector for the notes of a Trilium server."""

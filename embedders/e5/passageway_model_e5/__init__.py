"""The multilingual-e5-small model for passageway, as a package."""

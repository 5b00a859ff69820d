"""A passageway connector for the pages of Confluence Data Center and Cloud."""

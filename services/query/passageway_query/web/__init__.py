"""The web page: sources with their state, and a place to ask and see why."""

"""`passageway eval`: how often the right passage comes back, and how often nothing comes back when nothing fits."""

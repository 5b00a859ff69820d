"""Answer one call: `python -m passageway_connector_wikipedia check | list | fetch`."""

from passageway_connector_wikipedia.connector import Wikipedia

if __name__ == "__main__":
    Wikipedia.main()

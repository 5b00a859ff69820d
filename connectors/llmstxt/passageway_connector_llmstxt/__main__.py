"""Answer one call: `python -m passageway_connector_llmstxt check | list | fetch`."""

from passageway_connector_llmstxt.connector import LlmsTxt

if __name__ == "__main__":
    LlmsTxt.main()

"""A passageway embedder for services that speak the embeddings API of OpenAI, Voyage or Ollama."""

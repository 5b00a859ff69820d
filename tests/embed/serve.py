"""The embed service as a program: `serve.py DATA_DIR PORT [MODEL_DIR]`."""

import sys

import uvicorn

from passageway.config import EmbedderConfig
from passageway.settings import load_settings
from passageway_embed.app import create_app
from passageway_embed.make import make_embedder

data_dir, port, *model_dir = sys.argv[1:]
config = EmbedderConfig(model_dir=model_dir[0] if model_dir else None, download=False)
settings = load_settings({"HOME": data_dir, "PASSAGEWAY_DATA_DIR": data_dir})
embedder = make_embedder(config, settings, models_ready=True)
uvicorn.run(create_app(embedder), host="127.0.0.1", port=int(port), log_level="warning")

"""The embed service: one model in memory for everybody."""

import os

# Since 1.29 onnxruntime reports each process, session and model to its maker, beginning with its import, and keeps an
# identifier of the machine for it in ~/.cache. Only this variable turns all of it off, and only before that import;
# `disable_telemetry_events` comes too late (docs/Privacy.md of onnxruntime).
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

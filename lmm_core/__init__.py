"""LM markdown: notes in markdown that writer and language model work on together."""

import os

__version__ = "0.1.0"

# Some libraries tell their makers that they are used: onnxruntime from 1.29 on, whoever imports it.
for _variable in ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY"):
    os.environ.setdefault(_variable, "1")

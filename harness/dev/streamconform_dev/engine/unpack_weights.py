"""Write a model in the form of transformers: `python unpack_weights.py GGUF FOLDER`, in its environment."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import transformers

source, target = map(Path, sys.argv[1:])
where = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
config = transformers.GgufConfig(dequantize=True)
model = transformers.AutoModelForCausalLM.from_pretrained(
    **where, dtype=torch.float32, quantization_config=config
)
if hasattr(model.config, "quantization_config"):
    del model.config.quantization_config  # the model cannot be saved with it
model.save_pretrained(target)
transformers.AutoTokenizer.from_pretrained(**where).save_pretrained(target)

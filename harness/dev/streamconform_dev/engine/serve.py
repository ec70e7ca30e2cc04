"""Run the engine: `python serve.py MODEL TEMPLATE ALIAS PARAMETERS`, in the environment with xllamacpp.

It prints `LISTEN http://127.0.0.1:PORT` when it accepts requests, and runs until it is ended or its standard
input is closed, so that it never outlives the program that started it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import xllamacpp

model, template, alias, parameters = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.model_alias = {alias}
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_ctx, params.n_parallel = 4096, 1
params.cache_prompt = False  # an answer does not depend on earlier requests
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.use_jinja, params.chat_template = True, Path(template).read_text("utf-8")
params.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_DEEPSEEK
for name, value in json.loads(parameters).items():
    setattr(params, name, value)
server = xllamacpp.Server(params)
sys.stdout.write(f"LISTEN {server.listening_address}\n")
sys.stdout.flush()
sys.stdin.read()

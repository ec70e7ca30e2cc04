"""Run `python -m MODULE` in a process that starts in milliseconds, because its parent has imported MODULE.

Importing the command line takes more CPU time than most commands, and hundreds of tests run a command. A
server, started once per pytest process, imports the module and forks for each command. Each command therefore
has its own process, folder, environment and file descriptors, as if a shell had started it. Tests about the
start itself (imports, signals, hash seeds, Python's encodings) start a new Python instead.

The programs that host Python adapters are forked too, by the command itself: each has its own process and
session, and is killed like any other program. `tests/harness` and `tests/replay` start real ones.
"""

from __future__ import annotations

import array
import asyncio
import atexit
import contextlib
import faulthandler
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import random
import runpy
import selectors
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn, Self

from streamconform.schemas import accepts

LENGTH = struct.Struct("!I")
SIGNED = struct.Struct("!i")
PRELOADED = {
    "streamconform": (
        "click._textwrap",
        "h11",
        "httpx",
        "importlib.metadata",
        "jsonschema",
        "resource",
        "rich.progress",
        "streamconform.adapters.host",
        "streamconform_capture.cli.record.listen",
        "streamconform_capture.cli.record.scenarios",
        "streamconform.reports.html",
        "streamconform.reports.junit",
        "streamconform_capture.fuzz.generate",
        "streamconform_proxy",
        "streamconform_reference",
    ),
    "pytest": (
        "_pytest.assertion.rewrite",
        "click",
        "h11",
        "rich.console",
        "streamconform.adapters.host",
        "streamconform.adapters.in_process",
        "streamconform.pytest.items",
        "streamconform.pytest.session",
        "streamconform.replay.server",
        "streamconform_reference",
    ),
}
"""Maps a module to the modules that it imports late."""

HOSTS = ("streamconform.adapters.host", "streamconform_capture.probe.proxy_program")
"""The modules that commands start with `python -m`."""


NEW_PROGRAMS = "STREAMCONFORM_NEW_PROGRAMS"
"""An environment variable for commands that notice adapters with the reference, which every fork has."""


class Server:
    """The tests' interface to the process that forks."""

    def __init__(self, module: str) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="conform-")
        self.address = str(Path(self.folder.name) / "socket")
        self.process = subprocess.Popen(
            (sys.executable, __file__, module, self.address), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.process.stdout.readline()  # it listens

    def close(self) -> None:
        """End the server."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()


SERVERS: dict[str, Server] = {}


def server(module: str) -> Server:
    """Return this process's server for a module: started on first use, and again if it was killed."""
    if module not in SERVERS or SERVERS[module].process.poll() is not None:
        SERVERS[module] = Server(module)
        atexit.register(SERVERS[module].close)
    return SERVERS[module]


class Forked:
    """A running `python -m MODULE WORDS`, with `files` as its file descriptors 0 to 2."""

    def __init__(
        self, module: str, words: Sequence[str], cwd: Path, env: Mapping[str, str], files: Sequence[int]
    ) -> None:
        self.server = server(module)
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(self.server.address)
        text = json.dumps({"words": words, "cwd": str(cwd), "env": dict(env)}).encode()
        rights = array.array("i", files).tobytes()
        self.connection.sendmsg([LENGTH.pack(len(text))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        self.connection.sendall(text)
        self.pid = self._number()
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, which is negative for a signal. Raises `TimeoutError`."""
        if self.returncode is None:
            self.connection.settimeout(timeout)
            self.returncode = SIGNED.unpack(_receive(self.connection, SIGNED.size))[0]
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send the process a signal, if it still runs."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # the server has waited for it
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process, if it still runs."""
        self.send_signal(signal.SIGKILL)

    def _number(self) -> int:
        try:
            return LENGTH.unpack(_receive(self.connection, LENGTH.size))[0]
        except EOFError as error:
            code = self.server.process.poll()
            raise AssertionError(f"the server of forks has ended (exit code {code})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if exception[0] is not None:
            self.kill()
        self.connection.close()


class Started(Forked):
    """A running `python -m MODULE WORDS`, without stdin, whose output is read from `stdout` and `stderr`."""

    def __init__(self, module: str, words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        self.stdout, self.stderr = (os.fdopen(end, encoding="utf-8") for end in (out, err))
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            super().__init__(module, words, cwd, env, (nothing, out_end, err_end))
        finally:
            for end in (nothing, out_end, err_end):
                os.close(end)

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Wait for the end, and return the rest of stdout and stderr. Raises `TimeoutError`."""
        with ThreadPoolExecutor(1) as other:
            err = other.submit(self.stderr.read)
            killer = threading.Timer(timeout, self.kill)
            killer.start()
            out = self.stdout.read()
            self.wait(timeout)
            killer.cancel()
            return out, err.result()

    def __exit__(self, *exception: object) -> None:
        self.kill()
        super().__exit__(*exception)
        self.stdout.close()
        self.stderr.close()


def write_command(path: Path) -> None:
    """Write a program that is `conform` in a fork, for shell scripts."""
    client = Path(__file__).with_name("forked_client.py")
    words = shlex.join((sys.executable, "-I", "-S", str(client), server("streamconform").address))
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n', "utf-8")
    path.chmod(0o755)


def run(
    module: str,
    words: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: str = "",
    merged: bool = False,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Return the output and exit code of `python -m MODULE WORDS`; `merged` means `2>&1`."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as given,
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
    ):
        given.write(stdin)
        given.seek(0)
        files = [each.fileno() for each in (given, out, out if merged else err)]
        with Forked(module, words, cwd, env, files) as forked:
            code = forked.wait(timeout)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(words, code, out.read(), err.read())


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def _serve(address: str, modules: Sequence[str]) -> socket.socket | None:
    """Fork for every connection until stdin ends; returns the connection in a child."""
    for name in modules:
        importlib.import_module(name)
    _fill_caches()
    gc.collect()
    gc.freeze()  # a garbage collection in a child would copy every memory page
    running: dict[int, socket.socket] = {}
    wake, awake = socket.socketpair()
    for end in (wake, awake):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(awake.fileno(), warn_on_full_buffer=False)
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector, wake, awake:
        listener.bind(address)
        listener.listen(64)
        for source in (listener, sys.stdin, wake):
            selector.register(source, selectors.EVENT_READ)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    return None
                if key.fileobj is wake:
                    wake.recv(4096)
                    _report(running)
                    continue
                connection, _ = listener.accept()
                pid = os.fork()
                if not pid:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for other in running.values():
                        other.close()
                    return connection
                running[pid] = connection


def _fill_caches() -> None:
    """Build the objects that most commands need before they read any input."""
    for schema, definition in (("spec.v1", None), ("cassette.v1", None), ("protocol.v1", "hello")):
        accepts(schema, {}, definition)


def _report(running: dict[int, socket.socket]) -> None:
    """Send the exit codes of the children that have ended."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with running.pop(pid) as connection, contextlib.suppress(OSError):  # the test has failed
            connection.sendall(SIGNED.pack(os.waitstatus_to_exitcode(status)))


def _modules(module: str) -> list[str]:
    modules = [module, *PRELOADED[module]]
    if module == "streamconform":
        import streamconform_mutants
        from streamconform.cli.verbs import load_verbs

        modules += [verb.module for verb in load_verbs().values()]
        mutants = pkgutil.iter_modules(streamconform_mutants.__path__, "streamconform_mutants.")
        modules += [each.name for each in mutants]
    return modules


class _ForkingPopen(subprocess.Popen):
    """Fork instead of starting a Python for one of `HOSTS`."""

    def __init__(self, args: Any, **options: Any) -> None:
        if isinstance(args, list | tuple) and args[:2] == type(args)((sys.executable, "-m")):
            module, *words = args[2:]
            if module in HOSTS:
                options["preexec_fn"] = functools.partial(_host, module, words, options.get("env"))
        super().__init__(args, **options)


def _host(module: str, words: Sequence[str], env: Mapping[str, str] | None) -> NoReturn:
    """Act as `python -m MODULE WORDS`, in a fork whose file descriptors 0 to 2 are already set."""
    code: object = 0
    try:
        gc.freeze()  # nothing of the command is finalised here
        atexit._clear()
        faulthandler.disable()
        asyncio._set_running_loop(None)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        if env is not None:
            os.environ.clear()
            os.environ.update(env)
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)), encoding="utf-8")
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(number, "w"), encoding="utf-8", errors=errors, write_through=True)
            for number, errors in ((1, "strict"), (2, "backslashreplace"))
        )
        sys.path[0] = str(Path.cwd())
        sys.argv[1:] = words
        sys.modules.pop(module, None)
        sys.meta_path[:] = [each for each in sys.meta_path if isinstance(each, type)]  # none of pytest's
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as error:
        code = error.code
    except BaseException:  # noqa: BLE001 - as Python itself does at the end
        traceback.print_exc()
        code = 1
    os._exit(code if isinstance(code, int) else int(code is not None))


def _become(module: str, connection: socket.socket) -> NoReturn:
    """Act as the `python -m MODULE WORDS` that the connection requests, and exit like it."""
    with connection:
        head, ancillary, _, _ = connection.recvmsg(LENGTH.size, socket.CMSG_SPACE(12))
        order = json.loads(_receive(connection, LENGTH.unpack(head)[0]))
        connection.sendall(LENGTH.pack(os.getpid()))
    for number, file in enumerate(array.array("i", ancillary[0][2])):
        os.dup2(file, number)
        os.close(file)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    _open_streams()
    random.seed()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    os.cpu_count = lambda: 1  # each worker starts a program
    if NEW_PROGRAMS not in order["env"]:
        subprocess.Popen = _ForkingPopen
    sys.path[0] = order["cwd"]
    sys.argv[1:] = order["words"]
    code: object = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as error:
        code = error.code
    except BaseException:  # noqa: BLE001 - as Python itself does at the end
        traceback.print_exc()
        code = 1
    _leave(code)


def _open_streams() -> None:
    """Replace the server's streams, which remember whether its files were terminals or seekable."""
    how = {"encoding": sys.stdout.encoding, "closefd": False}
    buffering = 1 if os.isatty(1) or os.environ.get("PYTHONUNBUFFERED") else -1
    sys.stdin = sys.__stdin__ = open(0, **how)  # noqa: SIM115 - open until the end
    sys.stdout = sys.__stdout__ = open(1, "w", buffering, errors=sys.stdout.errors, **how)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", 1, errors="backslashreplace", **how)  # noqa: SIM115


def _leave(code: object) -> NoReturn:
    """Exit like Python, but without destroying objects, which would copy most memory pages of the server."""
    if isinstance(code, str):
        print(code, file=sys.stderr)  # noqa: T201 - so does Python
    threading._shutdown()
    atexit._run_exitfuncs()
    number = code if isinstance(code, int) else int(code is not None)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            os.write(2, f"Exception ignored while flushing {stream.name}: {error}\n".encode())
            number = 120
    os._exit(number)


if __name__ == "__main__":
    name, address = sys.argv[1:]
    child = _serve(address, _modules(name))
    if child is not None:
        _become(name, child)

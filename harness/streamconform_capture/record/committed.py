"""Scan committed specs and cassettes for secrets, file by file, for `conform lint`.

A scan of the full suite takes about as long as the rest of `lint`, so it runs in a parallel process. The
digests of clean files are kept in the user's cache, so that only changed files are scanned again.
"""

from __future__ import annotations

import hashlib
import multiprocessing.connection
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from streamconform import user_cache
from streamconform.apis import APIS
from streamconform.errors import Problem
from streamconform.files import TooLargeError, read_regular, write_atomically
from streamconform.secrets import decoded_forms, joined, personal_numbers, placeholders
from streamconform.secrets import scan as scanner
from streamconform.secrets.joined import parse_payload
from streamconform.secrets.scan import SecretFinding, scan, scan_answer
from streamconform.suite.cassettes import MAX_BODY
from streamconform.suite.load import Sources
from streamconform.system import can_fork, get_context
from streamconform.wire.framings import split

METADATA: Final = (".yaml", ".yml")
BEHIND: Final = 200
"""For this number of files or fewer, a separate process is not worthwhile."""
MAX_DIGESTS: Final = 50_000
"""The maximum number of digests to keep; each takes 33 bytes."""


def list_files(paths: Sequence[Path], sources: Sources) -> list[Path]:
    """Return the files that `lint` reads for `paths`, or all of `sources`; a cassette is several files."""
    if not paths:
        return [*_list_folder(sources.specs), *_list_folder(sources.cassettes)]
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            beside = path.resolve().parent / "cassettes"
            files += _list_folder(path)
            files += _list_folder(beside if beside.is_dir() else sources.cassettes)
        else:
            files.append(path)
            if path.resolve().parent.parent.name == "cassettes":
                files += sorted(file for file in path.parent.glob(f"{path.stem}.*") if file != path)
    return files


def start_scan(files: Sequence[Path], allowed: Collection[str]) -> Callable[[], list[Problem]]:
    """Start scanning `files`, and return a function that waits for the problems and returns them in order.

    A problem is a key, address or account that is found in a file and is not in `allowed`.
    """
    digests = dict(_iter_digests(files))
    known = _read_clean()
    left = [path for path, digest in digests.items() if digest not in known]
    wait = _start_process(left, allowed) if len(left) > BEHIND else lambda: _scan_files(left, allowed)

    def finish() -> list[Problem]:
        problems = wait()
        if left:
            # A file that is clean only because of `allowed` has no problem here, but may have one later.
            dirty = {problem.path for problem in problems} if not allowed else {str(path) for path in left}
            _write_clean(known, {digest for path, digest in digests.items() if str(path) not in dirty})
        return problems

    return finish


def _start_process(files: Sequence[Path], allowed: Collection[str]) -> Callable[[], list[Problem]]:
    if not can_fork():
        return lambda: _scan_files(files, allowed)
    context = get_context()
    receiver, sender = context.Pipe(duplex=False)
    # A daemon process does not outlive this process.
    process = context.Process(target=_send_problems, args=(sender, files, allowed), daemon=True)
    process.start()
    # Otherwise `recv` would wait forever for a child that was killed, because this end would still be open.
    sender.close()

    def wait() -> list[Problem]:
        try:
            problems: list[Problem] = receiver.recv()
        except EOFError:  # it was killed
            problems = _scan_files(files, allowed)
        process.join()
        return problems

    return wait


def _send_problems(
    sender: multiprocessing.connection.Connection, files: Sequence[Path], allowed: Collection[str]
) -> None:
    sender.send(_scan_files(files, allowed))
    sender.close()


def _scan_files(files: Sequence[Path], allowed: Collection[str]) -> list[Problem]:
    return [problem for path in files for problem in _scan_file(path, allowed)]


def _iter_digests(files: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each readable file, with a digest of its bytes and of everything that affects its parsing.

    The digest of a file that is too large is empty.
    """
    for path in files:
        digest = hashlib.blake2b(f"{path.absolute().parent.name}/{path.suffix}/".encode(), digest_size=16)
        try:
            digest.update(read_regular(path, MAX_BODY))
        except TooLargeError:
            yield path, ""
        except OSError:  # loading reports it
            continue
        else:
            yield path, digest.hexdigest()


def _find_cache() -> Path:
    """Return the path of the digest file, whose name depends on the scan's version."""
    modules = (scanner, decoded_forms, joined, personal_numbers, placeholders)
    rules = b"".join(read_regular(module.__file__ or "") for module in modules)
    name = hashlib.blake2b(rules, digest_size=8).hexdigest()
    return user_cache.find_user_cache(None) / "scanned" / f"{name}.txt"


def _read_clean() -> frozenset[str]:
    try:
        return frozenset(read_regular(_find_cache()).decode("ascii").split())
    except (OSError, UnicodeDecodeError):
        return frozenset()


def _write_clean(known: Collection[str], clean: Collection[str]) -> None:
    """Add `clean` to the digests; if there would be too many, discard the earlier ones."""
    digests = {*known, *clean} if len(known) < MAX_DIGESTS else {*clean}
    if digests == {*known}:
        return
    with suppress(OSError):  # without the digests, the next scan only takes longer
        path = _find_cache()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, "\n".join(sorted(digests)).encode())


def _list_folder(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _scan_file(path: Path, allowed: Collection[str]) -> Iterator[Problem]:
    try:
        data = read_regular(path, MAX_BODY)
    except TooLargeError as error:
        yield Problem(str(path), None, f"not scanned for secrets: {error}")
        return
    except OSError:
        return  # loading reports it
    findings = list(scan({"": data}, allowed, random_words=False))
    api = APIS.get(path.absolute().parent.name)
    if path.suffix not in METADATA and api is not None:
        frames = split(api.detect_framing(200, data), data)
        payloads = [frame.payload for frame in frames] or [data]
        known = {finding.fingerprint for finding in findings}
        values = (parse_payload(payload) for payload in payloads)
        # A key that is found in the file itself is reported only once, with its line.
        findings += (each for each in scan_answer("", values, allowed) if each.fingerprint not in known)
    for finding in findings:
        yield Problem(str(path), None if finding.how else _find_line(data, finding), _describe(finding))


def _find_line(data: bytes, finding: SecretFinding) -> int:
    return data.count(b"\n", 0, finding.offset) + 1


def _describe(finding: SecretFinding) -> str:
    how = f", after {finding.how}" if finding.how else ""
    return (
        f"{finding.size} bytes look like {finding.looks_like}{how}; replace them in every file with the same"
        " number of bytes, and revoke the key if it is real; if they are harmless, pass"
        f" `--allow {finding.fingerprint}`"
    )

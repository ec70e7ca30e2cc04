"""`conform record` run like a user would, in a separate folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cli import forked

REQUEST = {"max_tokens": 16, "messages": [{"role": "user", "content": "Hi."}]}


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Recorder:
    folder: Path

    def run(
        self,
        base_url: str,
        *words: str,
        request: Any = REQUEST,
        environment: dict[str, str] | None = None,
        api: str = "anthropic-messages",
        name: str = "first",
    ) -> Ran:
        """Run the command; the environment contains only the given keys."""
        text = request if isinstance(request, str) else json.dumps(request)
        (self.folder / "request.json").write_text(text, "utf-8")
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
        options = ("--api", api, "--base-url", base_url, "--request", "request.json", "--name", name)
        env = {**kept, "NO_COLOR": "1", "TMPDIR": str(temporary), **(environment or {})}
        command = ("record", *options, "--model", "m", *words)
        done = forked.run("streamconform", command, cwd=self.folder, env=env)
        return Ran(done.returncode, done.stdout, done.stderr)

    def written(self) -> dict[str, bytes]:
        """Return all files that exist now, except for the request."""
        files = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in files
            if path.name != "request.json"
        }

    def cassette(self, name: str = "first.sse") -> bytes:
        return (self.folder / "cassettes" / "anthropic-messages" / name).read_bytes()

    def text(self, name: str = "first.yaml") -> str:
        return self.cassette(name).decode()

    def spec(self, topic: str = "recorded") -> str:
        return (self.folder / "specs" / "anthropic-messages" / f"{topic}.yaml").read_text("utf-8")

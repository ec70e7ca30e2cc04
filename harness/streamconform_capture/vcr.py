"""Let vcrpy and pytest-recording replay our cassettes through their usual APIs and markers.

    import vcr
    from streamconform_capture.vcr import Persister

    my_vcr = vcr.VCR(record_mode="none", cassette_library_dir="cassettes")
    my_vcr.register_persister(Persister())

    with my_vcr.use_cassette("openai-chat/parallel-calls"):
        ...

With pytest-recording, register the persister in the hook `pytest_recording_configure(config, vcr)`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vcr.persisters.filesystem import FilesystemPersister

from streamconform.errors import SourceError
from streamconform.replay.formats import build_vcr, find_base_url
from streamconform.resources import find_bundled
from streamconform.suite import cassettes


class Persister:
    """Loads streamconform cassettes, bundled or in the user's folder, and ordinary vcrpy cassettes."""

    def __init__(self, base_url: str | None = None) -> None:
        """Match requests to `base_url`, which defaults to the provider's base URL."""
        self._base_url = base_url

    def load_cassette(self, cassette_path: str | Path, serializer: Any) -> Any:
        """Return requests and responses. Raises vcrpy's `CassetteNotFoundError` if there is no such file."""
        path = Path(cassette_path)
        path = path if path.suffix in (".yaml", ".yml") else path.with_name(f"{path.name}.yaml")
        for folder in (path.parent.parent, find_bundled("cassettes")):
            try:
                cassette = cassettes.load(folder, path.parent.name, path.stem)
            # The cassette may be in the next folder, or in vcrpy's own format.
            except SourceError:
                continue
            return build_vcr(cassette, self._base_url or find_base_url(cassette))
        return FilesystemPersister.load_cassette(cassette_path, serializer)

    def save_cassette(self, cassette_path: str | Path, cassette_dict: Any, serializer: Any) -> None:
        """Write a vcrpy cassette; streamconform's own cassettes are never changed."""
        FilesystemPersister.save_cassette(cassette_path, cassette_dict, serializer)

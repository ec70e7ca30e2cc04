"""The results folder: one Parquet file per partition, with every finding, and the part as metadata.

A file gets its final name only when it is complete, so its presence shows that the partition is done. A
partition that two workers examine is written twice under the same name, with the same contents.
"""

from __future__ import annotations

import json
import posixpath
import uuid
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from streamconform.errors import Problem, SourceError, UsageError
from streamconform.install import format_install
from streamconform_capture.compare import part
from streamconform_capture.compare.findings import Finding
from streamconform_capture.compare.inputs.storage import open_file, open_storage
from streamconform_capture.compare.job import Job
from streamconform_capture.compare.part import Part

METADATA: Final = b"streamconform"


class PartWriter:
    """Writes the findings of one partition."""

    def __init__(self, job: Job, partition: str) -> None:
        """Write into the results folder of `job`. Raises `UsageError` if pyarrow is not installed."""
        assert job.results is not None, "the job keeps its findings"
        self._arrow, self._parquet = import_arrow()
        self._job = job
        self._storage, folder = open_storage(job.results)
        self._path = posixpath.join(folder, f"{partition}.parquet")
        self._rows: list[Finding] = []

    def keep(self, findings: Sequence[Finding]) -> None:
        """Store the findings of a recording."""
        self._rows.extend(findings)

    def finish(self, found: Part) -> None:
        """Write the file."""
        document = {"job": self._job.digest, "part": part.to_json(found)}
        columns = self._arrow.schema(
            [
                ("about", self._arrow.string()),
                ("who", self._arrow.list_(self._arrow.int32())),
                ("what", self._arrow.string()),
                ("harm", self._arrow.string()),
                ("file", self._arrow.string()),
                ("size", self._arrow.int64()),
                ("delivery", self._arrow.string()),
                ("path", self._arrow.string()),
                ("words", self._arrow.list_(self._arrow.string())),
            ],
            metadata={METADATA: json.dumps(document).encode()},
        )
        table = self._arrow.Table.from_pylist([asdict(each) for each in self._rows], schema=columns)
        temporary = f"{self._path}.{uuid.uuid4().hex}"
        with self._storage.open(temporary, "wb") as file:
            self._parquet.write_table(table, file)
        self._storage.mv(temporary, self._path)


def prepare(job: Job, *, resume: bool) -> None:
    """Make the results folder. Raises `UsageError` if it contains results and `resume` is not set."""
    assert job.results is not None, "the job keeps its findings"
    import_arrow()
    storage, folder = open_storage(job.results)
    storage.makedirs(folder, exist_ok=True)
    # In a storage bucket, a folder exists only if it contains something.
    names = storage.ls(folder, detail=False) if storage.exists(folder) else ()
    if not resume and any(name.endswith(".parquet") for name in names):
        raise UsageError(f"`{job.results}` already contains results; `--resume` continues that run")


def read_part(job: Job, partition: str) -> Part | None:
    """Return the part that an earlier run of `job` wrote, or None.

    Raises `SourceError` if the file is damaged, or was written by a run with different implementations or
    settings.
    """
    assert job.results is not None, "the job keeps its findings"
    arrow, parquet = import_arrow()
    storage, folder = open_storage(job.results)
    path = posixpath.join(folder, f"{partition}.parquet")
    if not storage.exists(path):
        return None
    try:
        with open_file(job.results, f"{partition}.parquet") as file:
            # Only the metadata, so that resuming a run does not load all findings.
            document = json.loads(parquet.read_schema(file).metadata[METADATA])
        found = part.from_json(document["part"])
    except (arrow.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError((Problem(path, None, "it does not belong to a run; delete it"),)) from error
    if document["job"] != job.digest:
        message = "it belongs to a run with different implementations, deliveries or settings"
        raise SourceError((Problem(path, None, message),))
    return found


def import_arrow() -> tuple[Any, Any]:
    """Return pyarrow and its Parquet module. Raises `UsageError` if it is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError(f"`--results` needs pyarrow: {format_install('corpora')}") from error
    return pa, parquet

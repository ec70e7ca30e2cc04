"""What damaged inputs have found: each is made by hand, and stays a test."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from streamconform.errors import SourceError
from streamconform.files import DamagedError
from streamconform.files.archives import iterate_tar, list_zip
from streamconform.model.case import Case
from streamconform_capture.compare.inputs import read_partition, split_input
from streamconform_capture.importers import import_file
from streamconform_dev.fuzz.imports import FORMATS as IMPORTS
from streamconform_dev.fuzz.streams import list_streams
from streamconform_dev.fuzz.target import make_rng

ROW = {"api": ["openai-chat"], "body": ["data: {}\n\n"]}


def read(path):
    """Return the number of recordings that are read, and the reasons of the others."""
    found = [each for part in split_input(str(path)) for each in read_partition(part)]
    reasons = [each.reason for each in found if not isinstance(each, Case)]
    return len(found) - len(reasons), reasons


@pytest.mark.parametrize("suffix", [".har", ".flow", ".httprr"])
def test_a_file_whose_beginning_is_damaged_is_not_imported_as_a_body(suffix):
    form = next(each for each in IMPORTS if each.name.endswith(suffix))
    data = b"".join(form.write([form.describe(stream, make_rng(0)) for stream in list_streams()[:2]]))
    with pytest.raises(SourceError, match=r"not a HAR|flow 1 is broken|its first line is not"):
        import_file(Path(form.name), b"x" + data, None, None)


def test_a_size_that_no_file_has_does_not_lead_beyond_what_can_be_read():
    info = tarfile.TarInfo("openai-chat/a.sse")
    info.pax_headers = {"size": "9" * 30}
    with pytest.raises(DamagedError, match="too large"):
        [*iterate_tar(io.BytesIO(info.tobuf(tarfile.PAX_FORMAT) + bytes(1024)))]


def test_a_length_in_the_directory_of_a_zip_archive_does_not_hide_members():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in "abc":
            archive.writestr(f"openai-chat/{name}.sse", b"data: {}\n\n")
    data = bytearray(file.getvalue())
    second = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    data[second + 32 : second + 34] = b"\xff\xff"  # the length of its comment
    with pytest.raises(DamagedError, match="it has 3 members, but 2 are listed"):
        list_zip(io.BytesIO(data))


def test_a_value_that_python_cannot_represent_does_not_lose_the_other_rows(tmp_path):
    status = pa.array([0, 10**18], pa.timestamp("us"))
    rows = {name: values * 2 for name, values in ROW.items()}
    parquet.write_table(pa.table({**rows, "status": status}), tmp_path / "a.parquet")
    count, (reason,) = read(tmp_path / "a.parquet")
    assert count == 1
    assert reason == "its row cannot be read: date value out of range"


def test_damaged_metadata_of_a_column_do_not_end_the_process(tmp_path):
    file = io.BytesIO()
    parquet.write_table(pa.table(ROW), file, store_schema=False)
    whole = file.getvalue()
    # The column `api`, from optional to required; the histogram of its levels is then too long.
    damaged = whole.replace(b"\x15\x0c%\x02\x18\x03api", b"\x15\x0c%\x00\x18\x03api")
    assert damaged != whole
    (tmp_path / "a.parquet").write_bytes(damaged)
    count, reasons = read(tmp_path / "a.parquet")
    assert (count, len(reasons)) == (0, 1)

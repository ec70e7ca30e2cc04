import pytest

from .recorder import Recorder


@pytest.fixture
def recorder(tmp_path):
    return Recorder(tmp_path)

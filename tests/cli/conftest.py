import pytest

from .project import Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)

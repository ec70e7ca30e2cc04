"""Samples do not depend on the division; samples by shape are as varied as possible."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamconform.model.case import Case
from streamconform.suite.shapes import read_shapes
from streamconform_capture.compare.inputs import read
from streamconform_capture.compare.sample import SampleRequest, merge_samples, take_sample

from .collections import encode_lines, make_streams


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    path = tmp_path_factory.mktemp("sample") / "a.jsonl"
    path.write_bytes(encode_lines(make_streams(90)))
    return read(path).cases


@pytest.mark.parametrize("by", ["random", "shape"])
def test_a_sample_does_not_depend_on_division_or_order(cases, by):
    request = SampleRequest(12, by, seed=3)
    whole = take_sample(request, cases)
    for size in (1, 7, 40):
        parts = [take_sample(request, part) for part in batched(tuple(reversed(cases)), size)]
        assert merge_samples(request, parts) == whole
    assert len(whole.names) == 12
    assert take_sample(replace(request, seed=4), cases) != whole


def test_a_sample_by_shape_has_as_many_shapes_as_it_can(cases):
    shapes = {case.id: read_shapes(case.cassette) for case in cases}
    chosen = take_sample(SampleRequest(30, "shape", seed=0), cases).names
    assert len({shapes[name] for name in chosen}) == 30
    everything = take_sample(SampleRequest(1000, "shape", seed=0), cases).names
    assert everything == {case.id for case in cases}


def test_a_sample_has_only_the_apis_that_are_requested(cases):
    request = SampleRequest(30, "random", seed=0, apis=frozenset({"openai-chat"}))
    chosen = take_sample(request, cases).names
    apis = {case.id: case.api for case in cases if isinstance(case, Case)}
    assert {apis[name] for name in chosen} == {"openai-chat"}


def batched(values, size):
    return [values[start : start + size] for start in range(0, len(values), size)]

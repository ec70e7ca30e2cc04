"""The YAML that our files may contain, and the YAML that is rejected."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from streamconform.errors import SourceError
from streamconform.files import MAX_TEXT
from streamconform.yaml_text import builder
from streamconform.yaml_text import reader as yaml_text


@dataclass(frozen=True, slots=True)
class Refused:
    id: str
    data: bytes
    line: int | None
    says: str


BOMB = b"a: &a [x, x]\n" + b"".join(
    f"{chr(c)}: &{chr(c)} [*{chr(c - 1)}, *{chr(c - 1)}]\n".encode() for c in range(98, 110)
)

REFUSED = [
    Refused("alias-bomb", BOMB, 1, "anchors are not allowed"),
    Refused("alias", b"a: 1\nb: *a\n", 2, "alias `*a`"),
    Refused("anchor", b"a: 1\nb: &x 2\n", 2, "anchor `&x`"),
    Refused("30000-brackets", b"a:\n  " + b"[" * 30_000, 2, "nested deeper than 64"),
    Refused("30000-braces", b"{a: " * 30_000, 1, "nested deeper than 64"),
    Refused("30000-dashes", b"- " * 30_000, 1, "nested deeper than 64"),
    Refused("python-object", b"a: 1\nb: !!python/object/apply:os.system [x]\n", 2, "tags are not allowed"),
    Refused("core-tag", b"b: !!str 12\n", 1, "tags are not allowed"),
    Refused("own-tag", b"b: !mine 12\n", 1, "tag `!mine`"),
    Refused("no-tag", b"b: ! 12\n", 1, "tag `!`"),
    Refused("second-document", b"a: 1\n---\nb: 2\n", 2, "second YAML document"),
    Refused("duplicate-key", b"a: 1\nb: 2\na: 3\n", 3, "duplicate key `a`"),
    Refused("duplicate-key-inside", b"x:\n  - {a: 1, a: 2}\n", 2, "duplicate key `a`"),
    Refused("duplicate-key-in-quotes", b"a: 1\n'a': 3\n", 2, "duplicate key `a`"),
    Refused("list-as-key", b"a: 1\n? [x]\n: 2\n", 2, "a mapping key must be a scalar"),
    Refused("octal-of-1.1", b"a: 1\nb: 0644\n", 2, "leading zero"),
    Refused("octal-of-1.2", b"b: 0o17\n", 1, "leading zero"),
    Refused("hexadecimal", b"b: 0x1F\n", 1, "leading zero"),
    Refused("binary", b"b: -0b11\n", 1, "leading zero"),
    Refused("more-than-a-double", b"a: 1\nb: 1e400\n", 2, "beyond the range"),
    Refused("401-digits", b"a: 1\nb: " + b"9" * 401, 2, "more than 400 digits"),
    Refused("empty", b"", 1, "the file is empty"),
    Refused("comments-only", b"# nothing\n", 1, "the file is empty"),
    Refused("not-utf-8", b"a: 1\nb: \xff\n", 2, "not UTF-8 at byte 8"),
    Refused("utf-16", "a: 1\n".encode("utf-16"), 1, "not UTF-8"),
    Refused("tab-as-indent", b"a:\n\tb: 1\n", 2, "invalid YAML"),
    Refused("unclosed", b"a: [1, 2\nb: 3\n", 2, "invalid YAML"),
    Refused("control-character", b"a: 1\nb: \x07\n", 2, "invalid YAML"),
    Refused("half-a-surrogate", b'a: 1\nb: "\\ud800"\n', 2, "invalid YAML"),
]


@pytest.mark.parametrize("case", [pytest.param(row, id=row.id) for row in REFUSED])
def test_invalid_yaml_is_reported_with_its_line(case):
    with pytest.raises(SourceError) as caught:
        yaml_text.parse(case.data, "f.yaml")
    first = caught.value.problems[0]
    assert (first.path, first.line) == ("f.yaml", case.line)
    assert case.says in first.message


SCALARS = [
    ("NO", "NO"),
    ("no", "no"),
    ("off", "off"),
    ("y", "y"),
    ("true", True),
    ("False", False),
    ("tRUE", "tRUE"),
    ("~", None),
    ("null", None),
    ("", None),
    ("nil", "nil"),
    ("2024-01-01", "2024-01-01"),
    ("2024-01-01T10:00:00Z", "2024-01-01T10:00:00Z"),
    ("12:30:45", "12:30:45"),
    ("1_000", "1_000"),
    ("0", 0),
    ("-0", 0),
    ("+5", 5),
    ("-17", -17),
    ("9007199254740993", 2**53 + 1),
    ("9" * 400, int("9" * 400)),
    ("1e3", 1000.0),
    ("1.5", 1.5),
    (".5", 0.5),
    ("0.25", 0.25),
    ("-1.5E-3", -0.0015),
    (".inf", ".inf"),
    (".nan", ".nan"),
    ("0.1.2", "0.1.2"),
    ("<<", "<<"),
    ("=", "="),
    ('"12"', "12"),
    ("'true'", "true"),
    ('"null"', "null"),
    ("٣", "٣"),
]


@pytest.mark.parametrize(("text", "value"), SCALARS, ids=[text[:20] or "nothing" for text, _ in SCALARS])
def test_scalars_are_those_of_yaml_1_2(text, value):
    """Dates, `NO` and sexagesimal numbers are text, unlike in YAML 1.1."""
    read = yaml_text.parse(f"a: {text}\n".encode(), "f").value["a"]
    assert read == value
    assert type(read) is type(value)


def test_an_unquoted_price_keeps_its_kind():
    """The schema can therefore require quotes, since 3.00 has already become a float."""
    assert yaml_text.parse(b"a: 3.00\n", "f").value == {"a": 3.0}


def test_block_text_is_text_whatever_it_looks_like():
    assert yaml_text.parse(b"a: |\n  12\nb: >-\n  null\n", "f").value == {"a": "12\n", "b": "null"}


def test_a_merge_key_is_a_key_like_any_other():
    assert yaml_text.parse(b"a: {<<: {b: 1}}\n", "f").value == {"a": {"<<": {"b": 1}}}


def test_a_byte_order_mark_is_no_part_of_the_first_key():
    assert yaml_text.parse(b"\xef\xbb\xbfa: 1\n", "f").value == {"a": 1}


def test_all_problems_of_a_file_are_reported_at_once():
    with pytest.raises(SourceError) as caught:
        yaml_text.parse(b"a: &x 1\nb: !t 2\nc: *x\n", "f")
    assert [problem.line for problem in caught.value.problems] == [1, 2, 3]


def test_the_number_of_problems_is_bounded():
    with pytest.raises(SourceError) as caught:
        yaml_text.parse(b"- !t 1\n" * 5000, "f")
    assert len(caught.value.problems) == builder.MAX_PROBLEMS


def test_64_levels_are_read_and_65_are_not():
    assert yaml_text.parse(b"[" * 64 + b"]" * 64, "f").value
    with pytest.raises(SourceError, match="nested deeper than 64"):
        yaml_text.parse(b"[" * 65 + b"]" * 65, "f")


def test_a_file_beyond_the_bound_is_not_read(tmp_path):
    path = tmp_path / "large.yaml"
    path.write_bytes(b"#" * (MAX_TEXT + 1))
    with pytest.raises(SourceError, match="larger than"):
        yaml_text.read(path)


@pytest.mark.parametrize("item", [b"[],", b"- 1\n"])
def test_too_many_values_are_refused(item, monkeypatch):
    monkeypatch.setattr(builder, "MAX_VALUES", 50)
    yaml_text.parse(b"[" + item * 20 + b"1]" if item == b"[]," else item * 50, "f")
    with pytest.raises(SourceError, match="f: more than 50 values; split it"):
        yaml_text.parse(b"[" + item * 50 + b"1]" if item == b"[]," else item * 51, "f")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(SourceError, match="cannot be read"):
        yaml_text.read(tmp_path)


def test_the_line_is_that_of_the_value_or_its_parent():
    document = yaml_text.parse(b"a: 1\nlist:\n  - x: 1\n    y: 2\n  - z\n", "f")
    assert document.line(("list", 0, "y")) == 4
    assert document.line(("list", 1)) == 5
    assert document.line(("list", 1, "missing", 3)) == 5
    assert document.line(()) == 1


@pytest.mark.parametrize("text", ["12", "1e5", "0b1", "0o7", "NO", "~", "", "true", "1.5", "00:30", "5abc"])
def test_text_that_is_not_called_ambiguous_is_read_as_text(text):
    if not builder.is_ambiguous(text):
        assert yaml_text.parse(f"a: {text}".encode(), "f").value == {"a": text}

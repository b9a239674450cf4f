"""Sources: YAML as the library of the reference reads it, JSON, files, and the lines of fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedframe.config import ConfigDecodeError
from schedframe.config.source import read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("~", None),
        ("null", None),
        ("", None),
        ("true", True),
        ("Yes", True),
        ("off", False),
        ("n", "n"),
        ("12", 12),
        ("-12", -12),
        ("0x1F", 31),
        ("0b101", 5),
        ("017", 15),
        ("0o17", 15),
        ("08", 8.0),
        ("1_000", 1000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"),
        ("10s", "10s"),
        ("v1", "v1"),
        ("'12'", "12"),
        ('"yes"', "yes"),
        ("!!str 12", "12"),
        ("!!int '12'", 12),
        ("!!float 1", 1.0),
        ("[1, a]", [1, "a"]),
        ("{a: 1}", {"a": 1}),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    found = read(f"key: {text}\n").value["key"]
    assert found == value
    assert type(found) is type(value)


def test_only_the_first_document_counts() -> None:
    assert read("---\na: 1\n---\na: 2\n").value == {"a": 1}


def test_keys_are_strings() -> None:
    assert read("1: a\ntrue: b\nnull: c\n").value == {"1": "a", "true": "b", "null": "c"}


def test_aliases_and_merged_maps() -> None:
    text = "base: &b {i: 1, j: 1}\nmore: &m {k: 1, i: 2}\nuse:\n  <<: [*b, *m]\n  j: 2\nagain: *b\n"
    data = read(text).value
    assert data["use"] == {"i": 1, "j": 2, "k": 1}
    assert data["again"] == data["base"]


def test_aliases_are_not_expanded_repeatedly() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60))]
    assert len(read("\n".join(lines)).value) == 60


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "a", "line 3: a: duplicate"),
        ("a:\n- b: {c: 1, c: 2}\n", "a[0].b.c", "line 2: a[0].b.c: duplicate"),
        ('{"a": 1,\n"a": 2}', "a", "line 2: a: duplicate 'a': the key is there twice, first in line 1"),
        ("a: .inf\n", "a", "no such number"),
        ("a: &x [*x]\n", "a[0]", "contains itself"),
        ("? [a]\n: 1\n", "", "plain words as keys"),
        ("a: !thing 1\n", "a", "!thing is not supported"),
        ("a: {<<: 1}\n", "a", "only objects can be merged"),
        ("a: [\n", "", "cannot be read as YAML"),
        ("a: \x00\n", "", "cannot be read as YAML"),
        ('{"a": NaN}', "a", "line 1: a: invalid value nan: there is no such number"),
    ],
)
def test_refused(text: str, field: str, words: str) -> None:
    with pytest.raises(ConfigDecodeError) as caught:
        read(text)
    assert [error.field for error in caught.value.errors] == [field]
    assert words in str(caught.value)


def test_all_repeated_keys_are_reported() -> None:
    with pytest.raises(ConfigDecodeError) as caught:
        read("a: 1\na: 2\nb: 1\nb: 2\n")
    assert [error.field for error in caught.value.errors] == ["a", "b"]


def test_text_or_file(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("a: 1\n", encoding="utf-8")
    assert read(path).value == {"a": 1}
    assert read(str(path)).value == {"a": 1}
    assert read("a: 1").value == {"a": 1}
    assert read("").value is None
    assert read({"a": 1}).value == {"a": 1}
    with pytest.raises(ConfigDecodeError, match="cannot be read"):
        read(tmp_path / "missing.yaml")


def test_fields_are_located() -> None:
    document = read("a:\n- b: 1\n  c:\n    d: 2\n")
    assert document.locate("a[0].c.d") == "line 4"
    assert document.locate("a[0].c.missing[3]") == "line 3"
    assert document.locate("missing") == ""

"""The scanner without recursion reads what json reads, and more."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.api.valuecodecs import UnreadPart
from schedframe.cluster.kubernetes.json_scan import LEVELS, JsonError, members, read

TEXTS = st.text(st.characters(exclude_categories=()), max_size=8) | st.sampled_from(
    ('"', "\\", "]}", "{[,:", "\x01")
)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def is_lone(value: str) -> bool:
    return any("\ud800" <= each <= "\udfff" for each in value)


@given(VALUES, st.sampled_from((None, 0, 3)), st.booleans())
def test_it_reads_what_json_reads(value: Any, indent: int | None, escaped: bool) -> None:
    source = json.dumps(
        value, indent=indent, ensure_ascii=escaped or is_lone(json.dumps(value, ensure_ascii=False))
    )
    expected = json.loads(source)
    if not is_lone(json.dumps(expected, ensure_ascii=False)):
        assert read(source.encode()) == expected
    if isinstance(expected, dict | list):
        found = list(members(b" \n" + source.encode() + b"\t"))
        again = [(each.key, read(each.value)) for each in found]
        wanted = expected.items() if isinstance(expected, dict) else [("", each) for each in expected]
        if not is_lone(json.dumps(expected, ensure_ascii=False)):
            assert again == list(wanted)
        assert len(found) == len(expected)


@given(VALUES, st.integers(1, 10_000), st.booleans())
def test_depth_changes_nothing_for_what_is_beside_it(value: Any, depth: int, is_list: bool) -> None:
    opening, closing = ("[", "]") if is_list else ('{"a":', "}")
    deep = opening * depth + "7" + closing * depth
    source = f'{{"before": {json.dumps(value)}, "deep": {deep}, "after": {json.dumps(value)}}}'.encode()
    names = [each.key for each in members(source)]
    assert names == ["before", "deep", "after"]
    found = read(source)
    assert found["before"] == found["after"] == read(json.dumps(value).encode())
    inner = found["deep"]
    for _ in range(depth):
        if isinstance(inner, UnreadPart):
            break
        inner = inner[0] if is_list else inner["a"]
    assert isinstance(inner, UnreadPart) == (depth > LEVELS - 1)


@given(VALUES.filter(lambda value: isinstance(value, dict | list)), st.integers(0, 200))
def test_half_a_value_is_an_error(value: Any, cut: int) -> None:
    source = json.dumps(value).encode()
    half = source[: min(cut, len(source) - 1)]
    with pytest.raises(JsonError):
        list(members(half))
    with pytest.raises(JsonError):
        read(half)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (rb'"\ud800"', "\ufffd"),
        (rb'"\ud800\ud800\udc00x"', "\ufffd\U00010000x"),
        (rb'"\\ud800 \udc00 \\\ud800"', "\\ud800 \ufffd \\\ufffd"),
        (b'"\xff\xe2\x82 \xc3\xa9"', "\ufffd\ufffd\ufffd é"),
        (b'"a\x01\nb"', "a\x01\nb"),
    ],
)
def test_texts_are_those_of_go(source: bytes, value: str) -> None:
    assert read(source) == value


@pytest.mark.parametrize("source", [b"NaN", b"-Infinity", b"1e999", b"-" + b"9" * 5000])
def test_numbers_without_a_value_are_parts_that_cannot_be_read(source: bytes) -> None:
    assert isinstance(read(b'{"a": %b}' % source)["a"], UnreadPart)


@pytest.mark.parametrize(
    "source",
    [b"", b"5", b'"a"', b"[1}", b'{"a"}', b"{5: 1}", b"[1] 2", b'["a', b"[1]]", b'{"a": 1, 2}', b"]"],
)
def test_what_is_no_object_and_no_list(source: bytes) -> None:
    with pytest.raises(JsonError):
        list(members(source))

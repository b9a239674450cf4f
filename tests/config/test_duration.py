from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.config import Duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("0s", 0),
        ("5s", 5_000_000_000),
        ("+5s", 5_000_000_000),
        ("-5s", -5_000_000_000),
        (".5s", 500_000_000),
        ("1.s", 1_000_000_000),
        ("1.004s", 1_004_000_000),
        ("100.00100s", 100_001_000_000),
        ("10ns", 10),
        ("11us", 11_000),
        ("12µs", 12_000),
        ("12μs", 12_000),
        ("13ms", 13_000_000),
        ("16h", 57_600_000_000_000),
        ("3h30m", 12_600_000_000_000),
        ("-1m30s", -90_000_000_000),
        ("1h2m3s4ms5us6ns", 3_723_004_005_006),
        ("1.5h", 5_400_000_000_000),
        ("0.3333333333333333333h", 1_200_000_000_000),
        ("0.100000000000000000000h", 360_000_000_000),
        ("0.0000000001s", 0),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
    ],
)
def test_parse(text: str, nanoseconds: int) -> None:
    assert Duration.parse(text) == Duration(nanoseconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        "-",
        "s",
        ".",
        "-.",
        ".s",
        "+.s",
        "1d",
        "1 s",
        "5S",
        "１s",
        "9223372036854775808ns",
        "3000000h",
    ],
)
def test_invalid_durations(text: str) -> None:
    with pytest.raises(ValueError, match=r"use|write"):
        Duration.parse(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1µs"),
        (2_200_000, "2.2ms"),
        (3_300_000_000, "3.3s"),
        (245_000_000_000, "4m5s"),
        (245_001_000_000, "4m5.001s"),
        (18_367_001_000_000, "5h6m7.001s"),
        (480_000_000_001, "8m0.000000001s"),
        (600_000_000_000, "10m0s"),
        (-(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_format(nanoseconds: int, text: str) -> None:
    assert str(Duration(nanoseconds)) == text


@given(st.integers(-(2**63), 2**63 - 1).map(Duration))
def test_text_reads_back_the_same(duration: Duration) -> None:
    assert Duration.parse(str(duration)) == duration


def test_arithmetic_is_exact_and_ordered() -> None:
    assert Duration.of(0.1).nanoseconds == 100_000_000
    assert Duration.parse("1500ms").seconds == 1.5
    assert Duration(1) < Duration(2)
    assert not Duration()

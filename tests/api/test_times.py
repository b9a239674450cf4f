from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.api import format_time, parse_time
from schedframe.errors import InputError
from tests.api.strategies import times


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("2026-01-31T12:00:00Z", 1769860800.0),
        ("2026-01-31t12:00:00z", 1769860800.0),
        ("2026-01-31T13:30:00+01:30", 1769860800.0),
        ("2026-01-31T12:00:00.5Z", 1769860800.5),
        ("2026-01-31T12:00:00.000001999Z", 1769860800.000001),
        ("0001-01-01T00:00:00Z", -62135596800.0),
    ],
)
def test_reads_rfc_3339(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize(
    "value", ["", "yesterday", "2026-01-31", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", 5, None]
)
def test_refuses_everything_else(value: object) -> None:
    with pytest.raises(InputError) as caught:
        parse_time(value)
    assert caught.value.fix


def test_takes_what_yaml_readers_make_of_timestamps() -> None:
    assert parse_time(datetime(1970, 1, 2, tzinfo=UTC)) == 86400.0
    assert parse_time(datetime(1970, 1, 2)) == 86400.0
    assert parse_time(date(1970, 1, 2)) == 86400.0


@given(times)
def test_what_is_written_is_read_back(seconds: float) -> None:
    assert parse_time(format_time(seconds)) == seconds


@given(st.integers(-(10**9), 10**9))
def test_whole_seconds_have_no_fraction(seconds: int) -> None:
    assert "." not in format_time(float(seconds))


def test_times_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="out of range"):
        format_time(1e18)

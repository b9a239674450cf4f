"""Timestamps: RFC 3339 in manifests, seconds since the epoch (UTC) in values."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

from .._base.brief import shown
from ..errors import InputError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_TIME: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:[.,]([0-9]+))?([Zz]|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)
_FIX: Final = "write it like 2026-01-31T12:00:00Z"


def parse_time(value: object) -> float:
    """Return the seconds since the epoch of an RFC 3339 timestamp, cut off to microseconds.

    ``datetime`` values, as some YAML readers return them, count as UTC if they are naive. Raises
    :class:`InputError` without a path.
    """
    if isinstance(value, str):
        return _parse(value)
    if isinstance(value, datetime):
        return _seconds(value if value.tzinfo is not None else value.replace(tzinfo=UTC))
    if isinstance(value, date):
        return _seconds(datetime(value.year, value.month, value.day, tzinfo=UTC))
    raise InputError("", f"{shown(value)} is not a timestamp", _FIX)


@lru_cache(maxsize=8192)
def _parse(text: str) -> float:
    match = _TIME.fullmatch(text)
    if match is None:
        raise InputError("", f"{shown(text)} is not a timestamp", _FIX)
    day, time, fraction, zone = match.groups(default="")
    micros = f"{fraction[:6]:0<6}"
    try:
        moment = datetime.fromisoformat(f"{day}T{time}.{micros}{'+00:00' if zone in 'Zz' else zone}")
        return _seconds(moment)
    except (ValueError, OverflowError) as error:
        raise InputError("", f"{shown(text)} is not a timestamp ({error})", _FIX) from None


def _seconds(moment: datetime) -> float:
    return (moment - _EPOCH) // _MICROSECOND / 1_000_000


def format_time(seconds: float) -> str:
    """Return the RFC 3339 form, with microseconds if there are any. Raises :class:`InputError`."""
    try:
        micros = round(seconds * 1_000_000)
    except (ValueError, OverflowError):
        raise InputError("", f"{seconds} is not a finite number", "give seconds since the epoch") from None
    return _format(micros, "auto" if micros % 1_000_000 else "seconds")


def format_micro_time(seconds: float) -> str:
    """Return the form of the API type MicroTime, which has six digits always."""
    text = format_time(seconds)
    return text if "." in text else f"{text[:-1]}.000000Z"


def _format(micros: int, precision: str) -> str:
    try:
        moment = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise InputError(
            "", f"{micros // 1_000_000} s after 1970 is out of range for a timestamp", _FIX
        ) from None
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"

"""Schedules of cron jobs.

Source of the rules: ``validateScheduleFormat`` and ``validateTimeZone`` of pkg/apis/batch/validation, and the
parser of github.com/robfig/cron/v3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from ...._base.wording import described
from ....errors import InputError

_NAMED: Final = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"},
)
_EVERY: Final = "@every "
_DURATION: Final = re.compile(
    r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII
)
_NUMBER: Final = re.compile(r"\+?[0-9]{1,18}", re.ASCII)
_ZONE_PART: Final = re.compile(r"[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}", re.ASCII)
_FIX: Final = 'write five fields such as "0 3 * * 1-5", or @hourly, @daily and the like'


class _Field(NamedTuple):
    """A field of a schedule, with the lowest and highest value and the names of values."""

    name: str
    low: int
    high: int
    names: Mapping[str, int] = {}


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Field("day of the week", 0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


def schedule_problem(schedule: str) -> InputError | None:
    """Return the error if *schedule* is none that a cron job can have."""
    if "TZ" in schedule:
        problem = f"{described(schedule)} names a time zone"
        return InputError("", problem, "write it as timeZone")
    if schedule.startswith("@"):
        return None if _is_named(schedule) else InputError("", f"{described(schedule)} is not known", _FIX)
    written = schedule.split()
    if len(written) != len(_FIELDS):
        fields = f"{len(written)} {'field' if len(written) == 1 else 'fields'}"
        return InputError("", f"{described(schedule)} has {fields}", _FIX)
    for field, text in zip(_FIELDS, written, strict=True):
        for part in filter(None, text.split(",")):
            if not _is_range(part, field):
                problem = f"{described(part)} is no {field.name} from {field.low} to {field.high}"
                return InputError("", problem, _FIX)
    return None


def _is_named(schedule: str) -> bool:
    if schedule.startswith(_EVERY):
        return _DURATION.fullmatch(schedule.removeprefix(_EVERY)) is not None
    return schedule in _NAMED


def _is_range(text: str, field: _Field) -> bool:
    """Return whether *text* is a value, a range or all values, with a step or without one."""
    steps = text.split("/")
    ends = steps[0].split("-")
    if len(steps) > 2:
        return False
    low: int | None = field.low
    high: int | None = field.high
    if ends[0] not in ("*", "?"):
        low = _value(ends[0], field)
        if len(ends) > 1 or len(steps) == 1:
            high = _value(ends[-1], field)
        if len(ends) > 2:
            return False
    if low is None or high is None or not field.low <= low <= high <= field.high:
        return False
    return len(steps) == 1 or (_NUMBER.fullmatch(steps[1]) is not None and int(steps[1]) > 0)


def _value(text: str, field: _Field) -> int | None:
    if text.lower() in field.names:
        return field.names[text.lower()]
    return int(text) if _NUMBER.fullmatch(text) else None


def zone_problem(zone: str) -> InputError | None:
    """Return the error if *zone* is no time zone, as far as the time zones of this machine tell."""
    if zone and all(_ZONE_PART.fullmatch(part) and part not in (".", "..") for part in zone.split("/")):
        if zone.lower() == "local":
            return InputError("", "Local is the time zone of no place", "write one such as Europe/Paris")
        if not _has_zones() or _is_zone(zone):
            return None
    return InputError("", f"{described(zone)} is no time zone", "write one such as Europe/Paris")


@cache
def _has_zones() -> bool:
    return _is_zone("Europe/Paris")


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # 2 ms, for cron jobs alone

    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True

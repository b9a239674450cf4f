"""Disruption budgets, and numbers that may be percentages.

Source of the rules: pkg/apis/policy/validation, and ``ValidatePositiveIntOrPercent`` and
``IsNotMoreThan100Percent`` of pkg/apis/apps/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ...valuecodecs import describe
from .reading import is_left_out

_PERCENT: Final = re.compile(r"([0-9]+)%", re.ASCII)
_FIX: Final = "write a number, or a percentage such as 50%"
_HIGHEST: Final = 2**31 - 1


def check_budget_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a disruption budget."""
    given = [key for key in ("minAvailable", "maxUnavailable") if not is_left_out(spec, key)]
    if len(given) == 2:
        yield InputError("", "there are minAvailable and maxUnavailable", "write one of the two")
    for key in given:
        if (error := share_problem(spec[key])) is not None:
            yield error.at(key)


def share_problem(value: Any, *, highest: int | None = 100) -> InputError | None:
    """Return the error if *value* is no number and no percentage, or one above *highest* percent."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return InputError("", f"expected a number or a percentage, got {describe(value)}", _FIX)
    if isinstance(value, int):
        if 0 <= value <= _HIGHEST:
            return None
        return InputError("", f"{value} is out of range", "write a number 0 or more")
    share = percentage(value)
    if share is None:
        return InputError("", f"{described(value)} is no percentage", _FIX)
    if highest is not None and share > highest:
        return InputError("", f"{described(value)} is more than {highest}%", f"write {highest}% or less")
    return None


def percentage(text: str) -> int | None:
    """Return the number before the percent sign of *text*, ``None`` if it is no percentage."""
    match = _PERCENT.fullmatch(text)
    # more digits make it no better
    return None if match is None else int(match[1].lstrip("0")[:12] or "0")


def is_zero(value: Any) -> bool:
    """Return whether a number or percentage is 0. One that is refused is not."""
    if isinstance(value, str):
        return percentage(value) == 0
    return isinstance(value, int) and not isinstance(value, bool) and value == 0

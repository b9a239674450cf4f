"""Requirements of packages on the version of schedframe."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from itertools import takewhile
from typing import Final

_Version = tuple[int, ...]
_COMPARISONS: Final[dict[str, Callable[[_Version, _Version], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION: Final = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)\s*")


def fits(stated: str, version: str) -> bool:
    """Return whether *version* meets the conditions of a package's requirement.

    Conditions in other forms than ``>=0.3,<0.5`` (``~=``, ``==0.3.*``) count as met.
    """
    conditions = (_CONDITION.fullmatch(part) for part in stated.split(","))
    return all(_COMPARISONS[c[1]](_release(version), _release(c[2])) for c in conditions if c is not None)


def _release(version: str) -> _Version:
    """Return the numbers of a version, without suffixes (``.dev1``, ``rc2``) and zeros at the end."""
    numbers = [int(part) for part in takewhile(str.isdigit, re.split(r"[.+-]|(?=rc|a|b)", version))]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)

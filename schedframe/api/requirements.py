"""One condition on one label, which label selectors and node selectors have in common.

Source of the rules: k8s.io/apimachinery/pkg/labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from attrs import field

from .._base.checked import check_arguments
from .._base.value import value

IN: Final = "In"
NOT_IN: Final = "NotIn"
EXISTS: Final = "Exists"
DOES_NOT_EXIST: Final = "DoesNotExist"
GT: Final = "Gt"
LT: Final = "Lt"

LABEL_OPERATORS: Final = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)
NODE_OPERATORS: Final = (*LABEL_OPERATORS, GT, LT)

_INTEGER: Final = re.compile(r"([+-]?)0*([0-9]{1,19})", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_DOMAIN: Final = re.compile(
    r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_MAX_NAME: Final = 63
_MAX_DOMAIN: Final = 253


def parse_integer(text: str) -> int | None:
    """Return the number that Go's ``strconv.ParseInt(text, 10, 64)`` returns, ``None`` where that fails."""
    try:
        match = _INTEGER.fullmatch(text)
    except TypeError:
        check_arguments(parse_integer, text)
        raise
    if match is None:
        return None
    number = int(match[2]) if match[1] != "-" else -int(match[2])
    return number if -(2**63) <= number < 2**63 else None


def _as_set(values: Iterable[str]) -> frozenset[str]:
    return frozenset(values)


@value(weakref_slot=False)
class Requirement:
    """A key and the condition on its value. ``number`` is the operand of Gt and Lt."""

    key: str
    operator: str
    values: frozenset[str] = field(default=frozenset(), converter=_as_set)
    number: int = 0

    def matches_value(self, value: str | None) -> bool:
        """Return whether a label with *value* (``None``: no such label) satisfies the condition; O(1)."""
        operator = self.operator
        if operator == IN:
            return value in self.values
        if operator == NOT_IN:
            return value not in self.values
        if operator == EXISTS:
            return value is not None
        if operator == DOES_NOT_EXIST:
            return value is None
        number = parse_integer(value) if value is not None else None
        if number is None:
            return False
        return number > self.number if operator == GT else number < self.number


@lru_cache(maxsize=4096)
def label_key_problem(key: str) -> str:
    """Return the error of the API server's validation for a label key, empty if there is none."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/'"
    if slash and not prefix:
        return "prefix part must be non-empty"
    if prefix and (len(prefix) > _MAX_DOMAIN or not _DOMAIN.fullmatch(prefix)):
        return f"prefix part {_DOMAIN_RULE}"
    if not name:
        return "name part must be non-empty"
    if len(name) > _MAX_NAME:
        return f"name part must be no more than {_MAX_NAME} characters"
    return "" if _NAME.fullmatch(name) else f"name part {_NAME_RULE}"


_ENDS: Final = "and must start and end with an alphanumeric character"
_NAME_RULE: Final = f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_DOMAIN_RULE: Final = f"must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"


@lru_cache(maxsize=4096)
def label_value_problem(value: str) -> str:
    """Return the error of the API server's validation for the value of a label, empty if there is none."""
    if len(value) > _MAX_NAME:
        return f"must be no more than {_MAX_NAME} characters"
    if value and not _NAME.fullmatch(value):
        return f"a valid label must be an empty string or {_NAME_RULE.removeprefix('must ')}"
    return ""

"""Quantities and semantic versions in CEL expressions, as maps of plain values that compare by value.

Source of the functions: k8s.io/apiserver/pkg/cel/library (quantity, semver, regex).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from schedframe import InputError, Quantity, parse_quantity

_QUANTITY: Final = "@quantity"
_SEMVER: Final = "@semver"
_NANO: Final = 10**9
_MAX: Final = 2**63 - 1

_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_PRERELEASE: Final = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_STRICT: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_PRERELEASE}(?:\.{_PRERELEASE})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
_LOOSE: Final = re.compile(r"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(.*)", re.ASCII | re.DOTALL)

Value = Mapping[str, str]


@frozen
class Overload:
    """One overload of a function: types by the library's names, and the implementation."""

    returns: str
    parameters: tuple[str, ...]
    member: bool
    call: Callable[..., Any]


# ---- quantities ------------------------------------------------------------------------------------------


def quantity_of(amount: Quantity) -> Value:
    """Return *amount* as a value; billionths are text because they exceed the integers of CEL."""
    return {_QUANTITY: str(amount.nano)}


def _quantity(text: str) -> Value:
    try:
        return quantity_of(parse_quantity(text))
    except InputError as error:
        raise ValueError(str(error)) from error


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except InputError:
        return False
    return True


def _nano(value: Value) -> int:
    try:
        return int(value[_QUANTITY])
    except KeyError:
        raise ValueError("no quantity") from None


def _is_integer(value: Value) -> bool:
    nano = _nano(value)
    return nano % _NANO == 0 and abs(nano // _NANO) <= _MAX


def _as_integer(value: Value) -> int:
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return _nano(value) // _NANO


def _sign(value: Value) -> int:
    nano = _nano(value)
    return (nano > 0) - (nano < 0)


def _sum(value: Value, nano: int) -> Value:
    return {_QUANTITY: str(_nano(value) + nano)}


# ---- versions --------------------------------------------------------------------------------------------


def semver_of(text: str) -> Value:
    """Return a semantic version without its build part, which is ignored; ValueError if invalid."""
    match = _STRICT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a semantic version such as 1.2.3")
    release = ".".join(match.group(1, 2, 3))
    return {_SEMVER: f"{release}-{match[4]}" if match[4] else release}


def _normalized(text: str, normalize: bool = True) -> Value:
    match = _LOOSE.fullmatch(text) if normalize else None
    if match is None:
        return semver_of(text)
    numbers = [str(int(number or 0)) for number in match.group(1, 2, 3)]
    return semver_of(".".join(numbers) + match[4])


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _normalized(text, normalize)
    except ValueError:
        return False
    return True


def _release(value: Value) -> tuple[int, int, int]:
    try:
        major, minor, patch = value[_SEMVER].partition("-")[0].split(".")
    except KeyError:
        raise ValueError("no semantic version") from None
    return int(major), int(minor), int(patch)


def _compare_versions(one: Value, other: Value) -> int:
    mine, theirs = _release(one), _release(other)
    if mine != theirs:
        return 1 if mine > theirs else -1
    first, second = (value[_SEMVER].partition("-")[2] for value in (one, other))
    if not first or not second:
        return bool(second) - bool(first)
    return _compare_identifiers(first.split("."), second.split("."))


def _compare_identifiers(first: Sequence[str], second: Sequence[str]) -> int:
    for one, other in zip(first, second, strict=False):
        if one == other:
            continue
        if one.isdigit() and other.isdigit():
            return 1 if int(one) > int(other) else -1
        if one.isdigit() != other.isdigit():
            return -1 if one.isdigit() else 1
        return 1 if one > other else -1
    return (len(first) > len(second)) - (len(first) < len(second))


def _compare(one: Value, other: Value) -> int:
    if _SEMVER in one:
        return _compare_versions(one, other)
    first, second = _nano(one), _nano(other)
    return (first > second) - (first < second)


# ---- text ------------------------------------------------------------------------------------------------


def _find(text: str, pattern: str) -> str:
    match = re.search(pattern, text)
    return match[0] if match is not None else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match[0] for match in re.finditer(pattern, text)]
    return found if limit < 0 else found[:limit]


_BOTH: Final = ("MAP", "MAP")

FUNCTIONS: Final[Mapping[str, tuple[Overload, ...]]] = {
    "quantity": (Overload("MAP", ("STRING",), False, _quantity),),
    "isQuantity": (Overload("BOOL", ("STRING",), False, _is_quantity),),
    "isInteger": (Overload("BOOL", ("MAP",), True, _is_integer),),
    "asInteger": (Overload("INT", ("MAP",), True, _as_integer),),
    "asApproximateFloat": (Overload("DOUBLE", ("MAP",), True, lambda value: _nano(value) / _NANO),),
    "sign": (Overload("INT", ("MAP",), True, _sign),),
    "add": (
        Overload("MAP", _BOTH, True, lambda one, other: _sum(one, _nano(other))),
        Overload("MAP", ("MAP", "INT"), True, lambda one, other: _sum(one, other * _NANO)),
    ),
    "sub": (
        Overload("MAP", _BOTH, True, lambda one, other: _sum(one, -_nano(other))),
        Overload("MAP", ("MAP", "INT"), True, lambda one, other: _sum(one, -other * _NANO)),
    ),
    "semver": (
        Overload("MAP", ("STRING",), False, semver_of),
        Overload("MAP", ("STRING", "BOOL"), False, _normalized),
    ),
    "isSemver": (
        Overload("BOOL", ("STRING",), False, _is_semver),
        Overload("BOOL", ("STRING", "BOOL"), False, _is_semver),
    ),
    "major": (Overload("INT", ("MAP",), True, lambda value: _release(value)[0]),),
    "minor": (Overload("INT", ("MAP",), True, lambda value: _release(value)[1]),),
    "patch": (Overload("INT", ("MAP",), True, lambda value: _release(value)[2]),),
    "compareTo": (Overload("INT", _BOTH, True, _compare),),
    "isGreaterThan": (Overload("BOOL", _BOTH, True, lambda one, other: _compare(one, other) > 0),),
    "isLessThan": (Overload("BOOL", _BOTH, True, lambda one, other: _compare(one, other) < 0),),
    "find": (Overload("STRING", ("STRING", "STRING"), True, _find),),
    "findAll": (
        Overload("LIST", ("STRING", "STRING"), True, _find_all),
        Overload("LIST", ("STRING", "STRING", "INT"), True, _find_all),
    ),
}
"""Name → overloads, beside those of the language, ``cel.bind``, optionals and the string functions."""

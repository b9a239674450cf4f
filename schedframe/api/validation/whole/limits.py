"""Limit ranges, quotas and runtime classes.

Source of the rules: ``ValidateLimitRange`` and ``ValidateResourceQuota`` of pkg/apis/core/validation, and
pkg/apis/node/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ...quantity import Quantity
from ...valuecodecs import at_key
from ..rules import check_label_key
from .nodes import amount_problem
from .reading import amounts, mapping, objects, sequence, text
from .resources import check_requested, may_be_overcommitted

_STANDARD: Final = ("Container", "Pod", "PersistentVolumeClaim")
_AMOUNTS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_ORDER: Final = (
    ("min", "max", "min"),
    ("min", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest"),
    ("min", "default", "default"),
    ("default", "max", "default"),
)
"""Amounts of which the first is at most the second, and the one that the API server calls wrong."""
_ONE: Final = Quantity.of(1)
_OPPOSITE: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


def check_limit_range_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a limit range: types that are there twice, and of each item."""
    seen: set[str] = set()
    for path, item in objects(spec, "limits"):
        kind = text(item, "type")
        if kind in seen:
            problem = f"there are two items of type {described(kind)}"
            yield InputError("type", problem, "make one of the two").at(path)
        seen.add(kind)
        yield from (error.at(path) for error in _item(item, kind))


def _item(item: Mapping[str, Any], kind: str) -> Iterator[InputError]:
    if "/" not in kind and kind not in _STANDARD:
        fix = f"write {', '.join(_STANDARD)}, or a name with a domain"
        yield InputError("type", f"{described(kind)} is no type of limits", fix)
    found = {key: amounts(item, key) for key in _AMOUNTS}
    for key in _AMOUNTS if kind in ("Pod", "Container") else ():
        yield from (error.at(key) for error in check_requested(mapping(item, key)))
    for key in ("default", "defaultRequest") if kind == "Pod" else ():
        if found[key]:
            yield InputError(key, "there are no defaults for pods", "write them for type Container")
            found[key] = {}
    if kind == "PersistentVolumeClaim" and not any("storage" in found[key] for key in ("min", "max")):
        yield InputError("", "there is no min and no max of storage", "write one of the two")
    for name in {name for each in found.values() for name in each}:
        of = {key: each[name] for key, each in found.items() if name in each}
        for key, problem in _contradictions(of, name):
            yield at_key(InputError("", problem, "correct one of the two"), name).at(key)


def _contradictions(of: Mapping[str, Quantity], name: str) -> Iterator[tuple[str, str]]:
    for low, high, wrong in _ORDER:
        if low in of and high in of and of[low] > of[high]:
            yield wrong, f"{low} {of[low]} is above {high} {of[high]}"
    ratio = of.get("maxLimitRequestRatio")
    if ratio is not None and ratio < _ONE:
        yield "maxLimitRequestRatio", f"{ratio} is below 1"
    if (
        ratio is not None
        and "min" in of
        and "max" in of
        and ratio.nano * of["min"].nano > of["max"].nano * 10**9
    ):
        yield "maxLimitRequestRatio", f"{ratio} is above max {of['max']} divided by min {of['min']}"
    both = of.get("default"), of.get("defaultRequest")
    if None not in both and both[0] != both[1] and not may_be_overcommitted(name):
        yield (
            "defaultRequest",
            f"{both[1]} differs from default {both[0]}, and {name} cannot be overcommitted",
        )


def check_quota_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a quota: amounts, names of resources and scopes that contradict each other."""
    for name, written in mapping(spec, "hard").items():
        error = check_label_key(name, may_be_empty=False) if isinstance(name, str) else None
        if error is None:
            error = amount_problem(name, written)
        if error is not None:
            yield at_key(error, name).at("hard")
    scopes = [each for each in sequence(spec, "scopes") if isinstance(each, str)]
    selected = objects(mapping(spec, "scopeSelector"), "matchExpressions")
    named = [text(each, "scopeName") for _, each in selected]
    for path, each in (("scopes", scopes), ("scopeSelector.matchExpressions", named)):
        for pair in _OPPOSITE:
            if set(pair) <= set(each):
                yield InputError(path, f"{' and '.join(pair)} exclude each other", "write one of the two")


def check_scope(requirement: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a condition on the scope of a quota."""
    operator, values = text(requirement, "operator"), sequence(requirement, "values")
    named = text(requirement, "scopeName") in ("PriorityClass", "VolumeAttributesClass")
    if operator not in ("", "Exists") and not named:
        yield InputError("operator", f"{described(operator)} does not go with this scope", "write Exists")
    if operator in ("In", "NotIn") and not values:
        yield InputError("values", f"{operator} needs values, and there are none", "list at least one value")
    if operator in ("Exists", "DoesNotExist") and values:
        yield InputError("values", f"{operator} takes no values", "leave them out")


def check_overhead(overhead: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the overhead of a runtime class."""
    for error in check_requested(mapping(overhead, "podFixed")):
        yield error.at("podFixed")


def check_class_scheduling(scheduling: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of tolerations of a runtime class that are there twice."""
    seen = set()
    for path, toleration in objects(scheduling, "tolerations"):
        kind = tuple(text(toleration, key) for key in ("key", "operator", "value", "effect"))
        if kind in seen:
            yield InputError(path, "there is an equal toleration before", "remove one of the two")
        seen.add(kind)

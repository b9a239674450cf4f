"""Nodes: taints, amounts and declared features.

Source of the rules: ``ValidateNode`` of pkg/apis/core/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ...valuecodecs import at_key
from .reading import mapping, objects, quantity, text, texts
from .resources import is_extended

_WHOLE: Final = frozenset(
    {
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    }
)
"""Resources without a domain of which there are whole ones only."""
_UNIT: Final = 10**9
_FEATURE: Final = re.compile(r"[A-Z][a-zA-Z0-9]*(?:/[a-zA-Z][a-zA-Z0-9]*)*")
_LONGEST_FEATURE: Final = 253


def check_node_spec(spec: Mapping[str, Any]) -> Iterable[InputError]:
    """Return the errors of taints that are there twice."""
    return _taints(spec) if spec.get("taints") else ()


def _taints(spec: Mapping[str, Any]) -> Iterator[InputError]:
    seen = set()
    for path, taint in objects(spec, "taints"):
        kind = (text(taint, "key"), text(taint, "effect"))
        if kind in seen:
            problem = f"two taints have the key {described(kind[0])} and the effect {kind[1]}"
            yield InputError(path, problem, "remove one of the two")
        seen.add(kind)


def check_node_status(status: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the amounts that a node has, and of the features that it declares."""
    for key in ("capacity", "allocatable"):
        for name, written in mapping(status, key).items():
            if (error := amount_problem(name, written)) is not None:
                yield at_key(error, name).at(key)
    last = ""
    for path, feature in texts(status, "declaredFeatures"):
        if not _FEATURE.fullmatch(feature) or len(feature) > _LONGEST_FEATURE:
            fix = "use letters and digits, beginning with a capital, such as MyFeature or MyFeature/part"
            yield InputError(path, f"{described(feature)} is no name of a feature", fix)
        if feature == last:
            yield InputError(path, f"{described(feature)} is there twice", "remove one of the two")
        elif feature < last:
            problem = f"{described(feature)} comes after {described(last)}"
            yield InputError(path, problem, "sort the features by name")
        last = feature


def amount_problem(name: Any, written: Any) -> InputError | None:
    """Return the error of an amount of resource *name* that is below 0, or no whole one of devices."""
    amount = quantity(written) if isinstance(name, str) else None
    if amount is None:
        return None
    if amount.nano < 0:
        return InputError("", f"{described(written)} is below 0", "write 0 or more")
    if (name in _WHOLE or is_extended(name)) and amount.nano % _UNIT:
        problem = f"{described(written)} is no whole number, and {name} is counted in whole ones"
        return InputError("", problem, "write a whole number")
    return None

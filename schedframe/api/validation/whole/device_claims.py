"""Device claims and device classes.

Source of the rules: pkg/apis/resource/validation. Expressions of selectors are compiled where they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ..rules import check_label_value
from .reading import is_left_out, number, objects, sequence, text, texts
from .resources import is_extended

_MOST: Final[Mapping[str, int]] = {
    "requests": 32,
    "constraints": 32,
    "config": 32,
    "selectors": 32,
    "firstAvailable": 8,
}
"""List → how many items it may have."""
_LONGEST_EXPRESSION: Final = 10 * 1024


def check_device_claim(claim: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the devices of a claim: names that are there twice, or not at all."""
    yield from too_many(claim, "requests", "constraints", "config")
    yield from twice(claim, "requests")
    names = set(_names(claim))
    for key in ("constraints", "config"):
        for path, part in objects(claim, key):
            for inner, name in texts(part, "requests"):
                if name not in names:
                    problem = f"the claim has no request {described(name)}"
                    yield InputError(inner, problem, "correct the name").at(path)


def _names(claim: Mapping[str, Any]) -> Iterator[str]:
    for _, request in objects(claim, "requests"):
        name = text(request, "name")
        yield name
        for _, part in objects(request, "firstAvailable"):
            yield f"{name}/{text(part, 'name')}"


def too_many(value: Mapping[str, Any], *keys: str, most: int = 0) -> Iterator[InputError]:
    """Yield errors for lists at *keys* that are too long, of *most* items or as :data:`_MOST` says."""
    for key in keys:
        highest, count = most or _MOST[key], len(sequence(value, key))
        if count > highest:
            yield InputError(key, f"there are {count}", f"write at most {highest}")


def twice(value: Mapping[str, Any], key: str, name: str = "name") -> Iterator[InputError]:
    """Yield errors for objects in the list at *key* whose *name* is there before."""
    seen: set[str] = set()
    for path, item in objects(value, key):
        own = text(item, name)
        if own and own in seen:
            problem = f"{described(own)} is there twice"
            yield InputError(name, problem, "give each a name of its own").at(path)
        seen.add(own)


def check_device_request(request: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a request, which has one form of two."""
    if sequence(request, "firstAvailable") and not is_left_out(request, "exactly"):
        yield InputError("", "there are exactly and firstAvailable", "write one of the two")
    yield from too_many(request, "firstAvailable")
    yield from twice(request, "firstAvailable")


def check_exact_request(request: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the devices that a request asks for."""
    yield from too_many(request, "selectors")
    count = number(request, "count")
    if text(request, "allocationMode") == "All":
        if count:
            problem = "there is a count, and allocationMode All takes all devices"
            yield InputError("count", problem, "leave it out, or write ExactCount")
    elif count is not None and count < 0:
        yield InputError("count", f"{count} is out of range", "write a number 1 or more")


def check_device_toleration(toleration: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the error of a value that does not go with the operator."""
    value = text(toleration, "value")
    if text(toleration, "operator") == "Exists":
        if value:
            yield InputError("value", "Exists tolerates any value", "leave it out, or write Equal")
    elif (error := check_label_value(value)) is not None:
        yield error.at("value")


def check_constraint(constraint: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the error of an attribute without a domain."""
    for key in ("matchAttribute", "distinctAttribute"):
        name = text(constraint, key)
        if name and "/" not in name:
            fix = "write one such as gpu.example.com/model"
            yield InputError(key, f"{described(name)} has no domain", fix)


def check_expression(selector: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the error of an expression that is too long."""
    length = len(text(selector, "expression").encode())
    if length > _LONGEST_EXPRESSION:
        yield InputError("expression", f"it has {length} bytes", f"use at most {_LONGEST_EXPRESSION}")


def check_class_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a device class."""
    yield from too_many(spec, "selectors", "config")
    name = spec.get("extendedResourceName")
    if isinstance(name, str) and not is_extended(name):
        fix = "write a name with a domain, such as example.com/gpu"
        yield InputError("extendedResourceName", f"{described(name)} is no extended resource", fix)


Check = Callable[[Mapping[str, Any]], Iterator[InputError]]

CLAIM_CHECKS: Final[Mapping[str, Check]] = {
    "resource.v1.CELDeviceSelector": check_expression,
    "resource.v1.DeviceClaim": check_device_claim,
    "resource.v1.DeviceClassSpec": check_class_spec,
    "resource.v1.DeviceConstraint": check_constraint,
    "resource.v1.DeviceRequest": check_device_request,
    "resource.v1.DeviceSubRequest": check_exact_request,
    "resource.v1.DeviceToleration": check_device_toleration,
    "resource.v1.ExactDeviceRequest": check_exact_request,
}
"""Published type → its check."""

"""Slices: pools of devices, where they are, their attributes and counters.

Source of the rules: ``validateResourceSliceSpec`` of pkg/apis/resource/validation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ...valuecodecs import at_key
from ..rules import check_label_key, check_name
from .device_claims import too_many, twice
from .reading import is_left_out, mapping, number, objects, sequence, text, texts
from .volumes import driver_problem

_PLACES: Final = ("nodeName", "nodeSelector", "allNodes")
_SELECTIONS: Final = (*_PLACES, "perDeviceNodeSelection")
_MOST_DEVICES: Final = 128
_MOST_ADVANCED: Final = 64
"""Devices of a slice in which one has taints, counters or lists as attributes."""
_MOST_SETS: Final = 8
_MOST_COUNTERS: Final = 32
_MOST_CONSUMED: Final = 2
_MOST_TAINTS: Final = 16
_MOST_CONDITIONS: Final = 4
_MOST_NAMES: Final = 32
"""Attributes and capacities of a device."""
_MOST_VALUES: Final = 48
_LONGEST_POOL: Final = 253
_LONGEST_VALUE: Final = 64
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_LISTS: Final = ("bools", "ints", "strings", "versions")
_VALUES: Final = ("bool", "int", "string", "version", *_LISTS)
_NUMBER: Final = r"(?:0|[1-9]\d*)"
_PART: Final = rf"(?:{_NUMBER}|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PART}(?:\.{_PART})*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)


def check_slice_spec(spec: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the spec of a slice over several fields."""
    yield from _places(spec, _SELECTIONS)
    driver, selector = text(spec, "driver"), mapping(spec, "nodeSelector")
    if driver and (error := driver_problem(driver)) is not None:
        yield error.at("driver")
    if len(sequence(selector, "nodeSelectorTerms")) > 1:
        path, problem = "nodeSelector.nodeSelectorTerms", "there are several terms"
        yield InputError(path, problem, "write one")
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        yield InputError("", "there are sharedCounters and devices", "write a slice for each")
    devices = [device for _, device in objects(spec, "devices")]
    most = _MOST_ADVANCED if any(map(_is_advanced, devices)) else _MOST_DEVICES
    yield from too_many(spec, "devices", most=most)
    yield from too_many(spec, "sharedCounters", most=_MOST_SETS)
    yield from twice(spec, "devices")
    yield from twice(spec, "sharedCounters")
    yield from _devices_and_nodes(spec)


def _is_advanced(device: Mapping[str, Any]) -> bool:
    if device.get("taints") or device.get("consumesCounters"):
        return True
    attributes = mapping(device, "attributes").values()
    return any(isinstance(each, Mapping) and not each.keys().isdisjoint(_LISTS) for each in attributes)


def _places(value: Mapping[str, Any], keys: Iterable[str]) -> Iterator[InputError]:
    given = [key for key in keys if value.get(key) not in (None, "", False)]
    if len(given) > 1:
        yield InputError("", f"there are {' and '.join(given)}", "write one of them")
    for key in keys:
        if value.get(key) is False:
            yield InputError(key, "it is false", "leave it out")
    node = value.get("nodeName")
    if isinstance(node, str) and (error := check_name(node, label=False)) is not None:
        yield error.at("nodeName")


def _devices_and_nodes(spec: Mapping[str, Any]) -> Iterator[InputError]:
    by_device = spec.get("perDeviceNodeSelection") is True
    for path, device in objects(spec, "devices"):
        given = [key for key in _PLACES if not is_left_out(device, key)]
        if by_device and not given:
            problem = "the devices of this slice say where they are, and this one does not"
            yield InputError(path, problem, f"write {', '.join(_PLACES[:2])} or {_PLACES[2]}")
        elif given and not by_device:
            problem = f"it has {' and '.join(given)}, and perDeviceNodeSelection is not true"
            yield InputError(path, problem, "write perDeviceNodeSelection: true")
        elif given:
            yield from (error.at(path) for error in _places(device, _PLACES))


def check_pool(pool: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of the pool of a slice."""
    name, slices, generation = text(pool, "name"), *(number(pool, key) for key in _POOL_NUMBERS)
    if len(name) > _LONGEST_POOL:
        yield InputError("name", f"the name has {len(name)} characters", f"use at most {_LONGEST_POOL}")
    for part in name.split("/") if name else ():
        if (error := check_name(part, label=False)) is not None:
            yield error.at("name")
    if slices is not None and slices <= 0:
        yield InputError("resourceSliceCount", f"{slices} is out of range", "write a number 1 or more")
    if generation is not None and generation < 0:
        yield InputError("generation", f"{generation} is out of range", "write a number 0 or more")


_POOL_NUMBERS: Final = ("resourceSliceCount", "generation")


def check_device(device: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a device over several fields."""
    yield from too_many(device, "taints", most=_MOST_TAINTS)
    yield from too_many(device, "consumesCounters", most=_MOST_CONSUMED)
    yield from twice(device, "consumesCounters", "counterSet")
    attributes, capacity = mapping(device, "attributes"), mapping(device, "capacity")
    for key, names in (("attributes", attributes), ("capacity", capacity)):
        for name in names:
            if isinstance(name, str) and (error := _name_problem(name)) is not None:
                yield at_key(error, name).at(key)
    count = len(attributes) + len(capacity)
    if count > _MOST_NAMES:
        yield InputError("", f"there are {count} attributes and capacities", f"write at most {_MOST_NAMES}")
    values = sum(_count_of_values(each) for each in attributes.values())
    if values > _MOST_VALUES:
        yield InputError("", f"the attributes have {values} values", f"write at most {_MOST_VALUES}")
    yield from _conditions(device)


def _count_of_values(attribute: Any) -> int:
    found = [sequence(attribute, key) for key in _LISTS] if isinstance(attribute, Mapping) else []
    return sum(map(len, found)) or 1


def _name_problem(name: str) -> InputError | None:
    domain, slash, own = name.partition("/")
    if slash and (not domain or driver_problem(domain) is not None):
        return InputError("", f"{described(domain)} is no domain", "write one such as gpu.example.com")
    if "/" not in own and not _IDENTIFIER.fullmatch(own if slash else domain):
        problem = f"{described(own if slash else domain)} is no name of an attribute or a capacity"
        return InputError("", problem, "use letters, digits and _, at most 32, not beginning with a digit")
    return None


def _conditions(device: Mapping[str, Any]) -> Iterator[InputError]:
    keys = ("bindingConditions", "bindingFailureConditions")
    yield from too_many(device, *keys, most=_MOST_CONDITIONS)
    seen: set[str] = set()
    for key in keys:
        for path, condition in texts(device, key):
            if (error := check_label_key(condition, may_be_empty=False)) is not None:
                yield error.at(path)
            if condition in seen:
                yield InputError(path, f"{described(condition)} is there twice", "remove one of the two")
            seen.add(condition)
    given = [bool(sequence(device, key)) for key in keys]
    if any(given) and not all(given):
        missing, other = keys[given.index(False)], keys[given.index(True)]
        yield InputError(missing, f"{other} need {missing}, and there are none", "write them")


def check_attribute(attribute: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of an attribute: one value, and of which form."""
    given = [key for key in _VALUES if not is_left_out(attribute, key)]
    if len(given) != 1:
        problem = f"there are {' and '.join(given)}" if given else "it has no value"
        yield InputError("", problem, "write one value")
    for key in _LISTS:
        if attribute.get(key) == []:
            yield InputError(key, "it is empty", "list at least one value")
    for key in ("string", "version", "strings", "versions"):
        inner = texts(attribute, key) if key.endswith("s") else iter([(key, text(attribute, key))])
        for path, value in inner if not is_left_out(attribute, key) else ():
            if len(value.encode()) > _LONGEST_VALUE:
                yield InputError(path, f"it has {len(value)} characters", f"use at most {_LONGEST_VALUE}")
            if key.startswith("version") and isinstance(value, str) and not _VERSION.fullmatch(value):
                yield InputError(path, f"{described(value)} is no version", "write one such as 1.2.3")


def _counters(value: Mapping[str, Any]) -> Iterator[InputError]:
    counters = mapping(value, "counters")
    if len(counters) > _MOST_COUNTERS:
        yield InputError("counters", f"there are {len(counters)}", f"write at most {_MOST_COUNTERS}")
    for name in counters:
        if isinstance(name, str) and (error := check_name(name, label=True)) is not None:
            yield at_key(error, name).at("counters")


Check = Callable[[Mapping[str, Any]], Iterator[InputError]]

SLICE_CHECKS: Final[Mapping[str, Check]] = {
    "resource.v1.CounterSet": _counters,
    "resource.v1.Device": check_device,
    "resource.v1.DeviceAttribute": check_attribute,
    "resource.v1.DeviceCounterConsumption": _counters,
    "resource.v1.ResourcePool": check_pool,
    "resource.v1.ResourceSliceSpec": check_slice_spec,
}
"""Published type → its check."""

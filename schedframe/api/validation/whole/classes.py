"""Priority classes and storage classes.

Source of the rules: pkg/apis/scheduling/validation, pkg/apis/storage/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...._base.wording import described
from ....errors import InputError
from ..rules import check_label_key
from .reading import mapping, number, objects, text, texts

_SYSTEM: Final = "system-"
_SYSTEM_CLASSES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_HIGHEST: Final = 1_000_000_000
"""Highest priority of a class that is not of the system."""
_MOST_PARAMETERS: Final = 512
_LONGEST_PARAMETERS: Final = 256 * 1024
"""Bytes of all parameters of a class."""


def check_priority_class(priority_class: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a priority class."""
    name, value = text(mapping(priority_class, "metadata"), "name"), number(priority_class, "value") or 0
    if not name.startswith(_SYSTEM):
        if value > _HIGHEST:
            problem = f"{value} is above the highest priority of a class, {_HIGHEST}"
            yield InputError("value", problem, "write a lower number")
    elif name not in _SYSTEM_CLASSES:
        problem = f"{described(name)} begins with {_SYSTEM}, as the names of the system do"
        yield InputError("metadata.name", problem, "use another name")
    elif value != _SYSTEM_CLASSES[name]:
        problem = f"the value of {name} is {_SYSTEM_CLASSES[name]}, not {value}"
        yield InputError("metadata.name", problem, "correct the value, or use another name")
    elif priority_class.get("globalDefault") is True:
        problem = f"{name} is not the default of a cluster"
        yield InputError("metadata.name", problem, "leave globalDefault out, or use another name")


def check_storage_class(storage_class: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a storage class over several fields."""
    provisioner = text(storage_class, "provisioner")
    if provisioner and (error := check_label_key(provisioner.lower())) is not None:
        fix = f"{error.fix}, such as csi.example.com"
        yield InputError("provisioner", f"{described(provisioner)} is no name of a provisioner", fix)
    yield from _parameters(storage_class)
    yield from _topologies(storage_class)


def _parameters(storage_class: Mapping[str, Any]) -> Iterator[InputError]:
    parameters = mapping(storage_class, "parameters")
    if len(parameters) > _MOST_PARAMETERS:
        problem = f"there are {len(parameters)} parameters"
        yield InputError("parameters", problem, f"write at most {_MOST_PARAMETERS}")
        return
    if "" in parameters:
        yield InputError("parameters", "a parameter has no name", "give it one")
    texts = [each for pair in parameters.items() for each in pair if isinstance(each, str)]
    size = sum(len(each.encode()) for each in texts)
    if size > _LONGEST_PARAMETERS:
        problem = f"the parameters have {size} bytes"
        yield InputError("parameters", problem, f"write at most {_LONGEST_PARAMETERS}")


def _topologies(storage_class: Mapping[str, Any]) -> Iterator[InputError]:
    # A term without expressions is refused as the double of nothing.
    seen: list[dict[str, frozenset[str]]] = [{}]
    for path, term in objects(storage_class, "allowedTopologies"):
        values_of: dict[str, frozenset[str]] = {}
        for inner, requirement in objects(term, "matchLabelExpressions"):
            key = text(requirement, "key")
            yield from (error.at(inner).at(path) for error in _values_twice(requirement))
            if key in values_of:
                problem = f"two expressions have the key {described(key)}"
                fix = "list all values in one of them"
                yield InputError("key", problem, fix).at(inner).at(path)
            values_of[key] = frozenset(value for _, value in texts(requirement, "values"))
        if values_of in seen:
            problem = "there is an equal term before" if values_of else "the term has no expressions"
            yield InputError("matchLabelExpressions", problem, "remove the term").at(path)
        seen.append(values_of)


def _values_twice(requirement: Mapping[str, Any]) -> Iterator[InputError]:
    seen: set[str] = set()
    for path, value in texts(requirement, "values"):
        if value in seen:
            yield InputError(path, f"{described(value)} is there twice", "remove one of the two")
        seen.add(value)

"""One case of the admission family: what comes of a manifest (``Admission`` in data/README.md).

Three parts are compared, each by itself, and a line begins with the name of its part: ``verdict`` (is the
object taken), ``causes`` (the fields that a refusal names), ``spec`` (what is stored).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import frozen

from schedframe.api import (
    ADMISSION_KINDS,
    CONTROLLER_KINDS,
    ClusterObject,
    Strict,
    from_manifest,
    parse_quantity,
    to_manifest,
)
from schedframe.controllers.admission import Admission
from schedframe.errors import InputError

from .corpus import Case
from .difference import differences
from .plan import Plan

INVALID: Final = 422
"""Code of a refusal by validation, the only one that names all fields."""

_POD: Final = (
    *("affinity", "containers", "hostNetwork", "initContainers", "nodeName", "nodeSelector", "overhead"),
    *("preemptionPolicy", "priority", "priorityClassName", "resourceClaims", "resources", "runtimeClassName"),
    *("schedulerName", "schedulingGates", "tolerations", "topologySpreadConstraints"),
)
_CONTAINER: Final = ("name", "ports", "resources", "restartPolicy")
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": _POD,
    "containers": _CONTAINER,
    "initContainers": _CONTAINER,
    "PersistentVolumeClaim": (
        *("accessModes", "resources", "selector", "storageClassName", "volumeMode", "volumeName"),
    ),
}
"""Kind, or field of a pod → the fields of it that the expectation has; manifests of ours have others, too."""

DEFAULTS: Final = frozenset(
    {
        ("nodeAffinityPolicy", "Honor"),
        ("nodeTaintsPolicy", "Ignore"),
        ("operator", "Equal"),
        ("preemptionPolicy", "PreemptLowerPriority"),
        ("protocol", "TCP"),
        ("volumeMode", "Filesystem"),
    }
)
"""Field and value that mean the same as no field."""

_KINDS: Final = (*CONTROLLER_KINDS, *ADMISSION_KINDS)
_AMOUNTS: Final = frozenset({"requests", "limits", "overhead"})
_MEANT_EMPTY: Final = frozenset({"labelSelector", "storageClassName"})
"""Fields whose empty value means something else than no value."""

_PATHS: Final = (
    (re.compile(r"^metadata\.taints\b"), "spec.taints"),
    (re.compile(r"\.resources\[storage\]$"), ".resources.requests[storage]"),
    (re.compile(r"\.template\.(labels|annotations)$"), r".template.metadata.\1"),
    (re.compile(r"\.namespace$"), ".namespaces"),
)
"""Paths of the API server that lead to no field → where the field is in the manifest."""


@frozen
class Answer:
    """What came of an object: ``errors`` if it was refused, else its manifest as it is ``stored``."""

    errors: tuple[InputError, ...] = ()
    stored: Mapping[str, Any] = {}


_UNREADABLE: Final = ("matchExpressions", "matchFields")
"""Members of selectors; with a wrong one the selector cannot be read."""


def plan(case: Case, undelivered: frozenset[str]) -> Plan:
    """A pod whose selector cannot be read is refused before LimitRanger sees what else is wrong with it."""
    fields = [field for field, _ in case["expect"].get("causes", ())]
    is_unreadable = any(each in field for field in fields for each in _UNREADABLE)
    has_limits = any(each["kind"] == "LimitRange" for each in case["cluster"])
    if is_unreadable and has_limits and any(field.endswith("resources.requests") for field in fields):
        return Plan("excluded", ("what LimitRanger refuses is named once all selectors can be read",))
    return Plan()


def compare(case: Case) -> list[str]:
    """The differences between what is expected of *case* and what comes of its object."""
    return list(answer_differences(case, create(case)))


def create(case: Case) -> Answer:
    """Create the object of *case* in its cluster.

    A pod that LimitRanger has completed may break a rule besides those that it breaks by itself, and the
    server names both, so the problems are collected.
    """
    admission = Admission.of([_decoded(manifest) for manifest in case["cluster"]])
    errors: list[InputError] = []
    try:
        decoded = _decoded(case["object"], errors.append)
        admitted = admission.admit(decoded, strict=errors.append).object
    except InputError as error:
        return Answer((*errors, *error.errors))
    return Answer(tuple(errors)) if errors else Answer(stored=to_manifest(admitted))


def _decoded(manifest: Mapping[str, Any], strict: Strict = True) -> ClusterObject:
    return from_manifest(manifest, strict=strict, required=True, kinds=_KINDS)


def answer_differences(case: Case, answer: Answer) -> Iterator[str]:
    """One line for each difference between the expectation of *case* and *answer*."""
    expect = case["expect"]
    if expect["accepted"] == bool(answer.errors):
        yield f"verdict: {_contradiction(expect, answer)}"
    elif answer.errors and expect["code"] == INVALID:
        yield from _missing_causes(expect["causes"], answer.errors)
    elif "spec" in expect and not answer.errors:
        kind = case["object"]["kind"]
        stored = answer.stored.get("spec", {})
        yield from differences(
            "spec", comparable(expect["spec"], kind), comparable(_read(stored, kind), kind)
        )


def _contradiction(expect: Mapping[str, Any], answer: Answer) -> str:
    if expect["accepted"]:
        return f"expected accepted, got {'; '.join(map(str, answer.errors))}"
    return f"expected {expect['code']} {expect['reason']} ({expect['message']}), got accepted"


def _missing_causes(causes: list[list[str]], errors: tuple[InputError, ...]) -> Iterator[str]:
    named = [steps(error.path) for error in errors]
    for field, reason in causes:
        wanted = {steps(field), steps(in_manifest(field))}
        if not any(path[: len(each)] == each for path in named for each in wanted):
            yield f"causes: expected {field} ({reason}), got {', '.join(error.path for error in errors)}"


def in_manifest(field: str) -> str:
    """The path in the manifest of the field that the API server names *field*."""
    for pattern, replacement in _PATHS:
        field = pattern.sub(replacement, field)
    return field


def steps(path: str) -> tuple[str, ...]:
    """The steps of a path, whatever its spelling: ``requests[cpu]`` is ``requests.cpu``."""
    return tuple(re.findall(r'[^.\[\]"]+', path))


def _read(spec: Mapping[str, Any], level: str) -> dict[str, Any]:
    """The fields of a manifest of ours that the expectation has."""
    read = {key: spec[key] for key in FIELDS[level] if key in spec}
    for key in ("containers", "initContainers"):
        if key in read:
            read[key] = [_read(container, key) for container in read[key]]
    return read


def comparable(value: Any, key: str) -> Any:
    """*value* of field *key* with amounts as numbers, without what means the same as no field."""
    if isinstance(value, dict):
        if key in _AMOUNTS:
            return {name: _amount(written) for name, written in value.items()}
        inner = ((name, comparable(each, name)) for name, each in value.items())
        return {name: each for name, each in inner if not _is_absent(name, each)}
    return [comparable(item, key) for item in value] if isinstance(value, list) else value


def _amount(written: Any) -> Any:
    """The amount in billionths; what is no amount is itself, and differs from all that are."""
    try:
        return parse_quantity(written).nano
    except InputError:
        return written


def _is_absent(key: str, value: Any) -> bool:
    if value in ("", None) or value == {} or value == []:
        return value is None or key not in _MEANT_EMPTY
    return isinstance(value, str) and (key, value) in DEFAULTS

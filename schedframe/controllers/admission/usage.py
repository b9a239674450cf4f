"""The amounts that pods and claims count for in a resource quota, and which quotas they fall under.

Rules: pkg/quota/v1/evaluator/core.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ...api import (
    CPU,
    DOES_NOT_EXIST,
    EPHEMERAL_STORAGE,
    EXISTS,
    HUGE_PAGES_PREFIX,
    IN,
    MEMORY,
    NOT_IN,
    STORAGE,
    Container,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    Quantity,
    ScopedResourceSelectorRequirement,
    is_scalar_resource,
    pod_requests,
    supports_pod_level,
)
from ...api.resources import ATTACHABLE_VOLUMES_PREFIX, pod_limits

Amounts = Mapping[str, Quantity]

ONE: Final = Quantity.of(1)
_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_CLAIMS: Final = "persistentvolumeclaims"
_COMPUTE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
_NEEDED: Final = frozenset(prefix + name for prefix in ("", "requests.", "limits.") for name in (CPU, MEMORY))
"""Resources of which each container must name an amount where a quota limits them."""


def usage_of(obj: Pod | PersistentVolumeClaim) -> dict[str, Quantity]:
    """Return what *obj* counts for, by the names that quotas use."""
    return _of_pod(obj) if isinstance(obj, Pod) else _of_claim(obj)


def _of_pod(pod: Pod) -> dict[str, Quantity]:
    usage = {"count/pods": ONE}
    if pod.is_terminated:
        return usage
    limits = pod_limits(pod.spec)
    for name, amount in pod.spec.overhead.items():
        if limits.get(name):
            limits[name] += amount
    return usage | {"pods": ONE} | _compute(pod_requests(pod), limits)


def _compute(requests: Amounts, limits: Amounts) -> dict[str, Quantity]:
    usage = {}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith(HUGE_PAGES_PREFIX):
            usage[name] = usage[f"requests.{name}"] = amount
        elif is_scalar_resource(name) and not name.startswith(ATTACHABLE_VOLUMES_PREFIX):
            usage[f"requests.{name}"] = amount
    usage |= {f"limits.{name}": amount for name, amount in limits.items() if name in _COMPUTE}
    return usage


def _of_claim(claim: PersistentVolumeClaim) -> dict[str, Quantity]:
    usage = {_CLAIMS: ONE, f"count/{_CLAIMS}": ONE}
    requested = claim.spec.resources.requests.get(STORAGE)
    if requested is not None:
        usage["requests.storage"] = Quantity.of(requested.value(), requested.format)
    name = claim.spec.storage_class_name
    if name:
        usage[f"{name}{_OF_CLASS}{_CLAIMS}"] = ONE
        if requested is not None:
            usage[f"{name}{_OF_CLASS}requests.storage"] = usage["requests.storage"]
    return usage


def counts(name: str, kind: str) -> bool:
    """Return whether a quota for the resource *name* is about objects of *kind*."""
    if kind == PersistentVolumeClaim.KIND:
        return name in (_CLAIMS, f"count/{_CLAIMS}", "requests.storage") or _OF_CLASS in name
    if name in ("pods", "count/pods") or name in _NEEDED:
        return True
    bare = name.removeprefix("requests.")
    if bare.startswith(HUGE_PAGES_PREFIX) or name.removeprefix("limits.") == EPHEMERAL_STORAGE:
        return True
    return bare == EPHEMERAL_STORAGE or (bare != name and is_scalar_resource(bare) and _OF_CLASS not in name)


def unnamed(pod: Pod, hard: Iterable[str]) -> list[str]:
    """Return ``requests.cpu for a`` for each resource of *hard* that containers must name and do not."""
    resources = pod.spec.resources
    if resources is not None and any(map(supports_pod_level, (*resources.requests, *resources.limits))):
        return []
    needed = sorted(_NEEDED.intersection(hard))
    found = []
    for name in needed:
        without = [each.name for each in _containers(pod.spec) if name not in _named(each)]
        if without:
            found.append(f"{name} for {', '.join(sorted(set(without)))}")
    return found


def _named(container: Container) -> dict[str, Quantity]:
    return _compute(container.resources.requests, container.resources.limits)


def _containers(spec: PodSpec) -> tuple[Container, ...]:
    return (*spec.containers, *spec.init_containers)


def matches(obj: Pod | PersistentVolumeClaim, scope: ScopedResourceSelectorRequirement) -> bool:
    """Return whether *obj* falls under *scope*."""
    if isinstance(obj, PersistentVolumeClaim):
        if scope.scope_name != "VolumeAttributesClass":
            return False
        return _selects(scope, obj.spec.volume_attributes_class_name or "")
    match scope.scope_name:
        case "Terminating":
            return _has_deadline(obj.spec)
        case "NotTerminating":
            return not _has_deadline(obj.spec)
        case "BestEffort":
            return _is_best_effort(obj.spec)
        case "NotBestEffort":
            return not _is_best_effort(obj.spec)
        case "PriorityClass":
            return _selects(scope, obj.spec.priority_class_name)
        case "CrossNamespacePodAffinity":
            terms = () if obj.spec.affinity is None else obj.spec.affinity.pod_terms
            return any(each.namespaces or each.namespace_selector is not None for each in terms)
    return False


def _selects(scope: ScopedResourceSelectorRequirement, name: str) -> bool:
    """Return whether the name of a class (empty: none) is selected."""
    if scope.operator in ("", EXISTS):
        return bool(name)
    if scope.operator == DOES_NOT_EXIST:
        return not name
    is_listed = bool(name) and name in scope.values
    return is_listed if scope.operator == IN else scope.operator == NOT_IN and not is_listed


def _has_deadline(spec: PodSpec) -> bool:
    return spec.active_deadline_seconds is not None


def _is_best_effort(spec: PodSpec) -> bool:
    """Return whether neither cpu nor memory is requested or limited."""
    parts = [spec.resources] if spec.resources is not None else [each.resources for each in _containers(spec)]
    return not any(
        amounts.get(name)
        for part in parts
        for amounts in (part.requests, part.limits)
        for name in (CPU, MEMORY)
    )

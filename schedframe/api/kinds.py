"""The kinds that scheduling reads, and the class for a manifest: of Kubernetes, of a package, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

from .._base.entry_points import EntryPoint, entry_points_of
from ..errors import InputError, PluginError
from . import conversion
from ._text import meant
from .claims import ResourceClaim, ResourceClaimTemplate
from .controllers import CONTROLLER_KINDS
from .devices import DeviceClass, ResourceSlice
from .groups import PodGroup, Workload
from .metadata import ClusterObject
from .node import Node
from .pod import Pod
from .policies import ADMISSION_KINDS
from .storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from .validation import served
from .valuecodecs import describe
from .workloads import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

Strict = bool | Callable[[InputError], None]
"""Treatment of what Kubernetes would refuse: ``True`` raises, ``False`` ignores it, a function gets each."""

_CLASSES: Final[tuple[type[ClusterObject], ...]] = (
    Pod,
    Node,
    Namespace,
    PriorityClass,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    PodDisruptionBudget,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CSINode,
    CSIDriver,
    CSIStorageCapacity,
    VolumeAttachment,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    DeviceClass,
    PodGroup,
    Workload,
)

KINDS: Final[Mapping[str, type[ClusterObject]]] = {cls.KIND: cls for cls in _CLASSES}
"""Kind → class, for all kinds that the scheduler reads. Packages may add others: :func:`installed_kinds`."""

KIND_GROUP: Final = "schedframe.kinds"
"""Entry point group of packages that add kinds; each entry names a class."""


class UnknownKindError(InputError):
    """A manifest of a kind that Kubernetes or others have and that scheduling does not read."""


@cache
def installed_kinds() -> tuple[type[ClusterObject], ...]:
    """Return the kinds of installed packages (entry points of :data:`KIND_GROUP`), sorted by name.

    Kinds that cannot be loaded are left out; :func:`from_manifest` reports them where they are used.
    """
    return tuple(kind for _, kind in _installed_kinds() if not isinstance(kind, PluginError))


@cache
def _installed_kinds() -> tuple[tuple[str, type[ClusterObject] | PluginError], ...]:
    """Return name → kind for each entry point, with the error in place of a kind that cannot be loaded."""
    entries = sorted(entry_points_of(KIND_GROUP), key=lambda entry: (entry.name, entry.value))
    return tuple((entry.name, _load_kind(entry)) for entry in entries)


def _load_kind(entry: EntryPoint) -> type[ClusterObject] | PluginError:
    try:
        return check_kind(entry.load())
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the fault is raised where the kind is used
        problem = PluginError(
            f"kind {entry.name} cannot be loaded from {entry.value}: {type(error).__name__}: {error}"
        )
        problem.__cause__ = error
        return problem


def check_kind(cls: Any) -> type[ClusterObject]:
    """Return *cls*. Raises :class:`PluginError` unless it is the class of a kind."""
    if not isinstance(cls, type) or not issubclass(cls, ClusterObject) or "__attrs_attrs__" not in vars(cls):
        raise PluginError(
            f"{cls!r} is no kind of object; write a frozen attrs class that inherits NamespacedObject (or "
            "ClusterObject) and has KIND, API_VERSION and metadata"
        )
    for name in ("KIND", "API_VERSION"):
        if not isinstance(getattr(cls, name, None), str):
            raise PluginError(f"{cls.__qualname__} has no {name}; set it to a string in the class")
    group, _, _ = cls.KIND.rpartition("/")
    if group and group != cls.API_VERSION.rpartition("/")[0]:
        raise PluginError(
            f"{cls.__qualname__}.KIND is {cls.KIND!r}, and its API_VERSION {cls.API_VERSION!r} is of another "
            "group; a KIND is the kind alone, or the group of API_VERSION, a slash and the kind"
        )
    if KINDS.get(cls.KIND, cls) is not cls:
        raise PluginError(
            f"{cls.__qualname__}.KIND is {cls.KIND!r}, a kind that scheduling reads itself; put the group of "
            "its API_VERSION and a slash in front"
        )
    return cls


def short(kind: str) -> str:
    """Return the name of a kind in manifests: without the group."""
    return kind.rpartition("/")[2]


def _find(kind: str, version: str | None, kinds: Iterable[type[ClusterObject]]) -> type[ClusterObject] | None:
    """Return the class for a kind of that version: of *kinds*, the built-in ones, or installed packages.

    ``None`` if there is none. Raises :class:`PluginError` if a package has the kind and cannot be loaded.
    """
    for group in (kinds, (KINDS[kind],) if kind in KINDS else ()):
        for cls in group:
            if short(cls.KIND) == kind and _same_group(version, cls.API_VERSION):
                return cls
    others = (cls for cls in installed_kinds() if short(cls.KIND) == kind)
    for cls in others:
        if _same_group(version, cls.API_VERSION):
            return cls
    for name, problem in _installed_kinds():
        if name == kind and isinstance(problem, PluginError):
            raise problem
    return None


def class_of(
    manifest: Mapping[str, Any], default: str, kinds: Iterable[type[ClusterObject]], strict: Strict
) -> tuple[type[ClusterObject], InputError | None]:
    """Return the class for a manifest, and what the API server would object to its version.

    Raises :class:`UnknownKindError` if scheduling does not read the kind, and :class:`InputError` for one
    that no API server has.
    """
    kind, version = _text_of(manifest, "kind", "Pod") or default, _text_of(manifest, "apiVersion", "v1")
    if not kind:
        raise _no_kind(manifest)
    cls = KINDS.get(kind) if not kinds else None
    if cls is not None and version in (None, cls.API_VERSION):
        return cls, None
    cls = _find(kind, version, kinds)
    if version is None:
        if cls is None:
            raise _unversioned(kind)
        return cls, None
    group = served.group_of(version)
    if cls is not None and (version == cls.API_VERSION or not served.is_own_group(group)):
        return cls, None
    if not served.is_own_group(group):
        fix = served.near_version(version, kind) or f"it reads {', '.join(KINDS)}"
        raise UnknownKindError("kind", f"{version}/{kind} is not a kind that scheduling reads", fix)
    became = served.former(version, kind)
    if became is not None:
        return _former_class(version, kind, became, cls or _find(kind, became.successor, kinds), strict)
    if not served.is_served(version, kind):
        raise _never_served(version, kind, kinds)
    if cls is None:
        raise _not_read(f"{version}/{kind}", kind)
    return cls, None


def _former_class(
    version: str, kind: str, became: served.Former, cls: type[ClusterObject] | None, strict: Strict
) -> tuple[type[ClusterObject], InputError]:
    """Return the class for a kind that is no longer served in *version*, and the error for that."""
    problem = served.former_problem(version, kind, became)
    if version in conversion.UNREADABLE:
        fix = f"convert it to {conversion.V1}"
        raise InputError("apiVersion", f"{problem.problem}, and it has other fields there", fix)
    if cls is not None:
        return cls, problem
    if strict is True:
        raise problem
    if callable(strict):
        strict(problem)
    raise _not_read(f"{version}/{kind}", kind)


def _never_served(version: str, kind: str, kinds: Iterable[type[ClusterObject]]) -> InputError:
    """Return the error for a kind that no API server has in *version*, whose group is one of its own."""
    if kind.endswith("List"):
        return InputError("kind", f"{kind} is a list of objects", "pass its items, one at a time")
    classes = (*kinds, *KINDS.values(), *CONTROLLER_KINDS, *ADMISSION_KINDS)
    read = [cls.API_VERSION for cls in classes if kind == cls.KIND]
    return served.mistake(version, kind, read)


def _unversioned(kind: str) -> InputError:
    """Return the error for a kind without ``apiVersion`` that is not read."""
    near = "" if served.is_own_kind(kind) else meant(kind, tuple(KINDS)) or served.near_kind(kind)
    if near:
        return InputError("kind", f"Kubernetes has no {kind}", near)
    return _not_read(kind, kind)


def _not_read(named: str, kind: str) -> UnknownKindError:
    if any(kind == cls.KIND for cls in CONTROLLER_KINDS):
        fix = "pass kinds=CONTROLLER_KINDS of schedframe.api; a Simulation makes its pods"
    elif any(kind == cls.KIND for cls in ADMISSION_KINDS):
        fix = "pass kinds=ADMISSION_KINDS of schedframe.api; a Simulation admits pods by it"
    else:
        fix = f"it reads {', '.join(KINDS)}"
    return UnknownKindError("kind", f"{named} is not a kind that scheduling reads", fix)


def kind_label(manifest: Mapping[str, Any]) -> str:
    """Return what a note calls the kind of a manifest that is not read: with its version if it is custom."""
    kind, version = str(manifest.get("kind") or "unnamed"), manifest.get("apiVersion")
    if not isinstance(version, str) or served.is_own_group(served.group_of(version)):
        return kind
    return f"{version}/{kind}"


def near_version(manifest: Mapping[str, Any]) -> InputError | None:
    """Return the problem of a manifest that is not read if a group that Kubernetes has seems to be meant."""
    kind, version = manifest.get("kind"), manifest.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(version, str):
        return None
    group = served.group_of(version)
    if served.is_own_group(group) or not (fix := served.near_version(version, kind)):
        return None
    problem = InputError("apiVersion", f"Kubernetes has no group {group}", fix)
    return problem.in_location(label_of(manifest))


def _no_kind(manifest: Mapping[str, Any]) -> InputError:
    """Return what to report about a manifest without a kind: the key that looks like it, if there is one."""
    for key in map(str, manifest):
        if get_close_matches(key.lower(), ["kind"], cutoff=0.8):
            return InputError(key, "Kubernetes has no such field here", "did you mean kind?")
    return InputError("kind", "the kind is missing", "write a kind such as Pod")


def _text_of(manifest: Mapping[str, Any], key: str, example: str) -> str | None:
    """Return the text at *key* (``None``: missing or null). Raises :class:`InputError` for another type."""
    text = manifest.get(key)
    if text is None or isinstance(text, str):
        return text
    raise InputError(key, f"expected text, got {describe(text)}", f"write a text such as {example}")


def _same_group(version: str | None, expected: str) -> bool:
    """Return whether *version* has the group of *expected*, or is ``None``: the manifest has no version."""
    if version is None or version == expected:
        return True
    return "/" in expected and version.split("/")[0] == expected.split("/", maxsplit=1)[0]


def label_of(manifest: Any, kind: str = "") -> str:
    """Return what a message calls an object: ``Pod web``; the kind alone, or nothing, if no more is known."""
    if not isinstance(manifest, Mapping):
        return kind
    kind = kind or str(manifest.get("kind") or "")
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"{kind} {name}".strip() if isinstance(name, str) and name else kind

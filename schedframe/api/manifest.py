"""Objects from and to manifests, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from .._annotations import NAMES
from .._checked import check_arguments, checked
from ..errors import InputError, PluginError, Problems
from .claims import ResourceClaim, ResourceClaimTemplate
from .codec import decoder, describe, encoder
from .controllers import CONTROLLER_KINDS
from .devices import DeviceClass, ResourceSlice
from .groups import PodGroup, Workload
from .metadata import ClusterObject
from .node import Node
from .pod import Pod
from .storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from .validation import problems_of
from .validation.rules import meant
from .workloads import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

if TYPE_CHECKING:
    # Not at run time: the import takes tens of milliseconds, and few manifests need it.
    from importlib.metadata import EntryPoint

T = TypeVar("T")

AnyObject = ClusterObject | Mapping[str, Any]
"""An object, or the manifest of one."""
AnyPod = Pod | Mapping[str, Any]
"""A pod, or the manifest of one."""

NAMES[AnyObject] = ("an API value or a manifest", "API values or manifests")
NAMES[AnyPod] = ("a pod or the manifest of one", "pods or manifests of them")

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


_OTHER_SHAPES: Final = dict.fromkeys(
    ("resource.k8s.io/v1alpha2", "resource.k8s.io/v1alpha3", "resource.k8s.io/v1beta1"), "resource.k8s.io/v1"
)
"""Versions with other fields → the version that can be read. The other versions of a group have equal fields.
"""


class UnknownKindError(InputError):
    """A manifest of a kind that scheduling does not read."""


@checked
def key_of(obj: ClusterObject) -> str:
    """Return ``namespace/name`` of a namespaced object, else the name; unique within the kind."""
    return obj.key


def from_manifest(
    manifest: Mapping[str, Any],
    *,
    kind: str = "",
    kinds: Iterable[type[ClusterObject]] = (),
    strict: Strict = True,
    required: bool = False,
) -> ClusterObject:
    """Return the object that *manifest* describes. *kind* is the default for manifests without one.

    *kinds* are classes of further kinds, besides those of installed packages. Raises
    :class:`UnknownKindError` for any other kind, and :class:`InputError` with path, value and fix for a wrong
    type of a field that scheduling reads; for several problems :class:`InputErrors`, with all of them.

    *strict*: also raise for fields that Kubernetes does not have, wrong types of any field, values outside an
    enumeration or a range, and names of resources and objects that no API server takes. ``False`` ignores all
    that; a function is called with each :class:`InputError` instead. Fields that Kubernetes has and
    scheduling does not read are right in any case. *required*: fields that are missing, such as the name of
    a container, count among what *strict* is about.
    """
    if kinds or strict is not True or kind.__class__ is not str:
        check_arguments(from_manifest, {}, kind, kinds, strict, required)
    if not isinstance(manifest, Mapping):
        raise InputError("", f"expected an object, got {describe(manifest)}", "write members as key: value")
    cls = _class_of(manifest, kind, kinds)
    problems, label = Problems(), partial(label_of, manifest, cls.KIND)
    if strict is not False:
        problems.errors += [
            problem.in_location(label()) for problem in problems_of(manifest, cls, required=required)
        ]
    if callable(strict):
        for problem in problems.errors:
            strict(problem)
        problems = Problems()
    try:
        made: ClusterObject = decoder(cls)(manifest)
    except InputError as error:
        # the decoder ends at the first problem, which most often follows from one in the same object
        if all(_parent(problem) != _parent(error) for problem in problems.errors):
            problems.errors.append(error.in_location(label()))
    problems.raise_any()
    return made


def _parent(error: InputError) -> str:
    """Return the path of the object in which the field of *error* is."""
    return error.path.rpartition(".")[0]


@checked
def part_from_manifest(cls: type[T], part: Any) -> T:
    """Return a value of *cls*, any class of this package, from its part of a manifest.

    For example ``part_from_manifest(NodeAffinity, {…})``. Raises :class:`InputError`, with the path from
    there.
    """
    return decoder(cls)(part)


@checked
def part_to_manifest(value: object) -> dict[str, Any]:
    """Return the part of a manifest for *value*, without empty and default fields."""
    return encoder(type(value))(value)


@checked
def to_manifest(obj: ClusterObject) -> dict[str, Any]:
    """Return the manifest of *obj* as the API server serves it, without empty and default fields."""
    cls = type(obj)
    manifest = {"apiVersion": cls.API_VERSION, "kind": _short(cls.KIND), **encoder(cls)(obj)}
    if (finish := getattr(obj, "_as_written", None)) is not None:
        finish(manifest)
    return manifest


@cache
def installed_kinds() -> tuple[type[ClusterObject], ...]:
    """Return the kinds of installed packages (entry points of :data:`KIND_GROUP`), sorted by name.

    Kinds that cannot be loaded are left out; :func:`from_manifest` reports them where they are used.
    """
    return tuple(kind for _, kind in _installed_kinds() if not isinstance(kind, PluginError))


@cache
def _installed_kinds() -> tuple[tuple[str, type[ClusterObject] | PluginError], ...]:
    """Return name → kind for each entry point, with the error in place of a kind that cannot be loaded."""
    from importlib.metadata import entry_points

    entries = sorted(entry_points(group=KIND_GROUP), key=lambda entry: (entry.name, entry.value))
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


def _short(kind: str) -> str:
    """Return the name of a kind in manifests: without the group."""
    return kind.rpartition("/")[2]


def _find(kind: str, version: str | None, kinds: Iterable[type[ClusterObject]]) -> type[ClusterObject] | None:
    """Return the class for a kind of that version: of *kinds*, the built-in ones, or installed packages.

    ``None`` if there is none. Raises :class:`PluginError` if a package has the kind and cannot be loaded.
    """
    for group in (kinds, (KINDS[kind],) if kind in KINDS else ()):
        for cls in group:
            if _short(cls.KIND) == kind and _same_group(version, cls.API_VERSION):
                return cls
    others = (cls for cls in installed_kinds() if _short(cls.KIND) == kind)
    for cls in others:
        if _same_group(version, cls.API_VERSION):
            return cls
    for name, problem in _installed_kinds():
        if name == kind and isinstance(problem, PluginError):
            raise problem
    return None


def _class_of(
    manifest: Mapping[str, Any], default: str, kinds: Iterable[type[ClusterObject]]
) -> type[ClusterObject]:
    kind, version = _text_of(manifest, "kind", "Pod") or default, _text_of(manifest, "apiVersion", "v1")
    if not kind:
        raise _no_kind(manifest)
    if version in _OTHER_SHAPES:
        fix = f"convert the manifest to {_OTHER_SHAPES[version]}"
        raise UnknownKindError("apiVersion", f"{version} is too old to be read", fix)
    cls = KINDS.get(kind) if not kinds else None
    if cls is None or not _same_group(version, cls.API_VERSION):
        cls = _find(kind, version, kinds)
    if cls is None:
        raise _unknown_kind(kind, version, kinds)
    return cls


def _unknown_kind(kind: str, version: str | None, kinds: Iterable[type[ClusterObject]]) -> InputError:
    """Return the error for a kind that is not read; it names the version if the kind is read in another.

    Packages of a cluster may define a kind of that name in a group of theirs, but not in a version without a
    group: there it is a mistake, and no :class:`UnknownKindError`.
    """
    own = [cls.API_VERSION for cls in (*kinds, *KINDS.values(), *CONTROLLER_KINDS) if kind == cls.KIND]
    if own and version and "/" not in version:
        return InputError("apiVersion", f"Kubernetes has no {kind} in {version}", f"write {own[0]}")
    if own and version and own[0] != version:
        problem = f"{version} has no {kind} that scheduling reads"
        return UnknownKindError("apiVersion", problem, f"write {own[0]}")
    named = f"{version}/{kind}" if version else kind
    if any(kind == cls.KIND for cls in CONTROLLER_KINDS):
        fix = "pass kinds=CONTROLLER_KINDS of schedframe.api; a Simulation makes its pods"
    else:
        fix = meant(kind, tuple(KINDS)) or f"it reads {', '.join(KINDS)}"
    return UnknownKindError("kind", f"{named} is not a kind that scheduling reads", fix)


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

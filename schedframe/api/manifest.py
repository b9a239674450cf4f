"""Objects from and to manifests, one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from .._base.annotations import NAMES
from .._base.checked import check_arguments, checked
from ..errors import InputError, Problems
from . import conversion
from .codec import decoder, encoder
from .foreign import ToDict, manifest_of
from .kinds import Strict, class_of, label_of, short
from .metadata import ClusterObject
from .mounts import note_mounts
from .pod import Pod
from .validation import problems_of
from .valuecodecs import describe

T = TypeVar("T")

AnyObject = ClusterObject | Mapping[str, Any] | ToDict
"""An object, the manifest of one, or an object of another client that has ``to_dict``."""
AnyPod = Pod | Mapping[str, Any] | ToDict
"""A pod, the manifest of one, or a pod of another client that has ``to_dict``."""

NAMES[AnyObject] = ("an API value or a manifest", "API values or manifests")
NAMES[AnyPod] = ("a pod or the manifest of one", "pods or manifests of them")


def key_of(obj: ClusterObject) -> str:
    """Return ``namespace/name`` of a namespaced object, else the name; unique within the kind."""
    return obj.key


def from_manifest(
    manifest: Mapping[str, Any] | ToDict,
    *,
    kind: str = "",
    kinds: Iterable[type[ClusterObject]] = (),
    strict: Strict = True,
    required: bool = False,
) -> ClusterObject:
    """Return the object that *manifest* describes. *kind* is the default for manifests without one.

    An object of another client is taken too if it has ``to_dict``. *kinds* are classes of further kinds,
    besides those of installed packages. Raises :class:`UnknownKindError` for other kinds that Kubernetes
    serves and for custom resources, and :class:`InputError` with path, value and fix for a kind or version
    that Kubernetes does not have, and a wrong type of a field that scheduling reads; for several problems
    :class:`InputErrors`, with all of them.

    *strict*: also raise for versions that are no longer served, fields that Kubernetes does not have, wrong
    types of any field, values outside an enumeration or a range, and names of resources and objects that no
    API server takes. ``False`` ignores all that; a function is called with each :class:`InputError` instead.
    Fields that Kubernetes has and scheduling does not read are right in any case. *required*: fields that are
    missing, such as the name of a container, count among what *strict* is about.
    """
    if kinds or strict is not True or kind.__class__ is not str:
        check_arguments(from_manifest, {}, kind, kinds, strict, required)
    manifest = manifest_of(manifest)
    if not isinstance(manifest, Mapping):
        raise InputError("", f"expected an object, got {describe(manifest)}", "write members as key: value")
    cls, problem = class_of(manifest, kind, kinds, strict)
    older = conversion.converted(manifest, cls.KIND)
    try:
        return _made(manifest if older is None else older.manifest, cls, problem, strict, required)
    except InputError as error:
        if older is None:
            raise
        problems = Problems()
        problems.errors += [
            InputError(older.path(each.path), each.problem, each.fix, location=each.location)
            for each in error.errors
        ]
        problems.raise_any()
        raise


def _made(
    manifest: Mapping[str, Any],
    cls: type[ClusterObject],
    problem: InputError | None,
    strict: Strict,
    required: bool,
) -> ClusterObject:
    """Return the object of a class; *problem* is that of its version, if there is one."""
    problems, label = Problems(), partial(label_of, manifest, cls.KIND)
    if strict is not False:
        found = problems_of(manifest, cls, required=required)
        problems.errors += [
            each.in_location(label()) for each in ([problem, *found] if problem is not None else found)
        ]
    if callable(strict):
        for each in problems.errors:
            strict(each)
        problems = Problems()
    try:
        made: ClusterObject = decoder(cls)(manifest)
    except InputError as error:
        # what the decoder finds most often follows from a problem in the same object
        known = {_parent(each) for each in problems.errors}
        problems.errors += [each.in_location(label()) for each in error.errors if _parent(each) not in known]
    problems.raise_any()
    note_mounts(made, manifest)
    return made


def _parent(error: InputError) -> str:
    """Return the path of the object in which the field of *error* is."""
    return error.path.rpartition(".")[0]


def part_from_manifest(cls: type[T], part: Any) -> T:
    """Return a value of *cls*, any class of this package, from its part of a manifest.

    For example ``part_from_manifest(NodeAffinity, {…})``. Raises :class:`InputError`, with the path from
    there.
    """
    return decoder(cls)(part)


def part_to_manifest(value: object) -> dict[str, Any]:
    """Return the part of a manifest for *value*, without empty and default fields."""
    return encoder(type(value))(value)


@checked
def to_manifest(obj: ClusterObject) -> dict[str, Any]:
    """Return the manifest of *obj* as the API server serves it, without empty and default fields."""
    cls = type(obj)
    manifest = {"apiVersion": cls.API_VERSION, "kind": short(cls.KIND), **encoder(cls)(obj)}
    if (finish := getattr(obj, "_as_written", None)) is not None:
        finish(manifest)
    return manifest

"""Edits of objects by a change, as JSON Patch (RFC 6902) and as single fields.

Patches are derived from the manifests before and after the change, as :func:`to_manifest` writes them: those
are the fields that scheduling reads, in the form in which an API server stores them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from .._base.value import record
from ..api import ClusterObject, Pod
from ..api.validation.updates import refused_update
from .written import Written, plain

_MISSING: Final = object()


class EditAction(StrEnum):
    """Action on an object."""

    PATCH = "patch"
    """Apply the JSON Patch to its manifest."""
    CREATE = "create"
    """Create it from the manifest."""
    DELETE = "delete"
    """Delete it, or wait until it is gone."""
    REPLACE = "replace"
    """Apply the JSON Patch to its manifest, delete it and create it again: what exists cannot change so."""


@record(frozen=True, eq=False)
class Operation:
    """One operation of a JSON Patch."""

    op: str
    """``add``, ``remove`` or ``replace``."""
    steps: tuple[str | int, ...]
    """Keys and indices from the root of the manifest."""
    before: Any = None
    """The value before; ``None`` means absent."""
    value: Any = None
    """The value afterwards; ``None`` means absent."""

    @property
    def path(self) -> str:
        """The JSON Pointer (RFC 6901) of the field."""
        return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in self.steps)

    @property
    def field(self) -> str:
        """The field for people: ``spec.containers[0].resources.requests.cpu``."""
        text = ""
        for step in self.steps:
            plain = isinstance(step, str) and not any(mark in step for mark in "./[]")
            text += f".{step}" if plain else f"[{step}]"
        return text.removeprefix(".")

    def to_dict(self) -> dict[str, Any]:
        """Return the operation as RFC 6902 has it."""
        document = {"op": self.op, "path": self.path}
        return document if self.op == "remove" else document | {"value": self.value}


@record(frozen=True)
class Edit:
    """A change of one field of one object. ``None`` means absent."""

    object: str
    """``Pod shop/web``, ``Node n1``."""
    field: str
    """Empty for the whole object."""
    before: Any = None
    after: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Return the edit in plain types."""
        return {"object": self.object, "field": self.field, "before": self.before, "after": self.after}


@record(frozen=True, eq=False)
class ObjectEdit:
    """Edit of one object by a change, for programs."""

    action: EditAction
    target: ClusterObject
    """The object before the change; the new one if it is created."""
    patch: tuple[Operation, ...] = ()
    """The operations of a patch, in the order in which they are to be applied."""

    @property
    def edits(self) -> Iterator[Edit]:
        """The changed fields; a single one for an object that is created or deleted."""
        name = f"{self.target.KIND} {self.target.key}"
        if self.action in _PATCHING:
            for each in self.patch:
                yield Edit(name, each.field, each.before, each.value)
        elif self.action is EditAction.CREATE:
            yield Edit(name, "", None, plain(self.target))
        else:
            node = self.target.node_name if isinstance(self.target, Pod) else ""
            yield Edit(name, "", node or None, None)

    def to_dict(self) -> dict[str, Any]:
        """Return the action, the object and the patch or the manifest, in plain types."""
        manifest = plain(self.target)
        if self.action is EditAction.CREATE:
            return {"action": str(self.action), "manifest": manifest}
        names = {key: manifest["metadata"].get(key) for key in ("namespace", "name")}
        document: dict[str, Any] = {
            "action": str(self.action),
            "apiVersion": manifest["apiVersion"],
            "kind": manifest["kind"],
            **{key: name for key, name in names.items() if name},
        }
        if self.action in _PATCHING:
            document["patch"] = [each.to_dict() for each in self.patch]
        return document


_PATCHING: Final = (EditAction.PATCH, EditAction.REPLACE)
_REPLACED: Final = frozenset({"Pod", "Job"})
"""Kinds of which one is deleted and created again where it cannot be changed: they have no data."""


def object_edits(
    pairs: Iterable[tuple[ClusterObject | None, ClusterObject]], deleted: Iterable[Pod], written: Written
) -> tuple[ObjectEdit, ...] | None:
    """Return the edits for *pairs* of an object before (``None``: created) and after, and for *deleted* pods.

    The edits are of what people have *written*. Objects that stay equal are left out. ``None`` if an API
    server refuses one of them: what it is about cannot change, and must not be replaced.
    """
    edits = []
    for before, after in pairs:
        if before is None:
            edits.append(ObjectEdit(EditAction.CREATE, after))
            continue
        found = written.manifests(before, after)
        if found is None:
            return None
        target, first, then = found
        patch = json_patch(first, then)
        if patch:
            action = EditAction.REPLACE if refused_update(first, then) else EditAction.PATCH
            if action is EditAction.REPLACE and target.KIND not in _REPLACED:
                return None
            edits.append(ObjectEdit(action, target, patch))
    return (*edits, *(ObjectEdit(EditAction.DELETE, pod) for pod in deleted))


def json_patch(before: Any, after: Any) -> tuple[Operation, ...]:
    """Return the operations that make *after* of *before*; O(size of both)."""
    return tuple(_difference(before, after, ()))


def _difference(before: Any, after: Any, steps: tuple[str | int, ...]) -> Iterator[Operation]:
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            yield from _member(before.get(key, _MISSING), after.get(key, _MISSING), (*steps, key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_difference(before, after, steps)
    else:
        yield Operation("replace", steps, before, after)


def _member(before: Any, after: Any, steps: tuple[str | int, ...]) -> Iterator[Operation]:
    if after is _MISSING:
        yield Operation("remove", steps, before)
    elif before is _MISSING:
        yield Operation("add", steps, None, after)
    else:
        yield from _difference(before, after, steps)


def _list_difference(
    before: list[Any], after: list[Any], steps: tuple[str | int, ...]
) -> Iterator[Operation]:
    """Yield operations for the items between the common start and the common end."""
    shortest = min(len(before), len(after))
    start = next((i for i in range(shortest) if before[i] != after[i]), shortest)
    rest = shortest - start
    end = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    common = min(len(old), len(new))
    for i in range(common):
        yield from _difference(old[i], new[i], (*steps, start + i))
    for i in reversed(range(common, len(old))):
        # from the end, so that the indices of the others stay valid
        yield Operation("remove", (*steps, start + i), old[i])
    for i in range(common, len(new)):
        yield Operation("add", (*steps, start + i), None, new[i])

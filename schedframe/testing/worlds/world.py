"""A small cluster as a value: what a plugin is tried out in, and what a counterexample shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, field
from typing_extensions import override

from ..._base.value import record, value
from ...api import DEFAULT_SCHEDULER_NAME, KINDS, Node, Pod, to_manifest


@record(frozen=True)
class Change:
    """One object before and after: ``None`` before is created, ``None`` after is deleted."""

    old: Any
    new: Any

    @property
    def subject(self) -> Any:
        """The object as it is now, or was last."""
        return self.old if self.new is None else self.new

    @override
    def __str__(self) -> str:
        if self.old is None:
            return f"created: {describe(self.new)}"
        if self.new is None:
            return f"deleted: {_named(self.old)}"
        return f"changed: {_named(self.new)}: {_difference(self.old, self.new)}"


@value
class World:
    """Nodes with pods on them, pods that wait, other objects, and what happens next.

    ``running`` have a node name, which need not be that of a node; ``pods`` have none. ``changes`` follow one
    another. ``choices`` are small numbers that decide wherever a check has a choice.
    """

    nodes: tuple[Node, ...]
    running: tuple[Pod, ...] = ()
    pods: tuple[Pod, ...] = ()
    objects: tuple[Any, ...] = ()
    changes: tuple[Change, ...] = ()
    choices: tuple[int, ...] = field(default=(), repr=False)

    def choice(self, turn: int) -> int:
        """Return the choice at that turn, 0 if there is none."""
        return self.choices[turn % len(self.choices)] if self.choices else 0

    @override
    def __str__(self) -> str:
        groups: tuple[tuple[str, tuple[Any, ...]], ...] = (
            ("node", self.nodes),
            ("running", self.running),
            ("pod", self.pods),
            ("object", self.objects),
        )
        lines = [f"{name}: {describe(obj)}" for name, objects in groups for obj in objects]
        return "\n".join([*lines, *map(str, self.changes)])


def smaller(world: World) -> Iterator[World]:
    """Worlds with one thing less, and without what happens to it."""
    for i in reversed(range(len(world.changes))):
        less = evolve(world, changes=(*world.changes[:i], *world.changes[i + 1 :]))
        if is_consistent(less):
            yield less
    for name in ("objects", "running", "pods", "nodes"):
        things = getattr(world, name)
        if name == "nodes" and len(things) == 1:
            continue
        for i in reversed(range(len(things))):
            gone = _identity(things[i])
            changes = tuple(change for change in world.changes if _identity(change.subject) != gone)
            less = evolve(world, changes=changes, **{name: (*things[:i], *things[i + 1 :])})
            if is_consistent(less):
                yield less


def is_consistent(world: World) -> bool:
    """Return whether each change begins where the one before it left the object."""
    everything = (*world.nodes, *world.running, *world.pods, *world.objects)
    now: dict[tuple[str, str], Any] = {_identity(obj): obj for obj in everything}
    for change in world.changes:
        known = _identity(change.subject)
        if now.get(known) != change.old:
            return False
        now[known] = change.new
    return True


def _identity(obj: Any) -> tuple[str, str]:
    return obj.KIND, obj.key


def _named(obj: Any) -> str:
    return f"{getattr(obj, 'KIND', type(obj).__name__)} {getattr(obj, 'key', obj)}"


def describe(obj: Any) -> str:
    """Return an object in one line: what was set, as in a manifest."""
    document = _document(obj)
    if document is None:
        return repr(obj)
    kept = {key: value for key, value in document.items() if value not in ({}, [], None)}
    return f"{obj.KIND} {_json(kept)}"


def _document(obj: Any) -> dict[str, Any] | None:
    """Return the manifest without defaults; ``None`` for an object without a manifest."""
    if getattr(obj, "KIND", None) not in KINDS:
        return None
    manifest = to_manifest(obj)
    document = {key: _plain(value) for key, value in manifest.items() if key not in ("apiVersion", "kind")}
    document.get("metadata", {}).pop("uid", None)
    if document.get("spec", {}).get("schedulerName") == DEFAULT_SCHEDULER_NAME:
        del document["spec"]["schedulerName"]
    return document


def _difference(old: Any, new: Any) -> str:
    one, two = _document(old), _document(new)
    if one is None or two is None:
        return f"{old!r} became {new!r}"
    found = [
        f"{part}.{field}: {_json(before)} became {_json(after)}"
        for part in sorted({*one, *two})
        for field in sorted({*one.get(part, {}), *two.get(part, {})})
        if (before := one.get(part, {}).get(field)) != (after := two.get(part, {}).get(field))
    ]
    return "; ".join(found)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(", ", ": "), default=str)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value

"""Can a volume be made for a claim where the node is? Topologies of the class, capacity of the storage."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from schedframe import (
    InputError,
    ObjectStore,
    PersistentVolumeClaim,
    Rows,
    StorageClass,
    compile_label_selector,
)
from schedframe.api import (
    IN,
    CompiledNodeSelector,
    CompiledNodeTerm,
    CompiledSelector,
    CSIDriver,
    CSIStorageCapacity,
    Requirement,
    TopologySelectorTerm,
)

from .._node_selection import Mask, rows_meeting, rows_selected
from .by_label import NumbersByLabel
from .volumes import STORAGE, Labels

_NOBODY: Final = "kubernetes.io/no-provisioner"


class Outcome(IntEnum):
    """Of a look at provisioning; bits, for reasons that add up."""

    POSSIBLE = 0
    IMPOSSIBLE = 2
    NO_SPACE = 4


Outcomes: TypeAlias = npt.NDArray[np.int8]
Room: TypeAlias = tuple[int, int]
"""Bytes of the largest volume that can be made, bytes of all together."""


@lru_cache(maxsize=1024)
def topology_selector(terms: tuple[TopologySelectorTerm, ...]) -> CompiledNodeSelector:
    """One of the terms must match, with all its expressions; an empty term matches nothing."""
    return CompiledNodeSelector(
        tuple(
            CompiledNodeTerm(
                tuple(Requirement(each.key, IN, each.values) for each in term.match_label_expressions)
            )
            for term in terms
            if term.match_label_expressions
        )
    )


def volume_limit(capacity: CSIStorageCapacity) -> int | None:
    """Bytes of the largest volume that can be made; ``None`` if nothing is said."""
    limit = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
    return None if limit is None else limit.value()


@frozen
class Provision:
    """A claim for which a volume would have to be made."""

    claim: PersistentVolumeClaim
    topologies: CompiledNodeSelector | None = None
    """``None``: anywhere."""
    capacities: ClassCapacities | None = None
    """``None``: they are not asked."""
    size: int = 0
    """Bytes."""
    supported: bool = True

    def outcome(self, labels: Labels) -> Outcome:
        """For a node with these labels."""
        if not self.supported:
            return Outcome.IMPOSSIBLE
        if self.topologies is not None and not self.topologies.matches_labels(labels, ""):
            return Outcome.IMPOSSIBLE
        if self.capacities is not None and not self.capacities.suffice(self.size, labels):
            return Outcome.NO_SPACE
        return Outcome.POSSIBLE

    def outcomes(self, rows: Rows) -> Outcomes:
        """The same for rows, a fresh array."""
        if not self.supported:
            return np.full(len(rows), Outcome.IMPOSSIBLE, np.int8)
        if self.capacities is None:
            found = np.zeros(len(rows), np.int8)
        else:
            found = (~self.capacities.rows(self.size, rows)).view(np.int8) * np.int8(Outcome.NO_SPACE)
        if self.topologies is not None:
            np.putmask(found, ~rows_selected(self.topologies, rows), Outcome.IMPOSSIBLE)
        return found


@define(eq=False)
class LabelledCapacities:
    """Capacities for which a node needs just one label."""

    largest: NumbersByLabel
    values: dict[str, dict[str, Room]] = field(factory=dict)
    """Value → key of the capacity → room."""

    def change(self, value: str, key: str, room: Room | None) -> None:
        """The capacity of that key; ``None`` takes it away."""
        rooms = self.values.setdefault(value, {})
        if room is not None:
            rooms[key] = room
        else:
            del rooms[key]
        self.largest.set(value, max(rooms.values())[0] if rooms else None)
        if not rooms:
            del self.values[value]


@define(eq=False)
class ClassCapacities:
    """The capacities of one class with room for something, by the label that a node must have."""

    by_label: dict[str, LabelledCapacities] = field(factory=dict)
    """By key: where one label says it all, as it does mostly."""
    others: dict[str, tuple[CompiledSelector, Room]] = field(factory=dict)

    def suffice(self, size: int, labels: Labels) -> bool:
        """Whether some storage that such a node reaches has *size* bytes."""
        for key, labelled in self.by_label.items():
            rooms = labelled.values.get(labels.get(key, ""))
            if rooms and key in labels and max(rooms.values())[0] >= size:
                return True
        return any(room[0] >= size and selector.matches(labels) for selector, room in self.others.values())

    def largest(self, size: int, labels: Labels) -> int | None:
        """The capacity in bytes of the largest such storage."""
        found = [room for selector, room in self.others.values() if selector.matches(labels)]
        for key, labelled in self.by_label.items():
            if key in labels:
                found += labelled.values.get(labels[key], {}).values()
        return max((total for limit, total in found if limit >= size), default=None)

    def rows(self, size: int, rows: Rows) -> Mask:
        """Rows for which that is so; O(rows) for each label and other selector."""
        mask = np.zeros(len(rows), np.bool_)
        for labelled in self.by_label.values():
            mask |= labelled.largest.at_least(size, rows)
        for selector, room in self.others.values():
            if room[0] >= size:
                mask |= _rows_matching(selector, rows)
        return mask

    def keys(self) -> set[str]:
        """Labels of nodes that matter."""
        requirements = (selector.requirements or () for selector, _ in self.others.values())
        return {each.key for some in requirements for each in some}.union(self.by_label)

    def change(self, key: str, selector: CompiledSelector, room: Room, present: bool) -> None:
        """Add or remove a capacity."""
        label = _only_label(selector)
        if label is None:
            if present:
                self.others[key] = (selector, room)
            else:
                del self.others[key]
            return
        labelled = self.by_label.get(label[0])
        if labelled is None:
            labelled = self.by_label[label[0]] = LabelledCapacities(NumbersByLabel(label[0]))
        labelled.change(label[1], key, room if present else None)
        if not labelled.values:
            del self.by_label[label[0]]


def _only_label(selector: CompiledSelector) -> tuple[str, str] | None:
    requirements = selector.requirements or ()
    if len(requirements) != 1 or requirements[0].operator != IN or len(requirements[0].values) != 1:
        return None
    return requirements[0].key, next(iter(requirements[0].values))


def _rows_matching(selector: CompiledSelector, rows: Rows) -> Mask:
    mask = np.ones(len(rows), np.bool_)
    for requirement in selector.requirements or ():
        mask &= rows_meeting(requirement, rows)
    return mask


_NONE: Final = ClassCapacities()


@define(eq=False)
class Capacities:
    """All capacities by class, kept up to date; O(1) for each change."""

    _objects: ObjectStore
    _classes: dict[str, ClassCapacities] = field(factory=dict)
    _filed: dict[str, tuple[str, CompiledSelector, Room]] = field(factory=dict)
    _version: int = 0

    def of_class(self, name: str) -> ClassCapacities:
        """Those of a class. Not to be changed."""
        version = self._objects.version("CSIStorageCapacity")
        if version != self._version:
            keys = self._objects.changed_since("CSIStorageCapacity", self._version)
            if keys is None:
                keys = [*self._filed, *(each.key for each in self._objects.list("CSIStorageCapacity"))]
            for key in dict.fromkeys(keys):
                self._refile(key)
            self._version = version
        return self._classes.get(name, _NONE)

    def _refile(self, key: str) -> None:
        before = self._filed.pop(key, None)
        if before is not None:
            self._classes[before[0]].change(key, before[1], before[2], False)
        capacity: CSIStorageCapacity | None = self._objects.get("CSIStorageCapacity", key)
        limit = None if capacity is None else volume_limit(capacity)
        if capacity is None or limit is None or capacity.node_topology is None:
            return
        try:
            selector = compile_label_selector(capacity.node_topology)
        except InputError:
            # No node can be said to have access to it.
            return
        name = capacity.storage_class_name
        room = (limit, 0 if capacity.capacity is None else capacity.capacity.value())
        self._filed[key] = (name, selector, room)
        self._classes.setdefault(name, ClassCapacities()).change(key, selector, room, True)

    def provision(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> Provision:
        """What it takes to make a volume of that class for *claim*."""
        provisioner = storage_class.provisioner
        if provisioner in ("", _NOBODY):
            return Provision(claim, supported=False)
        terms = storage_class.allowed_topologies
        topologies = topology_selector(terms) if terms else None
        wanted = claim.spec.resources.requests.get(STORAGE)
        driver: CSIDriver | None = self._objects.get("CSIDriver", provisioner)
        if wanted is None or driver is None or not driver.spec.storage_capacity:
            return Provision(claim, topologies)
        return Provision(claim, topologies, self.of_class(storage_class.name), wanted.value())

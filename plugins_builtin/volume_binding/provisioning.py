"""Dynamic provisioning: whether a volume can be created for a claim on a node.

Decided by the allowed topologies of the storage class and, if the driver publishes them, by its storage
capacities. Invariant: the index of capacities is brought up to date before each use.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from schedframe import InputError, ObjectStore, Rows
from schedframe.api import (
    IN,
    NO_PROVISIONER,
    STORAGE,
    CompiledNodeSelector,
    CompiledNodeTerm,
    CompiledSelector,
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    Requirement,
    StorageClass,
    TopologySelectorTerm,
    compile_label_selector,
)

from .._node_selection import Mask, rows_meeting, rows_selected
from .topology_index import TopologyIndex
from .volumes import Labels

NO_PROVISIONERS: Final = ("", NO_PROVISIONER)
"""Provisioners of classes for which no volume is made."""


class Outcome(IntEnum):
    """Answer to whether a volume can be provisioned; the values are bits of sets of reasons."""

    POSSIBLE = 0
    IMPOSSIBLE = 2
    NO_SPACE = 4


Outcomes: TypeAlias = npt.NDArray[np.int8]
StorageLimits: TypeAlias = tuple[int, int]
"""Bytes of the largest volume that can be created, and bytes of all volumes together."""


@lru_cache(maxsize=1024)
def topology_selector(terms: tuple[TopologySelectorTerm, ...]) -> CompiledNodeSelector:
    """Compile allowed topologies; one term must match entirely, and an empty term matches nothing."""
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
    """Return the bytes of the largest volume that can be created; ``None`` if not specified."""
    limit = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
    return None if limit is None else limit.value()


@frozen
class ProvisioningRequest:
    """A claim for which a volume has to be created."""

    claim: PersistentVolumeClaim
    topologies: CompiledNodeSelector | None = None
    """Nodes where the class allows volumes; ``None`` means all."""
    capacities: ClassCapacities | None = None
    """``None`` if capacity does not count."""
    size: int = 0
    """Bytes."""
    supported: bool = True
    """Whether the class has a provisioner."""

    def outcome(self, labels: Labels) -> Outcome:
        """Return whether a volume can be created for a node with these labels."""
        if not self.supported:
            return Outcome.IMPOSSIBLE
        if self.topologies is not None and not self.topologies.matches_labels(labels, ""):
            return Outcome.IMPOSSIBLE
        if self.capacities is not None and not self.capacities.suffice(self.size, labels):
            return Outcome.NO_SPACE
        return Outcome.POSSIBLE

    def outcomes(self, rows: Rows) -> Outcomes:
        """As :meth:`outcome` for many rows; a fresh array."""
        if not self.supported:
            return np.full(len(rows), Outcome.IMPOSSIBLE, np.int8)
        if self.capacities is None:
            outcomes = np.zeros(len(rows), np.int8)
        else:
            outcomes = (~self.capacities.rows(self.size, rows)).view(np.int8) * np.int8(Outcome.NO_SPACE)
        if self.topologies is not None:
            np.putmask(outcomes, ~rows_selected(self.topologies, rows), Outcome.IMPOSSIBLE)
        return outcomes


@define(eq=False)
class CapacitiesByLabel:
    """Capacities that a node can use if it has some value of one label."""

    largest: TopologyIndex
    values: dict[str, dict[str, StorageLimits]] = field(factory=dict)
    """Value of the label → key of the capacity → its limits."""

    def change(self, value: str, key: str, limits: StorageLimits | None) -> None:
        """Set the capacity of that key; ``None`` removes it."""
        by_key = self.values.setdefault(value, {})
        if limits is not None:
            by_key[key] = limits
        else:
            del by_key[key]
        self.largest.set(value, max(by_key.values())[0] if by_key else None)
        if not by_key:
            del self.values[value]


@define(eq=False)
class ClassCapacities:
    """Index of the capacities of one storage class, by the node label that grants access."""

    by_label: dict[str, CapacitiesByLabel] = field(factory=dict)
    """Capacities that select nodes by one value of one label, as most do; by the key of the label."""
    others: dict[str, tuple[CompiledSelector, StorageLimits]] = field(factory=dict)

    def suffice(self, size: int, labels: Labels) -> bool:
        """Return whether a node with these labels has access to *size* bytes of storage."""
        for key, indexed in self.by_label.items():
            by_key = indexed.values.get(labels.get(key, ""))
            if by_key and key in labels and max(by_key.values())[0] >= size:
                return True
        return any(
            limits[0] >= size and selector.matches(labels) for selector, limits in self.others.values()
        )

    def largest(self, size: int, labels: Labels) -> int | None:
        """Return the bytes of the largest storage that suffices for *size*; ``None`` if there is none."""
        all_limits = [limits for selector, limits in self.others.values() if selector.matches(labels)]
        for key, indexed in self.by_label.items():
            if key in labels:
                all_limits += indexed.values.get(labels[key], {}).values()
        return max((total for limit, total in all_limits if limit >= size), default=None)

    def largest_volume(self, labels: Labels) -> int | None:
        """Return the bytes of the largest volume for a node with these labels; ``None`` without capacity."""
        limits = [limit for selector, (limit, _) in self.others.values() if selector.matches(labels)]
        for key, indexed in self.by_label.items():
            if key in labels:
                limits += [limit for limit, _ in indexed.values.get(labels[key], {}).values()]
        return max(limits, default=None)

    def rows(self, size: int, rows: Rows) -> Mask:
        """As :meth:`suffice` for many rows; O(rows) for each label and other selector."""
        mask = np.zeros(len(rows), np.bool_)
        for indexed in self.by_label.values():
            mask |= indexed.largest.at_least(size, rows)
        for selector, limits in self.others.values():
            if limits[0] >= size:
                mask |= _rows_matching(selector, rows)
        return mask

    def keys(self) -> set[str]:
        """Return the keys of the node labels that decide."""
        requirements = (selector.requirements or () for selector, _ in self.others.values())
        return {each.key for some in requirements for each in some}.union(self.by_label)

    def change(self, key: str, selector: CompiledSelector, limits: StorageLimits, present: bool) -> None:
        """Add (*present*) or remove a capacity."""
        label = _only_label(selector)
        if label is None:
            if present:
                self.others[key] = (selector, limits)
            else:
                del self.others[key]
            return
        indexed = self.by_label.get(label[0])
        if indexed is None:
            indexed = self.by_label[label[0]] = CapacitiesByLabel(TopologyIndex(label[0]))
        indexed.change(label[1], key, limits if present else None)
        if not indexed.values:
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
    """Index of all capacities by storage class; O(1) for each change."""

    _objects: ObjectStore
    _classes: dict[str, ClassCapacities] = field(factory=dict)
    _indexed: dict[str, tuple[str, CompiledSelector, StorageLimits]] = field(factory=dict)
    _version: int = 0

    def of_class(self, name: str) -> ClassCapacities:
        """Return the capacities of a class, up to date; read-only."""
        version = self._objects.version("CSIStorageCapacity")
        if version != self._version:
            keys = self._objects.changed_since("CSIStorageCapacity", self._version)
            if keys is None:
                keys = [*self._indexed, *(each.key for each in self._objects.list("CSIStorageCapacity"))]
            for key in dict.fromkeys(keys):
                self._reindex(key)
            self._version = version
        return self._classes.get(name, _NONE)

    def _reindex(self, key: str) -> None:
        before = self._indexed.pop(key, None)
        if before is not None:
            self._classes[before[0]].change(key, before[1], before[2], False)
        capacity: CSIStorageCapacity | None = self._objects.get("CSIStorageCapacity", key)
        limit = None if capacity is None else volume_limit(capacity)
        if capacity is None or limit is None or capacity.node_topology is None:
            return
        try:
            selector = compile_label_selector(capacity.node_topology)
        except InputError:
            # A selector that cannot be parsed gives no node access.
            return
        name = capacity.storage_class_name
        limits = (limit, 0 if capacity.capacity is None else capacity.capacity.value())
        self._indexed[key] = (name, selector, limits)
        self._classes.setdefault(name, ClassCapacities()).change(key, selector, limits, True)

    def request(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> ProvisioningRequest:
        """Return the request for a volume of that class for *claim*."""
        provisioner = storage_class.provisioner
        if provisioner in NO_PROVISIONERS:
            return ProvisioningRequest(claim, supported=False)
        terms = storage_class.allowed_topologies
        topologies = topology_selector(terms) if terms else None
        storage = claim.spec.resources.requests.get(STORAGE)
        driver: CSIDriver | None = self._objects.get("CSIDriver", provisioner)
        if storage is None or driver is None or not driver.spec.storage_capacity:
            return ProvisioningRequest(claim, topologies)
        return ProvisioningRequest(claim, topologies, self.of_class(storage_class.name), storage.value())

"""Index of the volumes that unbound claims can get: by storage class, shape, selector of nodes, and size.

Invariant: the index equals what the assume cache says of every volume; it is updated on each change.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from schedframe import ObjectStore, Rows
from schedframe.api import (
    IN,
    STORAGE,
    CompiledNodeSelector,
    CompiledNodeTerm,
    NodeSelector,
    PersistentVolume,
    compile_node_selector,
)

from .._node_selection import Mask, rows_selected
from .._policy import MAX_INDEXED_SIZES
from .assumed import AssumedObjects
from .topology_index import TopologyIndex

T = TypeVar("T")

AVAILABLE: Final = "Available"
_FILESYSTEM: Final = "Filesystem"
_NANO: Final = 10**9

Entry: TypeAlias = tuple[int, str]
"""Capacity in billionths of a byte, and name; sorts the smallest volume first."""
Numbers: TypeAlias = npt.NDArray[np.int64]
Labels: TypeAlias = Mapping[str, str]
Excluded: TypeAlias = Callable[[str], bool]
"""Returns whether the claim cannot have the volume of that name."""


@frozen
class Shape:
    """Volume mode, attributes class and access modes, of a volume or requested by a claim."""

    mode: str
    attributes_class: str
    access_modes: frozenset[str]

    def satisfies(self, requested: Shape) -> bool:
        """Return whether a claim that requests that shape can use a volume of this one."""
        return (
            self.mode == requested.mode
            and self.attributes_class == requested.attributes_class
            and requested.access_modes <= self.access_modes
        )


def mode_or_default(mode: str | None) -> str:
    """Return the volume mode; the default is ``Filesystem``."""
    return _FILESYSTEM if mode is None else mode


def shape_of(volume: PersistentVolume) -> Shape:
    """Return the shape of *volume*."""
    spec = volume.spec
    return Shape(
        mode_or_default(spec.volume_mode),
        spec.volume_attributes_class_name or "",
        frozenset(spec.access_modes),
    )


def capacity_of(volume: PersistentVolume) -> int:
    """Return the capacity in billionths of a byte."""
    amount = volume.spec.capacity.get(STORAGE)
    return 0 if amount is None else amount.nano


@lru_cache(maxsize=8192)
def labels_selector(selector: NodeSelector) -> CompiledNodeSelector:
    """Compile a selector of a volume, which ignores fields of nodes."""
    terms = compile_node_selector(selector).terms
    return CompiledNodeSelector(tuple(CompiledNodeTerm(term.labels, (), term.errors) for term in terms))


def selector_of(volume: PersistentVolume) -> CompiledNodeSelector | None:
    """Return the selector of the nodes that can use the volume; ``None`` means all."""
    affinity = volume.spec.node_affinity
    return None if affinity is None or affinity.required is None else labels_selector(affinity.required)


def reaches(selector: CompiledNodeSelector | None, labels: Labels) -> bool:
    """Return whether a node with these labels can use the volume."""
    return selector is None or selector.matches_labels(labels, "")


def first_fit(entries: list[Entry], size: int, excluded: Excluded | None) -> Entry | None:
    """Return the smallest entry of at least *size* that is not excluded; O(log entries + excluded ones)."""
    if not entries or entries[-1][0] < size:
        return None
    for position in range(bisect_left(entries, (size, "")), len(entries)):
        entry = entries[position]
        if excluded is None or not excluded(entry[1]):
            return entry
    return None


def count_fits(entries: list[Entry], size: int) -> int:
    """Return the number of entries of at least *size*; O(log entries)."""
    return len(entries) - bisect_left(entries, (size, ""))


@define(eq=False)
class VolumesByLabel:
    """Free volumes that a node can use if it has one of some values of one label (local disks, zones)."""

    key: str
    values: dict[str, list[Entry]] = field(factory=dict)
    _largest: TopologyIndex = field(init=False)  # largest capacity in whole bytes
    _fractional: set[str] = field(factory=set)  # values with a volume of a fractional number of bytes
    _counts: dict[int, TopologyIndex] = field(factory=dict)  # size → number of volumes of at least that

    def __attrs_post_init__(self) -> None:
        self._largest = TopologyIndex(self.key)

    def rows(self, size: int, rows: Rows, excluded: Excluded | None) -> Mask:
        """Return the rows with a volume that fits; O(rows), and O(values) if some are excluded."""
        candidates: Iterable[str] = self._fractional
        if excluded is None:
            mask = self._largest.at_least(-(-size // _NANO), rows)
        else:
            mask, candidates = np.zeros(len(rows), np.bool_), self.values
        fitting = [value for value in candidates if first_fit(self.values[value], size, excluded)]
        return mask | rows.table.label(self.key).mask_of(fitting, rows.index) if fitting else mask

    def count(self, size: int, rows: Rows) -> Numbers:
        """Return the number of fitting volumes per row; O(rows), and O(values) for a size not indexed."""
        counts = self._counts.get(size)
        if counts is None:
            if len(self._counts) >= MAX_INDEXED_SIZES:
                self._counts.clear()
            counts = self._counts[size] = TopologyIndex(self.key, 0)
            for value, entries in self.values.items():
                counts.set(value, count_fits(entries, size))
        return counts.of_rows(rows)

    def change(self, value: str, entry: Entry, present: bool) -> None:
        """Add (*present*) or remove a volume for nodes with that value."""
        _change_in(self.values, value, entry, present)
        entries = self.values.get(value)
        for size, counts in self._counts.items():
            counts.set(value, count_fits(entries, size) if entries else None)
        self._largest.set(value, entries[-1][0] // _NANO if entries else None)
        if entry[0] % _NANO:
            if entries and any(capacity % _NANO for capacity, _ in entries):
                self._fractional.add(value)
            else:
                self._fractional.discard(value)


@define(eq=False)
class FreeVolumes:
    """Free volumes of one storage class and shape, by the nodes that can use them."""

    any_node: list[Entry] = field(factory=list)
    by_label: dict[str, VolumesByLabel] = field(factory=dict)
    by_selector: dict[CompiledNodeSelector, list[Entry]] = field(factory=dict)

    def smallest(self, size: int, labels: Labels, excluded: Excluded | None) -> Entry | None:
        """Return the smallest fit for a node with these *labels*; O(indexed labels + other selectors)."""
        smallest = (first_fit(entries, size, excluded) for entries in self.usable_from(labels))
        return min((entry for entry in smallest if entry is not None), default=None)

    def usable_from(self, labels: Labels) -> Iterator[list[Entry]]:
        """Iterate over the volumes that a node with these *labels* can use, in sorted lists; read-only."""
        if self.any_node:
            yield self.any_node
        for key, indexed in self.by_label.items():
            entries = indexed.values.get(labels.get(key, ""))
            if entries and key in labels:
                yield entries
        for selector, entries in self.by_selector.items():
            if reaches(selector, labels):
                yield entries

    def rows(self, size: int, rows: Rows, excluded: Excluded | None) -> Mask:
        """Return the rows with a volume that fits; O(rows) for each label and other selector."""
        if first_fit(self.any_node, size, excluded) is not None:
            return np.ones(len(rows), np.bool_)
        mask = np.zeros(len(rows), np.bool_)
        for indexed in self.by_label.values():
            mask |= indexed.rows(size, rows, excluded)
        for selector, entries in self.by_selector.items():
            if first_fit(entries, size, excluded) is not None:
                mask |= rows_selected(selector, rows)
        return mask

    def count(self, size: int, rows: Rows) -> Numbers:
        """Return the number of fitting volumes per row; O(rows) for each label and other selector."""
        total = np.full(len(rows), count_fits(self.any_node, size), np.int64)
        for indexed in self.by_label.values():
            total += indexed.count(size, rows)
        for selector, entries in self.by_selector.items():
            total += rows_selected(selector, rows) * np.int64(count_fits(entries, size))
        return total

    def change(self, selector: CompiledNodeSelector | None, entry: Entry, present: bool) -> None:
        """Add (*present*) or remove a volume."""
        if selector is None:
            _change(self.any_node, entry, present)
            return
        label = _only_label(selector)
        if label is None:
            _change_in(self.by_selector, selector, entry, present)
            return
        key, values = label
        indexed = self.by_label.get(key)
        if indexed is None:
            indexed = self.by_label[key] = VolumesByLabel(key)
        for value in values:
            indexed.change(value, entry, present)
        if not indexed.values:
            del self.by_label[key]

    def __bool__(self) -> bool:
        return bool(self.any_node or self.by_label or self.by_selector)


def _only_label(selector: CompiledNodeSelector) -> tuple[str, frozenset[str]] | None:
    """Return key and values if the selector asks for one of some values of one label, else ``None``."""
    if len(selector.terms) != 1:
        return None
    term = selector.terms[0]
    if term.errors or len(term.labels) != 1 or term.labels[0].operator != IN:
        return None
    return term.labels[0].key, term.labels[0].values


def _change(entries: list[Entry], entry: Entry, present: bool) -> None:
    if present:
        insort(entries, entry)
    else:
        del entries[bisect_left(entries, entry)]


def _change_in(lists: dict[T, list[Entry]], key: T, entry: Entry, present: bool) -> None:
    entries = lists.setdefault(key, [])
    _change(entries, entry, present)
    if not entries:
        del lists[key]


@frozen
class _Location:
    """Place of a volume in the index."""

    storage_class: str
    shape: Shape | None = None
    selector: CompiledNodeSelector | None = None
    entry: Entry = (0, "")
    claim_key: str = ""
    """Claim that the volume is pre-bound to; empty for free volumes."""


@define(eq=False)
class ClassVolumes:
    """Volumes of one storage class."""

    free: dict[Shape, FreeVolumes] = field(factory=dict)
    pre_bound: dict[str, set[str]] = field(factory=dict)
    """Claim key → names of the volumes whose claim reference has that key."""


_NO_VOLUMES: Final = ClassVolumes()


@define(eq=False)
class VolumeIndex:
    """All volumes as assumed, indexed by storage class; O(log volumes) for each change."""

    objects: ObjectStore
    assumed: AssumedObjects[PersistentVolume] = field(init=False)
    _classes: dict[str, ClassVolumes] = field(factory=dict)
    _locations: dict[str, _Location] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.assumed = AssumedObjects("PersistentVolume", self.objects, self._reindex)

    def of_class(self, name: str) -> ClassVolumes:
        """Return the volumes of a class, up to date; read-only."""
        self.assumed.sync()
        return self._classes.get(name, _NO_VOLUMES)

    def _reindex(self, name: str) -> None:
        volume = self.assumed.get(name)
        location = None if volume is None else _location_of(volume)
        before = self._locations.get(name)
        if location == before:
            return
        if before is not None:
            self._change(name, before, False)
            del self._locations[name]
        if location is not None:
            self._change(name, location, True)
            self._locations[name] = location

    def _change(self, name: str, location: _Location, present: bool) -> None:
        volumes = self._classes.setdefault(location.storage_class, ClassVolumes())
        if location.shape is None:
            names = volumes.pre_bound.setdefault(location.claim_key, set())
            (names.add if present else names.discard)(name)
            if not names:
                del volumes.pre_bound[location.claim_key]
        else:
            free = volumes.free.setdefault(location.shape, FreeVolumes())
            free.change(location.selector, location.entry, present)
            if not free:
                del volumes.free[location.shape]
        if not volumes.free and not volumes.pre_bound:
            del self._classes[location.storage_class]


def _location_of(volume: PersistentVolume) -> _Location | None:
    """Return where the volume belongs; ``None`` if no claim can be bound to it."""
    if volume.metadata.deletion_timestamp is not None:
        return None
    storage_class, reference = volume.storage_class, volume.spec.claim_ref
    if reference is not None:
        return _Location(storage_class, claim_key=f"{reference.namespace}/{reference.name}")
    if volume.status.phase != AVAILABLE:
        return None
    entry = (capacity_of(volume), volume.name)
    return _Location(storage_class, shape_of(volume), selector_of(volume), entry)

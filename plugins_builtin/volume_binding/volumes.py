"""Volumes that claims can be bound to, filed so that nobody has to look through all of them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from schedframe import ObjectStore, PersistentVolume, Rows
from schedframe.api import IN, CompiledNodeSelector, CompiledNodeTerm, NodeSelector, compile_node_selector

from .._node_selection import Mask, rows_selected
from .._volumes import class_of_volume
from .assumed import AssumedObjects
from .by_label import NumbersByLabel

T = TypeVar("T")

_AVAILABLE: Final = "Available"
_FILESYSTEM: Final = "Filesystem"
_NANO: Final = 10**9
STORAGE: Final = "storage"

_MOST_SIZES: Final = 8
"""Sizes for which it is remembered how many volumes are large enough."""

Entry: TypeAlias = tuple[int, str]
"""Capacity in billionths of a byte, name: the smallest volume comes first."""
Numbers: TypeAlias = npt.NDArray[np.int64]
Labels: TypeAlias = Mapping[str, str]
Refused: TypeAlias = Callable[[str], bool]
"""Whether the volume of that name will not do."""


@frozen
class Shape:
    """What a volume is like; a claim wants the same mode and class of attributes, and some of the access
    modes."""

    mode: str
    attributes_class: str
    access_modes: frozenset[str]

    def serves(self, wanted: Shape) -> bool:
        """Whether a volume of this shape will do."""
        return (
            self.mode == wanted.mode
            and self.attributes_class == wanted.attributes_class
            and wanted.access_modes <= self.access_modes
        )


def mode_or_default(mode: str | None) -> str:
    """The volume mode, ``Filesystem`` where nothing is said."""
    return _FILESYSTEM if mode is None else mode


def shape_of(volume: PersistentVolume) -> Shape:
    """What *volume* is like."""
    spec = volume.spec
    return Shape(
        mode_or_default(spec.volume_mode),
        spec.volume_attributes_class_name or "",
        frozenset(spec.access_modes),
    )


def capacity_of(volume: PersistentVolume) -> int:
    """Capacity in billionths of a byte."""
    amount = volume.spec.capacity.get(STORAGE)
    return 0 if amount is None else amount.nano


@lru_cache(maxsize=8192)
def labels_selector(selector: NodeSelector) -> CompiledNodeSelector:
    """*selector* as volumes mean it: of nodes, only labels are looked at."""
    terms = compile_node_selector(selector).terms
    return CompiledNodeSelector(tuple(CompiledNodeTerm(term.labels, (), term.errors) for term in terms))


def selector_of(volume: PersistentVolume) -> CompiledNodeSelector | None:
    """Which nodes the volume can be used from; ``None`` is all of them."""
    affinity = volume.spec.node_affinity
    return None if affinity is None or affinity.required is None else labels_selector(affinity.required)


def reaches(selector: CompiledNodeSelector | None, labels: Labels) -> bool:
    """Whether a node with these labels can use the volume."""
    return selector is None or selector.matches_labels(labels, "")


def first_fit(entries: list[Entry], size: int, refused: Refused | None) -> Entry | None:
    """The smallest entry of at least *size*; O(log entries) and the refused ones."""
    if not entries or entries[-1][0] < size:
        return None
    for position in range(bisect_left(entries, (size, "")), len(entries)):
        entry = entries[position]
        if refused is None or not refused(entry[1]):
            return entry
    return None


def count_fits(entries: list[Entry], size: int) -> int:
    """How many entries have at least *size*; O(log entries)."""
    return len(entries) - bisect_left(entries, (size, ""))


@define(eq=False)
class LabelledVolumes:
    """Volumes for which a node needs just one label (local disks, zones)."""

    key: str
    values: dict[str, list[Entry]] = field(factory=dict)
    _largest: NumbersByLabel = field(init=False)
    """In whole bytes."""
    _uneven: set[str] = field(factory=set)
    """Values with a volume of which the bytes are not whole."""
    _counts: dict[int, NumbersByLabel] = field(factory=dict)
    """Size → how many volumes have at least that."""

    def __attrs_post_init__(self) -> None:
        self._largest = NumbersByLabel(self.key)

    def rows(self, size: int, rows: Rows, refused: Refused | None) -> Mask:
        """Rows for which there is a fit; O(rows), and O(values) if some are refused."""
        asked: Iterable[str] = self._uneven
        if refused is None:
            mask = self._largest.at_least(-(-size // _NANO), rows)
        else:
            mask, asked = np.zeros(len(rows), np.bool_), self.values
        fitting = [value for value in asked if first_fit(self.values[value], size, refused)]
        return mask | rows.table.label(self.key).mask_of(fitting, rows.index) if fitting else mask

    def count(self, size: int, rows: Rows) -> Numbers:
        """How many volumes fit, by row; O(rows), and O(values) for a size that was not asked for lately."""
        counts = self._counts.get(size)
        if counts is None:
            if len(self._counts) >= _MOST_SIZES:
                self._counts.clear()
            counts = self._counts[size] = NumbersByLabel(self.key, 0)
            for value, entries in self.values.items():
                counts.set(value, count_fits(entries, size))
        return counts.of_rows(rows)

    def change(self, value: str, entry: Entry, present: bool) -> None:
        """Add or remove a volume for nodes with that value."""
        _change_in(self.values, value, entry, present)
        entries = self.values.get(value)
        for size, counts in self._counts.items():
            counts.set(value, count_fits(entries, size) if entries else None)
        self._largest.set(value, entries[-1][0] // _NANO if entries else None)
        if entry[0] % _NANO:
            if entries and any(capacity % _NANO for capacity, _ in entries):
                self._uneven.add(value)
            else:
                self._uneven.discard(value)


@define(eq=False)
class FreeVolumes:
    """Free volumes of one class and shape, by the nodes that they can be used from."""

    everywhere: list[Entry] = field(factory=list)
    by_label: dict[str, LabelledVolumes] = field(factory=dict)
    elsewhere: dict[CompiledNodeSelector, list[Entry]] = field(factory=dict)

    def smallest(self, size: int, labels: Labels, refused: Refused | None) -> Entry | None:
        """The smallest fit for a node with these *labels*; O(keys of labels + selectors)."""
        found = (first_fit(entries, size, refused) for entries in self.within_reach(labels))
        return min((entry for entry in found if entry is not None), default=None)

    def within_reach(self, labels: Labels) -> Iterator[list[Entry]]:
        """All volumes that a node with these *labels* can use, in lists sorted by size. Not to be changed."""
        if self.everywhere:
            yield self.everywhere
        for key, labelled in self.by_label.items():
            entries = labelled.values.get(labels.get(key, ""))
            if entries and key in labels:
                yield entries
        for selector, entries in self.elsewhere.items():
            if reaches(selector, labels):
                yield entries

    def rows(self, size: int, rows: Rows, refused: Refused | None) -> Mask:
        """Rows for which there is a fit; O(rows) for each label and other selector."""
        if first_fit(self.everywhere, size, refused) is not None:
            return np.ones(len(rows), np.bool_)
        mask = np.zeros(len(rows), np.bool_)
        for labelled in self.by_label.values():
            mask |= labelled.rows(size, rows, refused)
        for selector, entries in self.elsewhere.items():
            if first_fit(entries, size, refused) is not None:
                mask |= rows_selected(selector, rows)
        return mask

    def count(self, size: int, rows: Rows) -> Numbers:
        """How many volumes fit, by row; O(rows) for each label and other selector."""
        found = np.full(len(rows), count_fits(self.everywhere, size), np.int64)
        for labelled in self.by_label.values():
            found += labelled.count(size, rows)
        for selector, entries in self.elsewhere.items():
            found += rows_selected(selector, rows) * np.int64(count_fits(entries, size))
        return found

    def change(self, selector: CompiledNodeSelector | None, entry: Entry, present: bool) -> None:
        """Add or remove a volume."""
        if selector is None:
            _change(self.everywhere, entry, present)
            return
        label = _only_label(selector)
        if label is None:
            _change_in(self.elsewhere, selector, entry, present)
            return
        key, values = label
        labelled = self.by_label.get(key)
        if labelled is None:
            labelled = self.by_label[key] = LabelledVolumes(key)
        for value in values:
            labelled.change(value, entry, present)
        if not labelled.values:
            del self.by_label[key]

    def __bool__(self) -> bool:
        return bool(self.everywhere or self.by_label or self.elsewhere)


def _only_label(selector: CompiledNodeSelector) -> tuple[str, frozenset[str]] | None:
    """Key and values, if all that a node needs is one label with one of these values."""
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
class _Place:
    """Where a volume is filed."""

    storage_class: str
    shape: Shape | None = None
    selector: CompiledNodeSelector | None = None
    entry: Entry = (0, "")
    claim_key: str = ""
    """Of the claim that it is meant for; free volumes have none."""


@define(eq=False)
class ClassVolumes:
    """Volumes of one storage class."""

    free: dict[Shape, FreeVolumes] = field(factory=dict)
    meant: dict[str, set[str]] = field(factory=dict)
    """Claim key → names of the volumes that are reserved for a claim of that name."""


_NO_VOLUMES: Final = ClassVolumes()


@define(eq=False)
class VolumeFiles:
    """All volumes as assumed, those that can be bound by class; O(log volumes) for each change."""

    objects: ObjectStore
    assumed: AssumedObjects[PersistentVolume] = field(init=False)
    _classes: dict[str, ClassVolumes] = field(factory=dict)
    _places: dict[str, _Place] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.assumed = AssumedObjects("PersistentVolume", self.objects, self._refile)

    def of_class(self, name: str) -> ClassVolumes:
        """The volumes of a class, up to date. Not to be changed."""
        self.assumed.sync()
        return self._classes.get(name, _NO_VOLUMES)

    def _refile(self, name: str) -> None:
        volume = self.assumed.get(name)
        place = None if volume is None else _place_of(volume)
        before = self._places.get(name)
        if place == before:
            return
        if before is not None:
            self._change(name, before, False)
            del self._places[name]
        if place is not None:
            self._change(name, place, True)
            self._places[name] = place

    def _change(self, name: str, place: _Place, present: bool) -> None:
        volumes = self._classes.setdefault(place.storage_class, ClassVolumes())
        if place.shape is None:
            names = volumes.meant.setdefault(place.claim_key, set())
            (names.add if present else names.discard)(name)
            if not names:
                del volumes.meant[place.claim_key]
        else:
            free = volumes.free.setdefault(place.shape, FreeVolumes())
            free.change(place.selector, place.entry, present)
            if not free:
                del volumes.free[place.shape]
        if not volumes.free and not volumes.meant:
            del self._classes[place.storage_class]


def _place_of(volume: PersistentVolume) -> _Place | None:
    """Where the volume belongs; ``None`` if no claim can be bound to it."""
    if volume.metadata.deletion_timestamp is not None:
        return None
    storage_class, reference = class_of_volume(volume), volume.spec.claim_ref
    if reference is not None:
        return _Place(storage_class, claim_key=f"{reference.namespace}/{reference.name}")
    if volume.status.phase != _AVAILABLE:
        return None
    entry = (capacity_of(volume), volume.name)
    return _Place(storage_class, shape_of(volume), selector_of(volume), entry)

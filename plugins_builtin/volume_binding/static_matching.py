"""Static matching: which existing volume an unbound claim gets on a node.

Claims are served from the smallest to the largest. Each takes the volume that is pre-bound to it, else the
smallest one that fits; there is no backtracking. Source of the rules:
k8s.io/component-helpers/storage/volume.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import is_

import numpy as np
import numpy.typing as npt
from attrs import define, frozen

from schedframe import Rows
from schedframe.api import (
    STORAGE,
    CompiledNodeSelector,
    CompiledSelector,
    PersistentVolume,
    PersistentVolumeClaim,
    compile_label_selector,
)

from .._node_selection import Mask, rows_selected
from .volumes import (
    Excluded,
    FreeVolumes,
    Labels,
    Numbers,
    Shape,
    VolumeIndex,
    capacity_of,
    mode_or_default,
    reaches,
    selector_of,
    shape_of,
)


@frozen
class PreBoundVolume:
    """A volume whose claim reference names the claim."""

    name: str
    selector: CompiledNodeSelector | None


@define(eq=False)
class ClaimMatch:
    """An unbound claim, and the volumes that match it on some node."""

    claim: PersistentVolumeClaim
    class_name: str
    size: int
    """Billionths of a byte."""
    pre_bound: tuple[PreBoundVolume, ...]
    """Sorted by name. If the node cannot use the first one, the claim gets no other volume."""
    free: tuple[FreeVolumes, ...]
    excluded: Excluded | None
    """Volumes that the selector of the claim does not match."""

    def choose(self, labels: Labels, taken: set[str]) -> str | None:
        """Return the volume that the claim gets on a node with these *labels*; ``None`` if none matches.

        Volumes in *taken* belong to other claims of the pod.
        """
        for volume in self.pre_bound:
            if volume.name not in taken:
                return volume.name if reaches(volume.selector, labels) else None
        excluded = _either(self.excluded, taken)
        smallest = [free.smallest(self.size, labels, excluded) for free in self.free]
        return min((entry for entry in smallest if entry is not None), default=(0, None))[1]

    def rows(self, rows: Rows) -> Mask:
        """Return the rows where the claim gets a volume if no other claim of the pod takes one."""
        if self.pre_bound:
            selector = self.pre_bound[0].selector
            return np.ones(len(rows), np.bool_) if selector is None else rows_selected(selector, rows)
        mask = np.zeros(len(rows), np.bool_)
        for free in self.free:
            mask |= free.rows(self.size, rows, self.excluded)
        return mask

    def keys(self) -> set[str]:
        """Return the keys of the node labels that decide."""
        selectors = [volume.selector for volume in self.pre_bound if volume.selector is not None]
        for free in self.free:
            selectors += free.by_selector
        keys = {each.key for selector in selectors for term in selector.terms for each in term.labels}
        return keys.union(*(free.by_label for free in self.free))


def _either(excluded: Excluded | None, taken: set[str]) -> Excluded | None:
    if not taken:
        return excluded
    if excluded is None:
        return taken.__contains__
    return lambda name: name in taken or excluded(name)


def match_claim(claim: PersistentVolumeClaim, index: VolumeIndex) -> ClaimMatch:
    """Return the volumes that match *claim* now; valid until a volume changes.

    O(shapes of volumes of the class). Raises :class:`InputError` for a selector that cannot be parsed.
    """
    spec, class_name = claim.spec, claim.storage_class
    amount = spec.resources.requests.get(STORAGE)
    size = 0 if amount is None else amount.nano
    mode = mode_or_default(spec.volume_mode)
    shape = Shape(mode, spec.volume_attributes_class_name or "", frozenset(spec.access_modes))
    volumes = index.of_class(class_name)
    pre_bound = (index.assumed.get(name) for name in sorted(volumes.pre_bound.get(claim.key, ())))
    return ClaimMatch(
        claim,
        class_name,
        size,
        tuple(
            PreBoundVolume(volume.name, selector_of(volume))
            for volume in pre_bound
            if volume is not None and _is_usable(volume, claim, size, shape)
        ),
        tuple(free for has, free in volumes.free.items() if has.satisfies(shape)),
        None if spec.selector is None else _excluded_by(compile_label_selector(spec.selector), index),
    )


def _is_usable(volume: PersistentVolume, claim: PersistentVolumeClaim, size: int, shape: Shape) -> bool:
    """Return whether a volume that names the claim is reserved for it, and large enough."""
    has = shape_of(volume)
    return (
        volume.is_reserved_for(claim)
        and capacity_of(volume) >= size
        and has.mode == shape.mode
        and has.attributes_class == shape.attributes_class
    )


def _excluded_by(selector: CompiledSelector, index: VolumeIndex) -> Excluded:
    def excluded(name: str) -> bool:
        volume = index.assumed.get(name)
        return volume is None or not selector.matches(volume.labels)

    return excluded


def assign_volumes(matches: Sequence[ClaimMatch], labels: Labels) -> list[str | None]:
    """Return, for each claim in order, the volume that it gets on a node with these *labels*."""
    taken: set[str] = set()
    chosen = []
    for match in matches:
        name = match.choose(labels, taken)
        if name is not None:
            taken.add(name)
        chosen.append(name)
    return chosen


def satisfiable_rows(matches: Sequence[ClaimMatch], rows: Rows) -> list[Mask]:
    """Return, for each claim, the rows where :func:`assign_volumes` gives it a volume.

    A claim without competitors in its class, and claims that differ only in size, are evaluated by columns;
    others once for each label class of nodes.
    """
    masks: list[Mask | None] = [None] * len(matches)
    for class_name in dict.fromkeys(match.class_name for match in matches):
        places = [i for i, match in enumerate(matches) if match.class_name == class_name]
        competing = [matches[i] for i in places]
        of_class = [competing[0].rows(rows)] if len(competing) == 1 else _rows_of_competing(competing, rows)
        for i, mask in zip(places, of_class, strict=True):
            masks[i] = mask
    return [mask for mask in masks if mask is not None]


def _rows_of_competing(competing: Sequence[ClaimMatch], rows: Rows) -> list[Mask]:
    if _differ_only_in_size(competing):
        return _rows_by_count(competing, rows)
    possible = np.logical_or.reduce([match.rows(rows) for match in competing])
    masks = [np.zeros(len(rows), np.bool_) for _ in competing]
    if possible.any():
        positions = possible.nonzero()[0]
        assigned = _rows_by_assignment(competing, rows.select(positions))
        for mask, assigned_mask in zip(masks, assigned, strict=True):
            mask[positions] = assigned_mask
    return masks


def _rows_by_assignment(competing: Sequence[ClaimMatch], rows: Rows) -> list[Mask]:
    keys = sorted(set().union(*(match.keys() for match in competing)))
    representatives, class_of_row = label_classes(keys, rows)
    assigned: list[list[bool]] = []
    for row in rows.positions[representatives].tolist():
        node = rows.table.node_at(row)
        labels = {} if node is None else node.labels
        assigned.append([name is not None for name in assign_volumes(competing, labels)])
    by_claim = np.array(assigned, np.bool_).T
    return [each[class_of_row] for each in by_claim]


def _differ_only_in_size(competing: Sequence[ClaimMatch]) -> bool:
    """Return whether the claims match the same volumes but for their sizes."""
    first = competing[0]
    return all(
        not match.pre_bound
        and match.excluded is None
        and len(match.free) == len(first.free)
        and all(map(is_, match.free, first.free))
        for match in competing
    )


def _rows_by_count(competing: Sequence[ClaimMatch], rows: Rows) -> list[Mask]:
    """As :func:`satisfiable_rows`, for claims that differ only in size; O(rows) for each claim and size.

    Each claim takes the smallest volume that fits. A volume that it leaves is either too small for all later
    claims or large enough for all of them. So claims 0 … n get volumes exactly if, for each claim i ≤ n, at
    least n - i + 1 volumes fit claim i.
    """
    first: dict[int, int] = {}
    for place, match in enumerate(competing):
        first.setdefault(match.size, place)
    counts = [(place, _count(competing[0].free, size, rows)) for size, place in first.items()]
    return [
        np.logical_and.reduce([fitting > place - start for start, fitting in counts if start <= place])
        for place in range(len(competing))
    ]


def _count(free: Iterable[FreeVolumes], size: int, rows: Rows) -> Numbers:
    total = np.zeros(len(rows), np.int64)
    for each in free:
        total += each.count(size, rows)
    return total


def label_classes(keys: Iterable[str], rows: Rows) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Partition *rows* by their values of the labels *keys*; O(rows log rows) for each key.

    Return the position of one row of each class, and the class of each row.
    """
    class_of_row: npt.NDArray[np.intp] = np.zeros(len(rows), np.intp)
    first: npt.NDArray[np.intp] = np.zeros(min(len(rows), 1), np.intp)
    for key in keys:
        column = rows.table.label(key)
        codes = column.codes[rows.index].astype(np.intp) + 1
        _, first, class_of_row = np.unique(
            class_of_row * (len(column.values) + 1) + codes, return_index=True, return_inverse=True
        )
    return first, class_of_row

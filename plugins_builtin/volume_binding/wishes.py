"""Claims that want a volume that is there already: which one they get on a node.

Claims are served from the smallest to the largest, and each takes the smallest volume that fits, or the one
that is meant for it. Nothing else is tried. Source of the rules: k8s.io/component-helpers/storage/volume.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import is_

import numpy as np
import numpy.typing as npt
from attrs import define, frozen

from schedframe import PersistentVolume, PersistentVolumeClaim, Rows, compile_label_selector
from schedframe.api import CompiledNodeSelector, CompiledSelector

from .._node_selection import Mask, rows_selected
from .._volumes import class_of_claim
from .assumed import is_meant_for
from .volumes import (
    STORAGE,
    FreeVolumes,
    Labels,
    Numbers,
    Refused,
    Shape,
    VolumeFiles,
    capacity_of,
    mode_or_default,
    reaches,
    selector_of,
    shape_of,
)


@frozen
class Meant:
    """A volume reserved for the claim."""

    name: str
    selector: CompiledNodeSelector | None


@define(eq=False)
class Wish:
    """A claim, and the volumes that would do if the node were right."""

    claim: PersistentVolumeClaim
    class_name: str
    size: int
    """Billionths of a byte."""
    meant: tuple[Meant, ...]
    """By name: the first one counts, and if the node cannot use it no other volume will do."""
    free: tuple[FreeVolumes, ...]
    refused: Refused | None
    """What the claim's own selector leaves out."""

    def choose(self, labels: Labels, taken: set[str]) -> str | None:
        """The volume that the claim gets on a node with these *labels*, without those *taken*."""
        for meant in self.meant:
            if meant.name not in taken:
                return meant.name if reaches(meant.selector, labels) else None
        refused = _either(self.refused, taken)
        found = [free.smallest(self.size, labels, refused) for free in self.free]
        return min((entry for entry in found if entry is not None), default=(0, None))[1]

    def rows(self, rows: Rows) -> Mask:
        """Rows for which the claim, if it is alone, gets a volume."""
        if self.meant:
            selector = self.meant[0].selector
            return np.ones(len(rows), np.bool_) if selector is None else rows_selected(selector, rows)
        mask = np.zeros(len(rows), np.bool_)
        for free in self.free:
            mask |= free.rows(self.size, rows, self.refused)
        return mask

    def keys(self) -> set[str]:
        """Labels of nodes that matter."""
        selectors = [meant.selector for meant in self.meant if meant.selector is not None]
        for free in self.free:
            selectors += free.elsewhere
        keys = {each.key for selector in selectors for term in selector.terms for each in term.labels}
        return keys.union(*(free.by_label for free in self.free))


def _either(refused: Refused | None, taken: set[str]) -> Refused | None:
    if not taken:
        return refused
    if refused is None:
        return taken.__contains__
    return lambda name: name in taken or refused(name)


def wish_of(claim: PersistentVolumeClaim, files: VolumeFiles) -> Wish:
    """What *claim* can get of the volumes as they are now; valid until one of them changes.

    O(shapes of volumes of the class). Raises :class:`InputError` for a selector that cannot be parsed.
    """
    spec, class_name = claim.spec, class_of_claim(claim)
    amount = spec.resources.requests.get(STORAGE)
    size = 0 if amount is None else amount.nano
    mode = mode_or_default(spec.volume_mode)
    shape = Shape(mode, spec.volume_attributes_class_name or "", frozenset(spec.access_modes))
    volumes = files.of_class(class_name)
    meant = (files.assumed.get(name) for name in sorted(volumes.meant.get(claim.key, ())))
    return Wish(
        claim,
        class_name,
        size,
        tuple(
            Meant(volume.name, selector_of(volume))
            for volume in meant
            if volume is not None and _suits(volume, claim, size, shape)
        ),
        tuple(free for has, free in volumes.free.items() if has.serves(shape)),
        None if spec.selector is None else _outside(compile_label_selector(spec.selector), files),
    )


def _suits(volume: PersistentVolume, claim: PersistentVolumeClaim, size: int, shape: Shape) -> bool:
    """Whether a volume that names the claim is really its own, and good enough."""
    has = shape_of(volume)
    return (
        is_meant_for(volume, claim)
        and capacity_of(volume) >= size
        and has.mode == shape.mode
        and has.attributes_class == shape.attributes_class
    )


def _outside(selector: CompiledSelector, files: VolumeFiles) -> Refused:
    def refused(name: str) -> bool:
        volume = files.assumed.get(name)
        return volume is None or not selector.matches(volume.labels)

    return refused


def choose_all(wishes: Sequence[Wish], labels: Labels) -> list[str | None]:
    """For each wish, in order, the volume that it gets on a node with these *labels*."""
    taken: set[str] = set()
    chosen = []
    for wish in wishes:
        name = wish.choose(labels, taken)
        if name is not None:
            taken.add(name)
        chosen.append(name)
    return chosen


def granted(wishes: Sequence[Wish], rows: Rows) -> list[Mask]:
    """For each wish the rows for which it gets a volume, as :func:`choose_all` says.

    Claims that are alone in their class, or differ from the others in size alone, are decided by columns;
    others once for each set of labels that matters to them.
    """
    masks: list[Mask | None] = [None] * len(wishes)
    for class_name in dict.fromkeys(wish.class_name for wish in wishes):
        places = [i for i, wish in enumerate(wishes) if wish.class_name == class_name]
        rivals = [wishes[i] for i in places]
        found = [rivals[0].rows(rows)] if len(rivals) == 1 else _contested(rivals, rows)
        for i, mask in zip(places, found, strict=True):
            masks[i] = mask
    return [mask for mask in masks if mask is not None]


def _contested(rivals: Sequence[Wish], rows: Rows) -> list[Mask]:
    if _are_alike(rivals):
        return _granted_alike(rivals, rows)
    possible = np.logical_or.reduce([wish.rows(rows) for wish in rivals])
    found = [np.zeros(len(rows), np.bool_) for _ in rivals]
    if possible.any():
        positions = possible.nonzero()[0]
        for mask, some in zip(found, _shared_out(rivals, rows.select(positions)), strict=True):
            mask[positions] = some
    return found


def _shared_out(rivals: Sequence[Wish], rows: Rows) -> list[Mask]:
    keys = sorted(set().union(*(wish.keys() for wish in rivals)))
    kinds, of_row = kinds_of_rows(keys, rows)
    decided: list[list[bool]] = []
    for row in rows.positions[kinds].tolist():
        node = rows.table.node_at(row)
        labels = {} if node is None else node.labels
        decided.append([name is not None for name in choose_all(rivals, labels)])
    by_rival = np.array(decided, np.bool_).T
    return [each[of_row] for each in by_rival]


def _are_alike(rivals: Sequence[Wish]) -> bool:
    """Whether the claims differ only in size."""
    first = rivals[0]
    return all(
        not wish.meant
        and wish.refused is None
        and len(wish.free) == len(first.free)
        and all(map(is_, wish.free, first.free))
        for wish in rivals
    )


def _granted_alike(rivals: Sequence[Wish], rows: Rows) -> list[Mask]:
    """As :func:`granted` for such claims; O(rows) for each pair of claim and size.

    Each claim takes the smallest volume that fits, so whatever it leaves behind is too small for those after
    it, or large enough for them all. The claims up to one get their volumes where, from each of them on,
    there are as many volumes that fit it as claims.
    """
    first: dict[int, int] = {}
    for place, wish in enumerate(rivals):
        first.setdefault(wish.size, place)
    counts = [(place, _count(rivals[0].free, size, rows)) for size, place in first.items()]
    return [
        np.logical_and.reduce([fitting > place - start for start, fitting in counts if start <= place])
        for place in range(len(rivals))
    ]


def _count(free: Iterable[FreeVolumes], size: int, rows: Rows) -> Numbers:
    found = np.zeros(len(rows), np.int64)
    for each in free:
        found += each.count(size, rows)
    return found


def kinds_of_rows(keys: Iterable[str], rows: Rows) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows that agree in the labels of *keys* are of one kind: a row of each kind, and each row's kind."""
    kind: npt.NDArray[np.intp] = np.zeros(len(rows), np.intp)
    first: npt.NDArray[np.intp] = np.zeros(min(len(rows), 1), np.intp)
    for key in keys:
        column = rows.table.label(key)
        codes = column.codes[rows.index].astype(np.intp) + 1
        _, first, kind = np.unique(
            kind * (len(column.values) + 1) + codes, return_index=True, return_inverse=True
        )
    return first, kind

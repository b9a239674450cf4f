"""Index of container images: which rows have them, and their sizes.

A node has some 80 image names, so an entry "this row has this image" must be small: rows are sorted arrays
of 4 bytes a row. A set of Python takes 50 to 75 bytes a row, more than all else that is kept of a node.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
from attrs import field

from .._base.value import record
from ..api import Node
from .read_only import read_only

Mask = npt.NDArray[np.bool_]


@record(eq=False)
class ImageState:
    """One image name: its size in bytes, from the first node that listed it, and the rows that have it."""

    size: int
    _rows: array[int] = field(factory=lambda: array("I"), init=False)
    """Sorted."""
    _mask: Mask | None = field(default=None, init=False)

    @property
    def num_nodes(self) -> int:
        """Number of nodes with the image."""
        return len(self._rows)

    @property
    def rows(self) -> set[int]:
        """The rows that have the image; O(rows)."""
        return set(self._rows)

    def has(self, row: int) -> bool:
        """Return whether *row* has the image; O(log rows)."""
        place = bisect_left(self._rows, row)
        return place < len(self._rows) and self._rows[place] == row

    def present(self, capacity: int) -> Mask:
        """Return per row whether it has the image, bool of shape ``(capacity,)``, read-only.

        Made at first use and kept in step from then on; O(1), but O(rows) at first use and after growth.
        """
        mask = self._mask
        if mask is None or len(mask) < capacity:
            mask = self._mask = np.zeros(capacity, np.bool_)
            mask[np.frombuffer(self._rows, np.uintc)] = True
        return read_only(mask)

    def mark(self, row: int, present: bool) -> None:
        """Record whether *row* has the image; O(log rows), and 4 bytes are moved for each row above *row*."""
        rows = self._rows
        place = bisect_left(rows, row)
        had = place < len(rows) and rows[place] == row
        if had == present:
            return
        if present:
            rows.insert(place, row)
        else:
            del rows[place]
        mask = self._mask
        if mask is not None:
            if row < len(mask):
                mask[row] = present
            else:
                self._mask = None


NO_IMAGES: Final[Mapping[str, ImageState]] = {}


@record(eq=False)
class ImageIndex:
    """Image name → :class:`ImageState` over all nodes; O(names of the node) per node change."""

    version: int = 0
    """Changes whenever any entry does."""
    _states: dict[str, ImageState] = field(factory=dict)

    def get(self, name: str) -> ImageState | None:
        """Return the state of image *name*, ``None`` if no node has it."""
        return self._states.get(name)

    def copied(self) -> ImageIndex:
        """Return an independent copy; O(names), and 4 bytes are copied for each entry."""
        copy = ImageIndex()
        for name, state in self._states.items():
            mine = copy._states[name] = ImageState(state.size)
            mine._rows = state._rows[:]
        return copy

    def sizes(self) -> dict[str, int]:
        """Return the size of each image."""
        return {name: state.size for name, state in self._states.items()}

    def set_sizes(self, sizes: Mapping[str, int]) -> None:
        """Let the images that are there have *sizes*, those of the nodes that listed them first."""
        for name, size in sizes.items():
            self._states[name].size = size

    def states_of(self, node: Node) -> dict[str, ImageState]:
        """Return the entries of the images of *node*, for :meth:`add` after they are gone; O(names)."""
        states = self._states
        return {name: states[name] for name, _ in _names(node)}

    def add(self, row: int, node: Node, former: Mapping[str, ImageState] = NO_IMAGES) -> None:
        """Count the images of *node*. *former*: entries that come back in place of new ones."""
        for name, size in _names(node):
            state = self._states.get(name)
            if state is None:
                state = self._states[name] = former.get(name) or ImageState(size)
            state.mark(row, True)
            self.version += 1

    def remove(self, row: int, node: Node) -> None:
        """Undo :meth:`add`."""
        for name, _ in _names(node):
            state = self._states.get(name)
            if state is not None:
                state.mark(row, False)
                self.version += 1
                if not state.num_nodes:
                    del self._states[name]

    def __len__(self) -> int:
        return len(self._states)


def _names(node: Node) -> Iterable[tuple[str, int]]:
    for image in node.status.images:
        for name in image.names:
            yield name, image.size_bytes

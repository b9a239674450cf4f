"""Index of container images: which rows have them, and their sizes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from attrs import define, field

from .._brief import brief_repr
from ..api import Node
from .read_only import read_only

Mask = npt.NDArray[np.bool_]


@brief_repr
@define(eq=False)
class ImageState:
    """One image name: its size in bytes, from the first node that listed it, and the rows that have it."""

    size: int
    rows: set[int] = field(factory=set)
    _mask: Mask | None = None

    @property
    def num_nodes(self) -> int:
        """Number of nodes with the image."""
        return len(self.rows)

    def present(self, capacity: int) -> Mask:
        """Return per row whether it has the image, bool of shape ``(capacity,)``, read-only.

        Made at first use and kept in step from then on; O(1), but O(rows) at first use and after growth.
        """
        mask = self._mask
        if mask is None or len(mask) < capacity:
            mask = self._mask = np.zeros(capacity, np.bool_)
            mask[list(self.rows)] = True
        return read_only(mask)

    def mark(self, row: int, present: bool) -> None:
        """Record whether *row* has the image."""
        if present:
            self.rows.add(row)
        else:
            self.rows.discard(row)
        mask = self._mask
        if mask is not None:
            if row < len(mask):
                mask[row] = present
            else:
                self._mask = None


@brief_repr
@define(eq=False)
class ImageIndex:
    """Image name → :class:`ImageState` over all nodes; O(names of the node) per node change."""

    version: int = 0
    """Changes whenever any entry does."""
    _states: dict[str, ImageState] = field(factory=dict)

    def get(self, name: str) -> ImageState | None:
        """Return the state of image *name*, ``None`` if no node has it."""
        return self._states.get(name)

    def add(self, row: int, node: Node) -> None:
        """Count the images of *node*."""
        for name, size in _names(node):
            state = self._states.get(name)
            if state is None:
                state = self._states[name] = ImageState(size)
            state.mark(row, True)
            self.version += 1

    def remove(self, row: int, node: Node) -> None:
        """Undo :meth:`add`."""
        for name, _ in _names(node):
            state = self._states.get(name)
            if state is not None:
                state.mark(row, False)
                self.version += 1
                if not state.rows:
                    del self._states[name]

    def __len__(self) -> int:
        return len(self._states)


def _names(node: Node) -> Iterable[tuple[str, int]]:
    for image in node.status.images:
        for name in image.names:
            yield name, image.size_bytes

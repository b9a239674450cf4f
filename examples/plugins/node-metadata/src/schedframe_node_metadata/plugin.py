"""NodeMetadata: score nodes by the number or time in a label or annotation."""

from __future__ import annotations

from collections.abc import Hashable
from math import ceil, floor, isfinite
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import MAX_SCORE, MIN_SCORE, Depends, Node, NodeInfo, Pod, Rows, hookimpl

from .args import ANNOTATION, LOWEST, NUMBER, OLDEST, NodeMetadataArgs
from .layout import seconds

Ints = npt.NDArray[np.int64]
INVALID: Final = np.iinfo(np.int64).min
"""Raw score of a node without the key, or whose value cannot be read."""
_LARGEST: Final = 10**16
"""Absolute value to which numbers are clipped, so that normalization fits into 64 bits."""


@define(eq=False)
class NodeMetadata:
    """Read one label or annotation of each node; a node without a valid value scores 0."""

    args: NodeMetadataArgs

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return a constant: the score does not depend on the pod."""
        return ()

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        """Return the value as a number, negated if lower is better; ``INVALID`` without one."""
        text = self._text(node_info.node)
        return INVALID if text is None else self._raw(text)

    @hookimpl
    def score_rows(self, rows: Rows) -> Ints:
        """As :meth:`score`, evaluated once for each distinct text; O(rows)."""
        source, key = self.args.metadata_source, self.args.metadata_key
        column = rows.table.distinct((NodeMetadata, source, key), self._text)
        table = column.answers((NodeMetadata, self.args), self._raw, INVALID, np.int64)
        return column.take(table, rows.index)

    @hookimpl
    def normalize_scores(self, scores: Ints) -> None:
        """Stretch valid scores to 1…100; invalid ones become 0."""
        valid = scores != INVALID
        if valid.any():
            raw = scores[valid]
            lowest, lowest_score = raw.min(), MIN_SCORE + 1
            spread = int(raw.max() - lowest)
            steps = (raw - lowest) * (MAX_SCORE - lowest_score) // spread if spread else raw - lowest
            scores[valid] = lowest_score + steps
        scores[~valid] = MIN_SCORE

    def _text(self, node: Node) -> str | None:
        metadata = node.metadata
        values = metadata.annotations if self.args.metadata_source == ANNOTATION else metadata.labels
        return values.get(self.args.metadata_key)

    def _raw(self, text: str) -> int:
        value = (
            _number(text) if self.args.metadata_type == NUMBER else seconds(text, self.args.timestamp_format)
        )
        if value is None:
            return INVALID
        return -value if self.args.scoring_strategy in (LOWEST, OLDEST) else value


def _number(text: str) -> int | None:
    """Return the nearest integer, halves rounded away from zero; ``None`` if *text* is no finite number."""
    try:
        value = float(text)
    except ValueError:
        return None
    if not isfinite(value):
        return None
    nearest = floor(value + 0.5) if value >= 0 else ceil(value - 0.5)
    return max(-_LARGEST, min(nearest, _LARGEST))

"""NodeMetadata: the better the number or the time in a label or annotation, the higher the score."""

from __future__ import annotations

from collections.abc import Hashable
from math import ceil, floor, isfinite
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define

from schedframe import MAX_SCORE, MIN_SCORE, Node, NodeInfo, Pod, Rows, hookimpl

from .args import ANNOTATION, LOWEST, NUMBER, OLDEST, NodeMetadataArgs
from .layout import seconds

Ints = npt.NDArray[np.int64]
INVALID: Final = np.iinfo(np.int64).min
"""Raw score of a node without the key, or whose value cannot be read."""
_LARGEST: Final = 10**16
"""Numbers beyond count as this, so that scores can be computed in 64 bits."""


@define(eq=False)
class NodeMetadata:
    """Reads one label or annotation of each node; a node that has none it can read scores 0."""

    args: NodeMetadataArgs

    row_local: ClassVar[bool] = True
    node_only: ClassVar[bool] = True

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """The pod plays no role."""
        return ()

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        """What is written there, as a number of which more is better."""
        text = None if node_info.node is None else self._text(node_info.node)
        return INVALID if text is None else self._raw(text)

    @hookimpl
    def score_rows(self, rows: Rows) -> Ints:
        """The same for many rows: each distinct text is read once; O(rows)."""
        source, key = self.args.metadata_source, self.args.metadata_key
        column = rows.table.distinct((NodeMetadata, source, key), self._text)
        table = column.answers((NodeMetadata, self.args), self._raw, INVALID, np.int64)
        return column.take(table, rows.index)

    @hookimpl
    def normalize_scores(self, scores: Ints) -> None:
        """From 1, for the worst that can be read, to 100; 0 is for what cannot be read."""
        valid = scores != INVALID
        if valid.any():
            found = scores[valid]
            lowest, lowest_score = found.min(), MIN_SCORE + 1
            spread = int(found.max() - lowest)
            steps = (found - lowest) * (MAX_SCORE - lowest_score) // spread if spread else found - lowest
            scores[valid] = lowest_score + steps
        scores[~valid] = MIN_SCORE

    def _text(self, node: Node) -> str | None:
        metadata = node.metadata
        found = metadata.annotations if self.args.metadata_source == ANNOTATION else metadata.labels
        return found.get(self.args.metadata_key)

    def _raw(self, text: str) -> int:
        read = (
            _number(text) if self.args.metadata_type == NUMBER else seconds(text, self.args.timestamp_format)
        )
        if read is None:
            return INVALID
        return -read if self.args.scoring_strategy in (LOWEST, OLDEST) else read


def _number(text: str) -> int | None:
    """The nearest integer, halves away from zero."""
    try:
        value = float(text)
    except ValueError:
        return None
    if not isfinite(value):
        return None
    nearest = floor(value + 0.5) if value >= 0 else ceil(value - 0.5)
    return max(-_LARGEST, min(nearest, _LARGEST))

"""Taints over columns: tolerations are evaluated once for each distinct list of taints."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from schedframe import Node, NodeTable, PodSpec, Rows, Taint
from schedframe.api import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, find_untolerated_taint
from schedframe.state import DictionaryColumn

Taints: TypeAlias = tuple[Taint, ...]
TolerationSignature: TypeAlias = tuple[tuple[str, str, str, str], ...]

HARD_EFFECTS: Final = (NO_SCHEDULE, NO_EXECUTE)
"""Effects that make a node infeasible."""

_COLUMN: Final = "taints"
_SIGNATURE: Final = object()  # key in PodSpec.memo


def toleration_signature(spec: PodSpec) -> TolerationSignature:
    """Return key, operator, value and effect of each toleration, in order; cached on *spec*.

    Specs with equal signatures tolerate the same taints; the duration of a toleration does not matter.
    """
    if not spec.tolerations:
        return ()
    memo = spec.memo
    signature: TolerationSignature | None = memo.get(_SIGNATURE)
    if signature is None:
        signature = memo[_SIGNATURE] = tuple(
            (each.key, each.operator or "Equal", each.value, each.effect) for each in spec.tolerations
        )
    return signature


def taints_of_nodes(table: NodeTable) -> DictionaryColumn[Taints]:
    """Return the column of the taints of each node, in order, without the time of their addition."""
    return table.distinct(_COLUMN, _taints_of, table.tainted)


def untolerated_rows(spec: PodSpec, rows: Rows) -> npt.NDArray[np.bool_] | None:
    """Return the rows with a NoSchedule or NoExecute taint that *spec* does not tolerate.

    ``None`` if there are none. O(rows), and O(1) if *spec* tolerates all taints of the cluster.
    """
    column = taints_of_nodes(rows.table)
    if not column.values:
        return None
    tolerations = spec.tolerations
    rejected = column.answers(
        ("hard", toleration_signature(spec)),
        lambda taints: find_untolerated_taint(taints, tolerations, HARD_EFFECTS) is not None,
        False,
    )
    if not rejected.any():
        return None
    mask: npt.NDArray[np.bool_] = column.take(rejected, rows.index)
    return mask if mask.any() else None


def untolerated_soft_taints(spec: PodSpec, rows: Rows) -> npt.NDArray[np.int64]:
    """Return the number of PreferNoSchedule taints per row that *spec* does not tolerate; O(rows).

    The array is fresh.
    """
    column = taints_of_nodes(rows.table)
    if not column.values:
        return np.zeros(len(rows), np.int64)
    counts = column.answers(
        ("soft", toleration_signature(spec)), lambda taints: count_untolerated(taints, spec), 0, np.int64
    )
    return column.take(counts, rows.index) if counts.any() else np.zeros(len(rows), np.int64)


def count_untolerated(taints: Taints, spec: PodSpec) -> int:
    """Return how many PreferNoSchedule *taints* no toleration of *spec* covers."""
    return sum(
        1
        for taint in taints
        if taint.effect == PREFER_NO_SCHEDULE
        and not any(toleration.tolerates(taint) for toleration in spec.tolerations)
    )


def _taints_of(node: Node) -> Taints | None:
    # Without the time of their addition, so that nodes tainted one after another share a value.
    return tuple([Taint(t.key, t.value, t.effect) for t in node.spec.taints]) or None

"""ScheduleAnyway constraints: fewer matching pods in the domains of a node score higher.

Source of the formulas: kube-scheduler's podtopologyspread/scoring.go. Floating-point operations are in its
order. The forms per node, by rows and by group return equal scores.
"""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import MAX_SCORE, Node, NodeInfo, NodeTable, Rows
from schedframe.state import DictionaryColumn, Domains

from .._matching_pods import count_on
from .._policy import DOMAIN_PREFIX_ROWS, MAX_LIST_LENGTH
from .constraints import Constraint, Constraints, nodes_with_keys

HOSTNAME: Final = "kubernetes.io/hostname"
"""Each node is taken for a domain of this key, so its pods are counted on the node itself."""

Scores: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

_INT32_END: Final = 2**31
_NO_COUNTS: Final = np.empty(0, np.int64)


@define(eq=False)
class ScoreTerm:
    """The part of one constraint in the score of a node."""

    constraint: Constraint
    labels: DictionaryColumn[str]
    weight: float
    """Logarithm of the number of domains, so that few large domains count beside many small ones."""
    surplus: float
    """``max_skew - 1``, so that differences within the allowed skew matter less."""
    counts: Scores
    """Matching pods by code of the label; empty for :data:`HOSTNAME`."""
    _per_code: Floats | None = field(default=None, init=False)

    @property
    def per_code(self) -> Floats:
        """The term by code of the label; the last is 0, for nodes without it."""
        if self._per_code is None:
            size = len(self.counts)
            self._per_code = np.zeros(size + 1)
            np.multiply(self.counts, self.weight, out=self._per_code[:size])
            self._per_code[:size] += self.surplus
        return self._per_code

    @property
    def is_per_node(self) -> bool:
        """Return whether each node is a domain."""
        return self.constraint.topology_key == HOSTNAME

    def of(self, info: NodeInfo, table: NodeTable) -> float:
        """Return the term of one node; 0 without the label."""
        value = info.labels.get(self.constraint.topology_key)
        if value is None:
            return 0.0
        if self.is_per_node:
            count = count_on(info, table, self.constraint.namespace, self.constraint.selector)
            return self.of_count(count)
        code = self.labels.code_of(value)
        # A node that an extender sent back may have a value that no node of the table has.
        return self.of_count(self.counts.item(code) if 0 <= code < len(self.counts) else 0)

    def of_count(self, count: int) -> float:
        """Return the term of a domain with *count* matching pods."""
        return float(count) * self.weight + self.surplus

    def of_rows(self, rows: Rows) -> Floats:
        """As :meth:`of` for many rows; O(rows)."""
        if not self.is_per_node:
            return self.labels.take(self.per_code, rows.index)
        counts = rows.take(self.constraint.column(rows.table).counts)
        terms = counts.astype(np.float64)
        terms *= self.weight
        terms += self.surplus
        if len(rows) and not _all_nodes_labelled(self.constraint.topology_key, rows.table):
            terms[rows.take(self.labels.codes) < 0] = 0.0
        return terms


@define(eq=False)
class ScoreState:
    """The ScheduleAnyway constraints of a pod, as pre_score weighed them. Immutable but for a cache."""

    terms: tuple[ScoreTerm, ...]
    all_keys: bool
    """Whether nodes that lack a topology key are ignored, which means a score of 0."""
    table: NodeTable
    """Where pods are counted. Rows of other tables are nodes that an extender sent back."""
    _zero_or_large: bool = field(init=False)  # every sum is 0 or at least log(2)
    _raw: Scores | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        # Only a max_skew below 1 makes a negative term.
        self._zero_or_large = all(term.surplus >= 0 for term in self.terms)

    @classmethod
    def of(cls, constraints: Constraints, feasible: Rows, all_keys: bool, table: NodeTable) -> ScoreState:
        """Weigh the constraints by the number of domains of the *feasible* rows; count pods in *table*.

        O(domains) for each constraint if all nodes are feasible, else O(rows).
        """
        keys: tuple[str, ...] = ()
        if all_keys:
            first = constraints[0].topology_key
            keys = (first,) if len(constraints) == 1 else tuple(sorted({c.topology_key for c in constraints}))
        return cls(tuple(_term(each, feasible, keys, table) for each in constraints), all_keys, table)

    def score(self, info: NodeInfo, table: NodeTable) -> int:
        """Return the sum of the terms, rounded half away from zero; 0 for an ignored node."""
        if not info.has_node or self._ignores(info.node):
            return 0
        total = 0.0
        for term in self.terms:
            total += term.of(info, table)
        return _round_one(total)

    def score_rows(self, rows: Rows) -> Scores:
        """As :meth:`score` for many rows; O(rows)."""
        first = self.terms[0]
        # One term on domains: a table of scores by code replaces the arithmetic for each row.
        if len(self.terms) == 1 and not first.is_per_node:
            scores: Scores = first.labels.take(self._raw_by_code(), rows.index)
            return scores
        total = first.of_rows(rows)
        for term in self.terms[1:]:
            total += term.of_rows(rows)
        scores = _round(total, self._zero_or_large)
        ignored = self.ignored(rows)
        if ignored is not None:
            scores[ignored] = 0
        return scores

    def group_columns(self, table: NodeTable) -> tuple[npt.NDArray[Any], ...] | None:
        """Return, for each term, a column of group numbers that decide it; ``None`` if a term has none."""
        columns: list[npt.NDArray[Any]] = []
        for term in self.terms:
            if not term.is_per_node:
                columns.append(term.labels.codes)
            elif _all_nodes_labelled(term.constraint.topology_key, table):
                columns.append(term.constraint.column(table).counts)
            else:
                return None
        return tuple(columns)

    def scores_of_groups(self, keys: list[tuple[int, ...]]) -> list[int]:
        """Return normalized scores of groups; *keys* are all groups that occur."""
        raw = [self._raw_of_group(key) for key in keys]
        counted = [score for score in raw if score is not None]
        scores = _reversed_list([score or 0 for score in raw], counted)
        if len(counted) == len(raw):
            return scores
        return [0 if score is None else scaled for score, scaled in zip(raw, scores, strict=True)]

    def _raw_of_group(self, key: tuple[int, ...]) -> int | None:
        """Return the raw score of a group; ``None`` if its nodes are ignored."""
        total = 0.0
        for term, code in zip(self.terms, key, strict=True):
            if term.is_per_node:
                total += term.of_count(code)
            elif code >= 0:
                total += term.of_count(term.counts.item(code))
            elif self.all_keys:
                return None
        return _round_one(total)

    def normalize(self, scores: Scores, rows: Rows) -> None:
        """Scale *scores* to 0…100 in place, the lowest raw score to the highest; ignored rows to 0."""
        by_code = self._normalized_codes(rows)
        if by_code is not None:
            self.terms[0].labels.take(by_code, rows.index, scores)
            return
        ignored = self.ignored(rows)
        counted = scores if ignored is None else scores[~ignored]
        if len(counted):
            # The reference starts its search for the highest at 0, for the lowest at the largest int64.
            lowest, highest = int(counted.min()), max(int(counted.max()), 0)
            if highest == 0:
                scores[:] = MAX_SCORE
            else:
                scores[:] = _reversed(scores, lowest, highest)
        if ignored is not None:
            scores[ignored] = 0

    def _raw_by_code(self) -> Scores:
        """Return the raw score by code of the label, the last for nodes without it; for a single term."""
        if self._raw is None:
            self._raw = _round(self.terms[0].per_code, self._zero_or_large)
        return self._raw

    def _normalized_codes(self, rows: Rows) -> Scores | None:
        """Return normalized scores by code of the label, the last for nodes without it; O(domains).

        Only for a single term on domains and all nodes of the table; else ``None``.
        """
        first, table = self.terms[0], self.table
        # Nodes that an extender sent back may carry labels for which the table has no code.
        if rows.table is not table:
            return None
        if len(self.terms) > 1 or first.is_per_node or len(rows) != table.num_nodes:
            return None
        domains = table.label_groups.domains(first.constraint.topology_key)
        raw = self._raw_by_code()
        nodes = domains.nodes[: len(raw) - 1]
        lacking = domains.total < table.num_nodes and not self.all_keys
        if len(raw) <= MAX_LIST_LENGTH:
            normalized = _normalized_list(raw.tolist(), nodes.tolist(), lacking)
        else:
            counted = raw[:-1][nodes > 0]
            normalized = _normalized_array(raw, np.append(counted, raw[-1]) if lacking else counted)
        if self.all_keys:
            normalized[-1] = 0
        return normalized

    def ignored(self, rows: Rows) -> npt.NDArray[np.bool_] | None:
        """Return the rows that are ignored for lack of a topology key; ``None`` if there are none."""
        if not self.all_keys:
            return None
        if rows.table is not self.table:
            return np.array([self._ignores(info.node) for info in rows], np.bool_)
        mask: npt.NDArray[np.bool_] | None = None
        for term in self.terms:
            if not _all_nodes_labelled(term.constraint.topology_key, rows.table):
                lacking = rows.take(term.labels.codes) < 0
                mask = lacking if mask is None else mask | lacking
        return mask

    def _ignores(self, node: Node) -> bool:
        return self.all_keys and not all(term.constraint.topology_key in node.labels for term in self.terms)


def _term(constraint: Constraint, feasible: Rows, keys: tuple[str, ...], table: NodeTable) -> ScoreTerm:
    """Weigh one constraint; *keys* are those that a node must have to be scored."""
    key = constraint.topology_key
    surplus = float(constraint.max_skew - 1)
    sent_back = feasible.table is not table
    if key == HOSTNAME:
        size = _size_of_nodes(feasible, key, keys) if sent_back else _scored_rows(feasible, key, keys)
        weight = _weight(size)
        return ScoreTerm(constraint, table.label(key), weight, surplus, _NO_COUNTS)
    sums = constraint.column(table).by_domain(key, constraint.subset)
    same_nodes = constraint.subset is None and len(keys) < 2
    domains = sums.domains if same_nodes else table.label_groups.domains(key, nodes_with_keys(key, keys))
    labels = domains.labels
    size = _size_of_nodes(feasible, key, keys) if sent_back else _domains_of_rows(feasible, domains, not keys)
    weight = _weight(size)
    counts = sums.sums[: len(labels.values)].copy()
    empty = labels.code_of("") if not keys else -1
    if empty >= 0:
        # Nodes without the label are in the domain of the empty value, as in the reference.
        counts[empty] += _unlabelled_pods(constraint, table)
    return ScoreTerm(constraint, labels, weight, surplus, counts)


def _weight(domains: int) -> float:
    return math.log(float(domains + 2))


def _scored_rows(feasible: Rows, key: str, keys: tuple[str, ...]) -> int:
    """Return the number of rows that have all *keys*."""
    table = feasible.table
    domains = table.label_groups.domains(key, nodes_with_keys(key, keys))
    # The first two answers need no look at the rows: they are exact for clusters labelled throughout.
    if not keys or domains.total == table.num_nodes:
        return len(feasible)
    if len(feasible) == table.num_nodes:
        return domains.total
    return int(np.count_nonzero(feasible.take(domains.codes) >= 0))


def _domains_of_rows(feasible: Rows, domains: Domains, any_node: bool) -> int:
    """Return the number of *domains* that the rows are in.

    With *any_node*, nodes without the label are in the domain of the value "".
    """
    table = feasible.table
    unlabelled = any_node and domains.total < table.num_nodes
    if len(feasible) == table.num_nodes:
        return domains.count + (unlabelled and not _has_value(domains.nodes, domains.labels.code_of("")))
    codes = feasible.take(domains.codes)
    if not unlabelled:
        # Most often the first rows are in all domains there are.
        prefix = codes[:DOMAIN_PREFIX_ROWS]
        if np.count_nonzero(np.bincount(prefix + 1)[1:]) == domains.count:
            return domains.count
    present = np.bincount(codes + 1, minlength=1)
    number = int(np.count_nonzero(present[1:]))
    if unlabelled and present[0]:
        code = domains.labels.code_of("")
        number += not (0 <= code < len(present) - 1 and present[code + 1])
    return number


def _size_of_nodes(nodes: Rows, key: str, keys: tuple[str, ...]) -> int:
    """As :func:`_scored_rows` or :func:`_domains_of_rows`, for nodes that an extender sent back."""
    scored = [info.labels for info in nodes if all(each in info.labels for each in keys)]
    return len(scored) if key == HOSTNAME else len({labels.get(key, "") for labels in scored})


def _has_value(nodes: npt.NDArray[np.int64], code: int) -> bool:
    return code >= 0 and bool(nodes[code])


def _unlabelled_pods(constraint: Constraint, table: NodeTable) -> int:
    """Return the number of matching pods on counting nodes without the label."""
    rows = table.rows()
    lacking = rows.take(table.label(constraint.topology_key).codes) < 0
    if constraint.subset is not None:
        lacking &= constraint.subset.mask(rows)
    return int(rows.take(constraint.column(table).counts)[lacking].sum())


def _all_nodes_labelled(key: str, table: NodeTable) -> bool:
    """Return whether every node has the label."""
    return table.label_groups.domains(key).total == table.num_nodes


def _round(values: Floats, zero_or_large: bool) -> Scores:
    """Round half away from zero, as Go's math.Round, values far below 2**52.

    *zero_or_large*: all values are 0 or at least one half, so adding one half and truncating is exact.
    """
    if zero_or_large:
        return (values + 0.5).astype(np.int64)
    whole = np.trunc(values)
    whole += np.copysign(np.abs(values - whole) >= 0.5, values)
    return whole.astype(np.int64)


def _round_one(value: float) -> int:
    """As :func:`_round`, for one value."""
    whole = math.trunc(value)
    return whole + int(math.copysign(1.0, value)) if abs(value - whole) >= 0.5 else whole


def _normalized_list(raw: list[int], nodes: list[int], lacking: bool) -> Scores:
    """As :func:`_normalized_array`, for short lists.

    *nodes* has the number of nodes by code; with *lacking* the last score, of nodes without the label,
    counts.
    """
    counted = [score for score, number in zip(raw, nodes, strict=False) if number]
    if lacking:
        counted.append(raw[-1])
    return np.array(_reversed_list(raw, counted), np.int64)


def _reversed_list(raw: list[int], counted: list[int]) -> list[int]:
    """As :func:`_reversed`, for a list, by the lowest and the highest of the scores in *counted*."""
    lowest, highest = min(counted, default=0), max(counted, default=0)
    if highest <= 0:
        return [MAX_SCORE] * len(raw)
    scaled = [MAX_SCORE * (highest + lowest - score) for score in raw]
    return [n // highest if n >= 0 else -(-n // highest) for n in scaled]


def _normalized_array(raw: Scores, counted: Scores) -> Scores:
    """Return the normalized scores by code; *counted* are the scores of the nodes."""
    lowest, highest = int(counted.min(initial=_INT32_END)), int(counted.max(initial=0))
    if highest <= 0:
        return np.full(len(raw), MAX_SCORE, np.int64)
    return _reversed(raw, lowest, highest).astype(np.int64)


def _reversed(scores: Scores, lowest: int, highest: int) -> npt.NDArray[Any]:
    """Return ``100 * (highest + lowest - score) / highest``, truncated as in Go; *highest* is positive.

    Scores are from *lowest* to *highest*, or 0.
    """
    small = 2 * MAX_SCORE * max(highest, -lowest) < _INT32_END
    # Division dominates the time, and takes a third of it for int32.
    scaled: npt.NDArray[Any] = scores.astype(np.int32) if small else scores.copy()
    np.subtract(highest + lowest, scaled, out=scaled)
    scaled *= MAX_SCORE
    if lowest < 0:
        scaled[:] = np.sign(scaled) * (np.abs(scaled) // highest)
    else:
        np.floor_divide(scaled, highest, out=scaled)
    return scaled

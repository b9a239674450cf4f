"""The fewer matching pods a node's domains have, the better: what score and its normalisation compute.

Source of the formulas: kube-scheduler's podtopologyspread/scoring.go; float operations are in its order.
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
from .constraints import Constraint, Constraints, keyed_nodes

HOSTNAME: Final = "kubernetes.io/hostname"
"""Domains of this key are taken to be single nodes: their pods are counted on the node itself."""

Scores: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

_INT32_END: Final = 2**31
_FEW_CODES: Final = 32
"""Up to so many numbers cost less in plain Python than the calls to have arrays of them worked on."""
_NO_COUNTS: Final = np.empty(0, np.int64)
_PREFIX: Final = 256
"""Rows among which each domain is likely to show up."""


@define(eq=False)
class Term:
    """What one constraint adds to the score of a node."""

    constraint: Constraint
    labels: DictionaryColumn[str]
    weight: float
    """The logarithm of the number of domains: few large domains are not drowned by many small ones."""
    surplus: float
    """``max_skew - 1``: differences within the tolerated skew should not matter much."""
    counts: Scores
    """Matching pods per code of the label. Empty for :data:`HOSTNAME`."""
    _per_code: Floats | None = field(default=None, init=False)

    @property
    def per_code(self) -> Floats:
        """The term per code of the label, and at the end 0 for nodes without it."""
        if self._per_code is None:
            size = len(self.counts)
            self._per_code = np.zeros(size + 1)
            np.multiply(self.counts, self.weight, out=self._per_code[:size])
            self._per_code[:size] += self.surplus
        return self._per_code

    @property
    def is_per_node(self) -> bool:
        """Whether the pods of each node are counted by themselves."""
        return self.constraint.topology_key == HOSTNAME

    def of(self, info: NodeInfo, table: NodeTable) -> float:
        """The term for one node; 0 without the label."""
        assert info.node is not None
        value = info.node.labels.get(self.constraint.topology_key)
        if value is None:
            return 0.0
        if self.is_per_node:
            count = count_on(info, table, self.constraint.namespace, self.constraint.selector)
            return self.of_count(count)
        return self.of_count(self.counts.item(self.labels.code_of(value)))

    def of_count(self, count: int) -> float:
        """The term of a domain with so many matching pods."""
        return float(count) * self.weight + self.surplus

    def of_rows(self, rows: Rows) -> Floats:
        """As :meth:`of` for each row; O(rows)."""
        if not self.is_per_node:
            return self.labels.take(self.per_code, rows.index)
        counts = rows.take(self.constraint.column(rows.table).counts)
        terms = counts.astype(np.float64)
        terms *= self.weight
        terms += self.surplus
        if len(rows) and not _is_whole(self.constraint.topology_key, rows.table):
            terms[rows.take(self.labels.codes) < 0] = 0.0
        return terms


@define(eq=False)
class Scoring:
    """The soft constraints of a pod with what pre_score found out about them. Not changed afterwards."""

    terms: tuple[Term, ...]
    all_keys: bool
    """Whether nodes that lack some topology key are ignored: they score 0."""
    _plain: bool = field(init=False)
    """Whether a sum is 0 or at least log(2), as it is unless some max_skew is less than 1."""
    _raw: Scores | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._plain = all(term.surplus >= 0 for term in self.terms)

    @classmethod
    def of(cls, constraints: Constraints, feasible: Rows, all_keys: bool) -> Scoring:
        """Weigh the constraints by the domains of the *feasible* rows.

        O(domains) for each constraint if all nodes are feasible, else O(rows).
        """
        keys: tuple[str, ...] = ()
        if all_keys:
            first = constraints[0].topology_key
            keys = (first,) if len(constraints) == 1 else tuple(sorted({c.topology_key for c in constraints}))
        return cls(tuple(_term(each, feasible, keys) for each in constraints), all_keys)

    def score(self, info: NodeInfo, table: NodeTable) -> int:
        """The sum of the terms, rounded half away from zero; 0 for an ignored node."""
        node = info.node
        if node is None or self._ignores(node):
            return 0
        total = 0.0
        for term in self.terms:
            total += term.of(info, table)
        return _rounded_one(total)

    def score_rows(self, rows: Rows) -> Scores:
        """As :meth:`score` for each row; O(rows)."""
        first = self.terms[0]
        if len(self.terms) == 1 and not first.is_per_node:
            scores: Scores = first.labels.take(self._raw_by_code(), rows.index)
            return scores
        total = first.of_rows(rows)
        for term in self.terms[1:]:
            total += term.of_rows(rows)
        scores = _rounded(total, self._plain)
        ignored = self.ignored(rows)
        if ignored is not None:
            scores[ignored] = 0
        return scores

    def groups(self, table: NodeTable) -> tuple[npt.NDArray[Any], ...] | None:
        """Per term the number of a row that decides what it gives; ``None`` if some term has none."""
        columns: list[npt.NDArray[Any]] = []
        for term in self.terms:
            if not term.is_per_node:
                columns.append(term.labels.codes)
            elif _is_whole(term.constraint.topology_key, table):
                columns.append(term.constraint.column(table).counts)
            else:
                return None
        return tuple(columns)

    def of_groups(self, keys: list[tuple[int, ...]]) -> list[int]:
        """Normalised scores by what :meth:`groups` says of the rows; *keys* are all there are."""
        raw = [self._raw_of_group(key) for key in keys]
        counted = [score for score in raw if score is not None]
        found = _few_reversed([score or 0 for score in raw], counted)
        if len(counted) == len(raw):
            return found
        return [0 if score is None else scaled for score, scaled in zip(raw, found, strict=True)]

    def _raw_of_group(self, key: tuple[int, ...]) -> int | None:
        """``None`` for nodes that are ignored."""
        total = 0.0
        for term, code in zip(self.terms, key, strict=True):
            if term.is_per_node:
                total += term.of_count(code)
            elif code >= 0:
                total += term.of_count(term.counts.item(code))
            elif self.all_keys:
                return None
        return _rounded_one(total)

    def normalize(self, scores: Scores, rows: Rows) -> None:
        """To 0…100 in place, the lowest raw score becoming the highest; ignored rows become 0."""
        by_code = self._normalized_codes(rows)
        if by_code is not None:
            self.terms[0].labels.take(by_code, rows.index, scores)
            return
        ignored = self.ignored(rows)
        counted = scores if ignored is None else scores[~ignored]
        if len(counted):
            lowest, highest = int(counted.min()), max(int(counted.max()), 0)
            if highest == 0:
                scores[:] = MAX_SCORE
            else:
                scores[:] = _reversed(scores, lowest, highest)
        if ignored is not None:
            scores[ignored] = 0

    def _raw_by_code(self) -> Scores:
        """Of a single constraint on domains: the raw score by code of the label, and at the end that of nodes
        without it.
        """
        if self._raw is None:
            self._raw = _rounded(self.terms[0].per_code, self._plain)
        return self._raw

    def _normalized_codes(self, rows: Rows) -> Scores | None:
        """Normalised scores by code of the label, and at the end that of nodes without it.

        O(domains), for a single constraint on domains and all nodes of the table; ``None`` in other cases.
        """
        first, table = self.terms[0], rows.table
        if len(self.terms) > 1 or first.is_per_node or len(rows) != table.num_nodes:
            return None
        domains = table.pod_groups.domains(first.constraint.topology_key)
        raw = self._raw_by_code()
        nodes = domains.nodes[: len(raw) - 1]
        lacking = domains.total < table.num_nodes and not self.all_keys
        if len(raw) <= _FEW_CODES:
            found = _few_normalized(raw.tolist(), nodes.tolist(), lacking)
        else:
            counted = raw[:-1][nodes > 0]
            found = _all_normalized(raw, np.append(counted, raw[-1]) if lacking else counted)
        if self.all_keys:
            found[-1] = 0
        return found

    def ignored(self, rows: Rows) -> npt.NDArray[np.bool_] | None:
        """Rows that lack a topology key, where such are ignored; ``None`` if no node does."""
        if not self.all_keys:
            return None
        found: npt.NDArray[np.bool_] | None = None
        for term in self.terms:
            if not _is_whole(term.constraint.topology_key, rows.table):
                lacking = rows.take(term.labels.codes) < 0
                found = lacking if found is None else found | lacking
        return found

    def _ignores(self, node: Node) -> bool:
        return self.all_keys and not all(term.constraint.topology_key in node.labels for term in self.terms)


def _term(constraint: Constraint, feasible: Rows, keys: tuple[str, ...]) -> Term:
    """*keys* are those that a node must have to be scored."""
    table, key = feasible.table, constraint.topology_key
    surplus = float(constraint.max_skew - 1)
    if key == HOSTNAME:
        weight = _weight(_scored(feasible, key, keys))
        return Term(constraint, table.label(key), weight, surplus, _NO_COUNTS)
    kept = constraint.column(table).by_domain(key, constraint.subset)
    plain = constraint.subset is None and len(keys) < 2
    domains = kept.domains if plain else table.pod_groups.domains(key, keyed_nodes(key, keys))
    labels = domains.labels
    weight = _weight(_domains(feasible, domains, not keys))
    counts = kept.sums[: len(labels.values)].copy()
    nameless = labels.code_of("") if not keys else -1
    if nameless >= 0:
        # Nodes without the label are of the same domain as those whose label is empty.
        counts[nameless] += _unlabelled_pods(constraint, table)
    return Term(constraint, labels, weight, surplus, counts)


def _weight(domains: int) -> float:
    return math.log(float(domains + 2))


def _scored(feasible: Rows, key: str, keys: tuple[str, ...]) -> int:
    """How many of the rows have all *keys*."""
    table = feasible.table
    domains = table.pod_groups.domains(key, keyed_nodes(key, keys))
    if not keys or domains.total == table.num_nodes:
        return len(feasible)
    if len(feasible) == table.num_nodes:
        return domains.total
    return int(np.count_nonzero(feasible.take(domains.codes) >= 0))


def _domains(feasible: Rows, domains: Domains, any_node: bool) -> int:
    """In how many of *domains* the rows are.

    With *any_node*, nodes that lack the label have the value "".
    """
    table = feasible.table
    nameless = any_node and domains.total < table.num_nodes
    if len(feasible) == table.num_nodes:
        return domains.count + (nameless and not _has_value(domains.nodes, domains.labels.code_of("")))
    codes = feasible.take(domains.codes)
    if not nameless:
        # All domains there are: more cannot be found by looking further.
        prefix = codes[:_PREFIX]
        if np.count_nonzero(np.bincount(prefix + 1)[1:]) == domains.count:
            return domains.count
    present = np.bincount(codes + 1, minlength=1)
    found = int(np.count_nonzero(present[1:]))
    if nameless and present[0]:
        code = domains.labels.code_of("")
        found += not (0 <= code < len(present) - 1 and present[code + 1])
    return found


def _has_value(nodes: npt.NDArray[np.int64], code: int) -> bool:
    return code >= 0 and bool(nodes[code])


def _unlabelled_pods(constraint: Constraint, table: NodeTable) -> int:
    """Matching pods on nodes that count and lack the label."""
    rows = table.rows()
    lacking = rows.take(table.label(constraint.topology_key).codes) < 0
    if constraint.subset is not None:
        lacking &= constraint.subset.mask(rows)
    return int(rows.take(constraint.column(table).counts)[lacking].sum())


def _is_whole(key: str, table: NodeTable) -> bool:
    """Whether every node has the label."""
    return table.pod_groups.domains(key).total == table.num_nodes


def _rounded(values: Floats, whole_or_large: bool) -> Scores:
    """Half away from zero, as Go's math.Round, for values far below 2**52.

    *whole_or_large* promises that they are 0 or at least one half: adding one half is exact enough then.
    """
    if whole_or_large:
        return (values + 0.5).astype(np.int64)
    whole = np.trunc(values)
    whole += np.copysign(np.abs(values - whole) >= 0.5, values)
    return whole.astype(np.int64)


def _rounded_one(value: float) -> int:
    """As :func:`_rounded`."""
    whole = math.trunc(value)
    return whole + int(math.copysign(1.0, value)) if abs(value - whole) >= 0.5 else whole


def _few_normalized(raw: list[int], nodes: list[int], lacking: bool) -> Scores:
    """:func:`_reversed` by code, where ``nodes`` says which codes nodes have, and *lacking* whether the last
    one counts, too.
    """
    counted = [score for score, here in zip(raw, nodes, strict=False) if here]
    if lacking:
        counted.append(raw[-1])
    return np.array(_few_reversed(raw, counted), np.int64)


def _few_reversed(raw: list[int], counted: list[int]) -> list[int]:
    """:func:`_reversed` by the lowest and highest of the scores that are *counted*."""
    lowest, highest = min(counted, default=0), max(counted, default=0)
    if highest <= 0:
        return [MAX_SCORE] * len(raw)
    scaled = [MAX_SCORE * (highest + lowest - score) for score in raw]
    return [n // highest if n >= 0 else -(-n // highest) for n in scaled]


def _all_normalized(raw: Scores, counted: Scores) -> Scores:
    """The same for any number of codes; *counted* are the scores that count."""
    lowest, highest = int(counted.min(initial=_INT32_END)), int(counted.max(initial=0))
    if highest <= 0:
        return np.full(len(raw), MAX_SCORE, np.int64)
    return _reversed(raw, lowest, highest).astype(np.int64)


def _reversed(scores: Scores, lowest: int, highest: int) -> npt.NDArray[Any]:
    """``100 * (highest + lowest - score) / highest`` towards zero as Go does; *highest* is positive.

    Scores are from *lowest* to *highest*, or 0.
    """
    small = 2 * MAX_SCORE * max(highest, -lowest) < _INT32_END
    # Divisions are what takes time here, and half as wide ones a third of it.
    scaled: npt.NDArray[Any] = scores.astype(np.int32) if small else scores.copy()
    np.subtract(highest + lowest, scaled, out=scaled)
    scaled *= MAX_SCORE
    if lowest < 0:
        scaled[:] = np.sign(scaled) * (np.abs(scaled) // highest)
    else:
        np.floor_divide(scaled, highest, out=scaled)
    return scaled

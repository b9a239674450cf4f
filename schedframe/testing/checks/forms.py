"""The per-node and the columnar form say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...api import Pod
from ...state import NodeTable, Rows
from ..contract import of_hook
from ..probe import PASSES, Probe, Search, rows_of
from ..subject import Subject
from ..violation import FILTERS, SCORES, Check, Violation
from ..world import World


def parts_of(table: NodeTable) -> list[Rows]:
    """All rows, all but the first in reverse, and each alone: a columnar form must serve any choice."""
    rows = table.rows()
    positions = rows.positions.tolist()
    return [rows, rows_of(table, positions[:0:-1]), *(rows_of(table, [row]) for row in positions)]


def filter_forms(subject: Subject, world: World) -> None:
    """``filter``, ``filter_rows`` and ``row_filter`` give each node the same verdict and reasons."""
    for pod in world.pods[:2]:
        search = Probe(subject, world).search(pod)
        if not search.goes_on:
            continue
        forms = [form for form in FILTERS if form in subject.hooks]
        for rows in parts_of(search.probe.table):
            found = {form: search.verdicts(rows, form) for form in forms}
            _same(pod, rows, found)
        by_number = prepared(search, "row_filter")
        if by_number is not None:
            rows = search.probe.table.rows()
            answers = [by_number(row) for row in rows.positions.tolist()]
            checked = [search.probe.checked("filter", answer) for answer in answers]
            _same(pod, rows, {forms[0]: search.verdicts(rows, forms[0]), "row_filter": checked})
        if "filter_groups" in subject.hooks:
            _filter_groups(search, pod)


def score_forms(subject: Subject, world: World) -> None:
    """``score``, ``score_rows`` and ``row_score`` give each node the same score."""
    for pod in world.pods[:2]:
        search = Probe(subject, world).search(pod)
        table = search.probe.table
        if not (search.goes_on or search.status.is_skip) or not search.pre_score(table.rows()):
            continue
        forms = [form for form in SCORES if form in subject.hooks]
        for rows in parts_of(table):
            _same(pod, rows, {form: search.raw_scores(rows, form) for form in forms})
        by_number = prepared(search, "row_score")
        if by_number is not None:
            rows = table.rows()
            answers = [by_number(row) for row in rows.positions.tolist()]
            _same(pod, rows, {forms[0]: search.raw_scores(rows, forms[0]), "row_score": answers})
        if "score_groups" in subject.hooks:
            _score_groups(search, pod)


def _filter_groups(search: Search, pod: Any) -> None:
    rows = search.probe.table.rows()
    answer = search.probe.call("filter_groups", search.state, search.pod, rows.table)
    if answer is None:
        return
    passes = ["passes" if verdict == PASSES else "does not pass" for verdict in search.verdicts(rows)]
    found = _by_group(answer.columns, answer.passes, rows)
    said = ["passes" if passed else "does not pass" for passed in found]
    _same(pod, rows, {"filter": passes, "filter_groups": said})


def _score_groups(search: Search, pod: Any) -> None:
    rows = search.probe.table.rows()
    answer = search.probe.call("score_groups", search.state, search.pod, rows.table)
    if answer is not None and len(rows):
        found = _by_group(answer.columns, answer.scores, rows)
        _same(pod, rows, {"normalised": search.scores(rows), "score_groups": found})


def _by_group(columns: Any, answer: Any, rows: Rows) -> list[Any]:
    """What *answer* says of the group of each row."""
    keys = list(zip(*(rows.take(column).tolist() for column in columns), strict=True))
    different = list(dict.fromkeys(keys))
    by_key = dict(zip(different, answer(different), strict=True))
    return [by_key[key] for key in keys]


def prepared(search: Search, hook: str) -> Any:
    """What ``row_filter`` or ``row_score`` prepares; ``None`` if the plugin lacks it or does not want to."""
    if hook not in search.probe.hooks:
        return None
    return search.probe.call(hook, search.state, search.pod, search.probe.table)


def _same(pod: Pod, rows: Rows, found: Mapping[str, Sequence[Any]]) -> None:
    (first, expected), *others = found.items()
    for form, answers in others:
        for name, one, other in zip(rows.names(), expected, answers, strict=True):
            if one != other:
                raise Violation(
                    f"pod {pod.key} on node {name}: {first} says {shown(one)}, {form} says {shown(other)}"
                    + ("" if len(rows) == rows.table.num_nodes else f" (asked about {rows.names()})")
                )


def shown(answer: Any) -> str:
    """An answer in few words."""
    if answer == PASSES:
        return "passes"
    code = getattr(answer, "code", None)
    return f"{code.label} {list(answer.reasons)}" if code is not None else repr(answer)


def _both(*forms: str) -> Any:
    return lambda subject: len(subject.hooks.intersection(forms)) > 1


CHECKS = (
    Check(
        "filter_forms_agree",
        of_hook("filter", "Must agree with ``filter_rows`` where the plugin has both."),
        filter_forms,
        _both(*FILTERS, "row_filter", "filter_groups"),
    ),
    Check(
        "score_forms_agree",
        of_hook("score_rows", "The same for many rows in one call: int64, shape ``(len(rows),)``."),
        score_forms,
        _both(*SCORES, "row_score", "score_groups"),
    ),
)

"""The per-node and the columnar form say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...api import Pod
from ...framework import RowVerdicts
from ...state import NodeTable, Rows
from ..worlds.world import World
from .contract import of_hook
from .probe import PASSES, Probe, Search, rows_of
from .subject import Subject
from .violation import FILTERS, SCORES, Check, Violation


def parts_of(table: NodeTable) -> list[Rows]:
    """All rows, all but the first in reverse, and each alone: a columnar form must serve any choice."""
    rows = table.rows()
    positions = rows.positions.tolist()
    return [rows, rows_of(table, positions[:0:-1]), *(rows_of(table, [row]) for row in positions)]


def filter_forms(subject: Subject, world: World) -> None:
    """All forms of filter give each node the same verdict and reasons."""
    for pod in world.pods[:2]:
        search = Probe(subject, world).search(pod)
        if not search.goes_on:
            continue
        forms = [form for form in FILTERS if form in subject.hooks]
        for rows in parts_of(search.probe.table):
            found = {form: search.verdicts(rows, form) for form in forms}
            _same(pod, rows, found)
        if "filter_groups" in subject.hooks:
            _filter_groups(search, pod)
    if "prepare_filter" in subject.hooks:
        _prepared_filter(subject, world)


def score_forms(subject: Subject, world: World) -> None:
    """All forms of score give each node the same score."""
    for pod in world.pods[:2]:
        search = Probe(subject, world).search(pod)
        table = search.probe.table
        if not (search.goes_on or search.status.is_skip) or not search.pre_score(table.rows()):
            continue
        forms = [form for form in SCORES if form in subject.hooks]
        for rows in parts_of(table):
            _same(pod, rows, {form: search.raw_scores(rows, form) for form in forms})
        if "score_groups" in subject.hooks:
            _score_groups(search, pod)
    if "prepare_score" in subject.hooks:
        _prepared_score(subject, world)


def _prepared_filter(subject: Subject, world: World) -> None:
    """A batch of pods gets the verdicts of each of them, also a batch of one."""
    probe = Probe(subject, world)
    rows = probe.table.rows()
    asking = [search for search in map(probe.search, world.pods) if search.goes_on]
    for batch in (asking, asking[:1]):
        prepared = prepared_for(batch, "prepare_filter")
        if prepared is None:
            continue
        alone = [search.verdicts(rows) for search in batch]
        for i, (row, name) in enumerate(zip(rows.positions.tolist(), rows.names(), strict=True)):
            verdicts = [probe.checked("filter", answer) for answer in statuses_of(prepared(row), len(batch))]
            _same_of_all(batch, name, verdicts, [each[i] for each in alone], "prepare_filter")
            if hasattr(prepared, "rejects"):
                rejected = prepared.rejects(row)
                short = ["passes" if passed else "does not pass" for passed in _passed(rejected, len(batch))]
                wanted = ["passes" if each[i] == PASSES else "does not pass" for each in alone]
                _same_of_all(batch, name, short, wanted, "prepare_filter(...).rejects")


def _passed(rejected: Any, pods: int) -> list[bool]:
    return [True] * pods if rejected is None else [not each for each in rejected]


def statuses_of(answer: Any, pods: int) -> Sequence[Any]:
    """Return the answer of a prepared filter for *pods* pods as one status for each."""
    if answer is None:
        return [None] * pods
    if isinstance(answer, RowVerdicts):
        return [answer.statuses[code - 1] if code else None for code in answer.codes.tolist()]
    statuses: Sequence[Any] = answer
    return statuses


def _prepared_score(subject: Subject, world: World) -> None:
    """A batch of pods gets the scores of each of them on its feasible nodes, also a batch of one."""
    probe = Probe(subject, world)
    rows = probe.table.rows()
    asking = [s for s in map(probe.search, world.pods) if s.goes_on or s.status.is_skip]
    asking = [search for search in asking if search.pre_score(rows)]
    for batch in (asking, asking[:1]):
        prepared = prepared_for(batch, "prepare_score")
        if prepared is None:
            continue
        alone = [search.raw_scores(rows) for search in batch]
        feasible = [set(search.feasible(rows).names()) for search in batch]
        for i, (row, name) in enumerate(zip(rows.positions.tolist(), rows.names(), strict=True)):
            wanted = [scores[i] for scores in alone]
            scores = list(prepared(row))
            if len(scores) == len(wanted):
                fits = [name in some for some in feasible]
                scores = [a if fit else b for a, b, fit in zip(scores, wanted, fits, strict=True)]
            _same_of_all(batch, name, scores, wanted, "prepare_score")


def prepared_for(searches: Sequence[Search], hook: str) -> Any:
    """The function that *hook* prepares for a batch; ``None`` without the hook, or if it prepares none."""
    if not searches or hook not in searches[0].probe.hooks:
        return None
    probe = searches[0].probe
    return probe.call(hook, [each.state for each in searches], [each.pod for each in searches], probe.table)


def _same_of_all(
    asking: Sequence[Search], name: str, answers: Sequence[Any], wanted: Sequence[Any], hook: str
) -> None:
    if len(answers) != len(wanted):
        raise Violation(f"{hook} gives {len(answers)} answers about node {name} for {len(wanted)} pods")
    for search, answer, each in zip(asking, answers, wanted, strict=True):
        if answer != each:
            raise Violation(
                f"pod {search.pod.key} on node {name}: {hook.removeprefix('prepare_')} says {shown(each)}, "
                f"{hook} says {shown(answer)} (asked about {len(asking)} pods at once)"
            )


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
    """Return the part of *answer* for the group of each row."""
    keys = list(zip(*(rows.take(column).tolist() for column in columns), strict=True))
    different = list(dict.fromkeys(keys))
    by_key = dict(zip(different, answer(different), strict=True))
    return [by_key[key] for key in keys]


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
        _both(*FILTERS, "filter_groups", "prepare_filter"),
    ),
    Check(
        "score_forms_agree",
        of_hook("score_rows", "Return the scores of many rows in one call: int64, shape ``(len(rows),)``."),
        score_forms,
        _both(*SCORES, "score_groups", "prepare_score"),
    ),
)

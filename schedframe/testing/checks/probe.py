"""Call the hooks of one plugin as the framework would, and insist on answers that the contract allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
from attrs import field

from ..._base.value import record
from ...api import Pod
from ...framework import Code, CycleState, Normalization, PreFilterResult, RowVerdicts, Status
from ...framework.declarations import normalization_of
from ...framework.waiting import MAX_PERMIT_SECONDS
from ...state import NodeInfo, NodeTable, Rows
from ..stub_handle import StubHandle
from ..worlds.world import World
from .subject import Subject

PASSES: Final = Status()
"""What a node that passes is compared as."""

_REJECTIONS: Final = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})
_VERDICTS: Final = _REJECTIONS | {Code.SUCCESS, Code.ERROR}
_ALLOWED: Final = {
    "pre_enqueue": _VERDICTS,
    "pre_filter": _VERDICTS | {Code.SKIP},
    "filter": _VERDICTS,
    "pre_score": {Code.SUCCESS, Code.ERROR, Code.SKIP},
    "add_pod": {Code.SUCCESS, Code.ERROR},
    "remove_pod": {Code.SUCCESS, Code.ERROR},
    "reserve": _VERDICTS,
    "permit": _VERDICTS | {Code.WAIT},
    "pre_bind_pre_flight": {Code.SUCCESS, Code.ERROR, Code.SKIP},
    "pre_bind": _VERDICTS | {Code.WAIT},
    "bind": _VERDICTS | {Code.WAIT, Code.SKIP},
}


class Trouble(Exception):
    """A hook did what it must never do, whatever is being checked."""

    def __init__(self, hook: str, what: str) -> None:
        self.hook = hook
        self.what = what
        super().__init__(f"{hook} {what}")


class Raised(Trouble):
    """A hook raised an exception."""

    def __init__(self, hook: str, error: BaseException) -> None:
        self.error = error
        super().__init__(hook, f"raised {type(error).__name__}: {error}")


class InvalidAnswer(Trouble):
    """A hook answered something that the contract does not allow."""

    def __init__(self, hook: str, answer: object, wanted: str) -> None:
        super().__init__(hook, f"answered {answer!r:.200}; return {wanted}")


class BadTimeout(InvalidAnswer):
    """A hook asked to wait for a time that is none."""


@record(eq=False)
class Search:
    """One pod on its way through pre_filter, filter, pre_score and score of the plugin alone."""

    probe: Probe
    pod: Pod
    state: CycleState
    status: Status = PASSES
    """What pre_filter said: success, Skip, a rejection or an error."""
    node_names: frozenset[str] | None = None
    """The only nodes to look at, if pre_filter named them."""

    @property
    def goes_on(self) -> bool:
        """Return whether filter is asked."""
        return self.status.is_success

    @property
    def outcome(self) -> tuple[Status, frozenset[str] | None]:
        """Return the answer of pre_filter, to be compared."""
        return self.status, self.node_names

    # ---- filter ------------------------------------------------------------------------------------------

    def verdict(self, info: NodeInfo, state: CycleState | None = None) -> Status:
        """Return the verdict of the per-node form about one node."""
        used = state if state is not None else self.state
        return self.probe.status("filter", used, self.pod, info)

    def verdicts(self, rows: Rows, form: str | None = None) -> list[Status]:
        """Return the verdict about each row; by *form*, or by that which the plugin has."""
        form = form or self.probe.filter_form
        if form == "filter":
            return [self.verdict(info) for info in rows]
        return self._columnar(rows)

    def _columnar(self, rows: Rows) -> list[Status]:
        answer = self.probe.call("filter_rows", self.state, self.pod, rows)
        if answer is None:
            return [PASSES] * len(rows)
        if not isinstance(answer, RowVerdicts) or not isinstance(answer.codes, np.ndarray):
            raise InvalidAnswer("filter_rows", answer, "None or RowVerdicts")
        codes, statuses = answer.codes, tuple(answer.statuses)
        if codes.shape != (len(rows),) or codes.dtype.kind not in "iu":
            found = f"codes of {codes.dtype} and shape {codes.shape}"
            raise InvalidAnswer("filter_rows", found, f"integer codes of shape ({len(rows)},)")
        if len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) <= len(statuses):
            raise InvalidAnswer(
                "filter_rows", codes.tolist(), f"codes from 0 to {len(statuses)}, one per status"
            )
        for status in statuses:
            if not isinstance(status, Status) or status.code not in _REJECTIONS | {Code.ERROR}:
                raise InvalidAnswer("filter_rows", status, "statuses that reject, or errors")
        return [statuses[code - 1] if code else PASSES for code in codes.tolist()]

    def by_name(self, rows: Rows, form: str | None = None) -> dict[str, Status]:
        """Node → verdict."""
        return dict(zip(rows.names(), self.verdicts(rows, form), strict=True))

    def feasible(self, rows: Rows) -> Rows:
        """Return the rows that pass: all of them where the plugin does not filter, or said Skip."""
        if self.probe.filter_form is None or self.status.is_skip:
            return rows
        if not self.goes_on:
            return Rows.at(rows.table, np.empty(0, np.intp))
        return rows.select(np.array([status == PASSES for status in self.verdicts(rows)], np.bool_))

    # ---- score -------------------------------------------------------------------------------------------

    def pre_score(self, rows: Rows) -> bool:
        """Run pre_score for these rows; whether score is to be asked."""
        if "pre_score" not in self.probe.hooks:
            return True
        return self.probe.status("pre_score", self.state, self.pod, rows).is_success

    def raw_scores(self, rows: Rows, form: str | None = None) -> list[int]:
        """Scores of the rows before normalisation."""
        form = form or self.probe.score_form
        if form == "score":
            return [self._score(info) for info in rows]
        answer = self.probe.call("score_rows", self.state, self.pod, rows)
        return list(_checked_scores("score_rows", answer, rows).tolist())

    def _score(self, info: NodeInfo) -> int:
        answer = self.probe.call("score", self.state, self.pod, info)
        if isinstance(answer, bool) or not isinstance(answer, int | np.integer):
            raise InvalidAnswer("score", answer, "an int")
        return int(answer)

    def scores(self, rows: Rows) -> list[int]:
        """Normalised scores of the rows."""
        raw = np.array(self.raw_scores(rows), np.int64)
        declared = normalization_of(self.probe.subject.factory)
        if isinstance(declared, Normalization):
            return list(declared.apply(raw).tolist())
        if "normalize_scores" in self.probe.hooks:
            answer = self.probe.call("normalize_scores", self.state, self.pod, raw, rows)
            if answer is not None:
                raw = _checked_scores("normalize_scores", answer, rows)
        return list(raw.tolist())


@record(eq=False)
class Probe:
    """An instance of the plugin in a world of its own."""

    subject: Subject
    world: World
    handle: StubHandle = field(init=False)
    plugin: Any = field(init=False)
    hooks: frozenset[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.handle = StubHandle(self.world)
        self.plugin = self.subject.make(self.handle)
        self.handle.attach_plugin(self.subject.name, self.plugin)
        self.subject.calls(self.plugin)
        self.hooks = self.subject.hooks

    @property
    def table(self) -> NodeTable:
        """The nodes."""
        return self.handle.table

    @property
    def filter_form(self) -> str | None:
        """The form of filter that a search would use."""
        return next((form for form in ("filter_rows", "filter") if form in self.hooks), None)

    @property
    def score_form(self) -> str | None:
        """The form of score that a search would use."""
        return next((form for form in ("score_rows", "score") if form in self.hooks), None)

    def call(self, hook: str, *arguments: Any) -> Any:
        """Return the answer of the hook; :class:`Raised` if it fails."""
        function: Callable[..., Any] = self.subject.calls(self.plugin)[hook]
        try:
            return function(self.plugin, *arguments)
        except Exception as error:
            raise Raised(hook, error) from error

    def status(self, hook: str, *arguments: Any) -> Status:
        """Return the status that a hook answers; success if it does not say, or is not there."""
        if hook not in self.hooks:
            return PASSES
        return self.checked(hook, self.call(hook, *arguments))

    def checked(self, hook: str, answer: Any) -> Status:
        """*answer* as a status; :class:`InvalidAnswer` if the hook may not say that."""
        if answer is None:
            return PASSES
        allowed = _ALLOWED[hook]
        if not isinstance(answer, Status) or answer.code not in allowed:
            words = ", ".join(sorted(code.label for code in allowed))
            raise InvalidAnswer(hook, answer, f"None or a Status ({words})")
        if answer.code is Code.WAIT:
            _check_timeout(hook, answer)
        return PASSES if answer.is_success else answer

    def search(self, pod: Pod) -> Search:
        """pre_filter for *pod*."""
        search = Search(self, pod, CycleState())
        if "pre_filter" not in self.hooks:
            return search
        answer = self.call("pre_filter", search.state, pod, self.table.rows())
        if isinstance(answer, PreFilterResult):
            search.node_names = answer.node_names
        elif answer is None or isinstance(answer, Status):
            search.status = self.checked("pre_filter", answer)
        else:
            raise InvalidAnswer("pre_filter", answer, "None, a Status or a PreFilterResult")
        if search.status.is_skip:
            search.state.skip_filter_plugins.add(self.subject.name)
        return search

    def accepts(self, pod: Pod) -> bool:
        """Return whether the plugin alone would let *pod* into the queue and onto some node."""
        if not self.status("pre_enqueue", pod).is_success:
            return False
        search = self.search(pod)
        if not (search.goes_on or search.status.is_skip):
            return False
        feasible = search.feasible(self.table.rows())
        names = search.node_names
        return any(names is None or name in names for name in feasible.names())

    def answers(self, pod: Pod) -> tuple[Any, ...]:
        """Everything that pre_enqueue, filter and score say of *pod*, to be compared."""
        gate = self.status("pre_enqueue", pod)
        search = self.search(pod)
        rows = self.table.rows()
        verdicts = search.by_name(rows) if search.goes_on and self.filter_form is not None else None
        scores: dict[str, int] | None = None
        if self.score_form is not None and (search.goes_on or search.status.is_skip):
            feasible = search.feasible(rows)
            if search.pre_score(feasible):
                scores = dict(zip(feasible.names(), search.raw_scores(feasible), strict=True))
        return gate, search.outcome, verdicts, scores


def _checked_scores(hook: str, answer: Any, rows: Rows) -> np.ndarray[Any, np.dtype[np.int64]]:
    if not isinstance(answer, np.ndarray) or answer.shape != (len(rows),) or answer.dtype.kind not in "iu":
        found = f"{answer.dtype} of shape {answer.shape}" if isinstance(answer, np.ndarray) else answer
        raise InvalidAnswer(hook, found, f"an int64 array of shape ({len(rows)},)")
    return answer.astype(np.int64)


def _check_timeout(hook: str, status: Status) -> None:
    seconds = status.timeout
    most = MAX_PERMIT_SECONDS if hook == "permit" else math.inf
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= most:
        limit = f", at most {most:g}" if hook == "permit" else ""
        raise BadTimeout(hook, status, f"Status.wait(seconds) with a positive number of seconds{limit}")
    if math.isinf(seconds):
        raise BadTimeout(hook, status, "Status.wait(seconds) with a number of seconds that passes")


def rows_of(table: NodeTable, positions: Iterable[int]) -> Rows:
    """Return some rows of the table, in that order."""
    return Rows.at(table, np.fromiter(positions, np.intp))

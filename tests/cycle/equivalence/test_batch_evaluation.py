"""Plugins that answer for several classes at once decide as they would for each class alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from schedframe import (
    Code,
    CycleState,
    Depends,
    NodeInfo,
    NodeTable,
    Pod,
    Rows,
    RowVerdicts,
    Status,
    hookimpl,
)
from schedframe.cycle.equivalence.evaluate.batch import BatchEvaluator, PreparedPlugin
from schedframe.cycle.equivalence.evaluate.query import Query
from schedframe.cycle.equivalence.status_codes import EvaluationFailed, StatusCodes
from schedframe.framework.plan import FilterEntry

from ..build import make_pod
from .matrix_worlds import SIZES, attached_of, schedule, world_of

pytestmark = pytest.mark.usefixtures("matrix_from_two_classes")

FULL = Status.unschedulable("half is enough")


class Half:
    """Nodes are used to the half at most, and better if the pod is small; node by node alone."""

    depends_on = Depends.ROW_RESOURCES

    @hookimpl
    def pod_signature(self, pod: Pod) -> int:
        return pod.requests.get("cpu", 0)

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        used = node_info.requested.get("cpu", 0) + pod.requests.get("cpu", 0)
        return FULL if 2 * used > node_info.allocatable["cpu"] else None

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        return min(100, (node_info.requested.get("cpu", 0) + pod.requests.get("cpu", 0)) // 40)


class Columnar(Half):
    """The same for many rows, too."""

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts:
        return RowVerdicts.where(np.array([self.filter(pod, info) is not None for info in rows]), FULL)

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> Any:
        return np.array([self.score(pod, info) for info in rows], np.int64)


class HalfOfSeveral(Columnar):
    """The same for several pods at once."""

    @hookimpl
    def prepare_filter(
        self, states: Sequence[CycleState], pods: Sequence[Pod], table: NodeTable
    ) -> Callable[[int], list[Status | None]]:
        return lambda row: [self.filter(pod, table.info(row)) for pod in pods]

    @hookimpl
    def prepare_score(self, pods: Sequence[Pod], table: NodeTable) -> Callable[[int], list[int]]:
        return lambda row: [self.score(pod, table.info(row)) for pod in pods]


class InArrays(HalfOfSeveral):
    """The same in arrays."""

    @hookimpl
    def prepare_filter(self, pods: Sequence[Pod], table: NodeTable) -> Callable[[int], RowVerdicts]:
        return lambda row: RowVerdicts.where(
            np.array([self.filter(pod, table.info(row)) is not None for pod in pods]), FULL
        )

    @hookimpl
    def prepare_score(self, pods: Sequence[Pod], table: NodeTable) -> Callable[[int], Any]:
        return lambda row: np.array([self.score(pod, table.info(row)) for pod in pods])


class Unprepared(HalfOfSeveral):
    """Fails where it is to prepare."""

    @hookimpl
    def prepare_filter(self, pods: Sequence[Pod]) -> Any:
        raise LookupError("not today")


class TooFew(HalfOfSeveral):
    """Forgets the last pod."""

    @hookimpl
    def prepare_score(self, pods: Sequence[Pod], table: NodeTable) -> Callable[[int], list[int]]:
        return lambda row: [self.score(pod, table.info(row)) for pod in pods[:-1]]


class TooHigh(HalfOfSeveral):
    """Says what is out of range."""

    @hookimpl
    def prepare_score(self, pods: Sequence[Pod]) -> Callable[[int], list[int]]:
        return lambda row: [101] * len(pods)


class Rejects(HalfOfSeveral):
    """Answers an error instead of raising it."""

    @hookimpl
    def prepare_filter(self, pods: Sequence[Pod]) -> Callable[[int], list[Status | None]]:
        return lambda row: [Status.error("odd")] * len(pods)


def test_classes_without_columnar_form_do_not_attach() -> None:
    world = world_of(12, Half=Half)
    assert all(schedule(world, 40, *SIZES))
    assert attached_of(world) == [False] * 3


def test_batched_answers_equal_single_ones() -> None:
    def run(plugin: Any) -> tuple[list[str], list[bool]]:
        world = world_of(12, Half=plugin)
        hosts = schedule(world, 60, *SIZES)
        # Several plugins have something against a node that is full.
        world.cluster.create(make_pod("fat", cpu=4, node_name="n0"))
        hosts += schedule(world, 3, *SIZES, name="r")
        attached = attached_of(world)
        hosts += schedule(world, 90, *SIZES, name="q")
        assert not world.faults
        return hosts, attached

    expected, attached = run(Half)
    assert "" in expected
    assert attached == [False] * 3
    for plugin in (HalfOfSeveral, InArrays):
        assert run(plugin) == (expected, [True] * 3), plugin
    for plugin in (Columnar, Unprepared, TooFew, TooHigh, Rejects):
        assert run(plugin) == (expected, [False] * 3), plugin


@pytest.mark.parametrize("kind", [list, np.array], ids=["list", "array"])
def test_batched_scores_are_checked_and_weighted(kind: Any) -> None:
    def plugin(scores: list[Any]) -> PreparedPlugin:
        return PreparedPlugin("P", np.arange(2), lambda row: kind(scores), 3)

    assert plugin([1, 2]).scores(0).tolist() == [3, 6]
    for wrong in ([1], [1, 101], [0, -1], [0.5, 1.0], [5, -1]):
        with pytest.raises(EvaluationFailed, match="P scored"):
            plugin(wrong).scores(0)


VERDICTS: tuple[Any, ...] = (
    None,
    RowVerdicts(np.array([0, 1, 0]), (FULL,)),
    RowVerdicts(np.array([2, 1, 0]), (Status.unresolvable("never"), Status(Code.SUCCESS))),
    [None, FULL, Status.unresolvable("never")],
    [FULL, FULL, FULL],
)
"""Of three pods about a row."""


def _batch(*verdicts: Any) -> BatchEvaluator:
    """Filters, one a row of answers, for three classes."""
    filters = tuple(
        FilterEntry(f"P{number}", None, None, prepare_filter=lambda *_, answer=answer: lambda row: answer)
        for number, answer in enumerate(verdicts)
    )
    codes = StatusCodes({entry.name: number for number, entry in enumerate(filters)})
    table = NodeTable()
    return BatchEvaluator([Query(table, codes, make_pod(), CycleState(), filters) for _ in range(3)])


@pytest.mark.parametrize("first", VERDICTS)
@pytest.mark.parametrize("second", VERDICTS)
def test_a_row_passes_for_the_classes_that_no_filter_rejects(first: Any, second: Any) -> None:
    assert _batch(first, second).passing(0).tolist() == (_batch(first, second).evaluate(0) >= 0).tolist()


@pytest.mark.parametrize("wrong", [[None], [None, None, Status.from_error("broken")]])
def test_wrong_answers_about_a_row_are_not_taken(wrong: Any) -> None:
    with pytest.raises(EvaluationFailed, match="P0"):
        _batch(wrong).passing(0)


class Masked:
    """Rejects by a mask where no reasons are needed."""

    def __init__(self, mask: Any) -> None:
        self.rejects = lambda row: mask

    def __call__(self, row: int) -> RowVerdicts:
        raise AssertionError("nothing reads the reasons")


def test_a_mask_without_reasons_says_which_classes_pass() -> None:
    def passing(mask: Any) -> list[bool]:
        entry = FilterEntry("P", None, None, prepare_filter=lambda *_: Masked(mask))
        codes = StatusCodes({"P": 0})
        query = Query(NodeTable(), codes, make_pod(), CycleState(), (entry,))
        return BatchEvaluator([query] * 3).passing(0).tolist()

    assert passing(None) == [True] * 3
    assert passing(np.array([True, False, True])) == [False, True, False]
    for wrong in ([True, False, True], np.array([1, 0, 1]), np.array([True])):
        with pytest.raises(EvaluationFailed, match="P gave"):
            passing(wrong)


class Breaks(HalfOfSeveral):
    """Fails for small pods at a node on which a core and more is used."""

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        if node_info.requested.get("cpu", 0) >= 1000 and pod.requests["cpu"] == 100:
            raise LookupError("no such state")
        return None


def test_a_plugin_that_fails_is_reported() -> None:
    world = world_of(12, Breaks=Breaks)
    assert all(schedule(world, 4, *SIZES))
    assert attached_of(world) == [True] * 3
    assert not world.faults
    hosts = schedule(world, 12, *SIZES, name="q")
    assert [i for i, host in enumerate(hosts) if not host] == [3, 6, 9]
    assert {status.plugin for status, _ in world.faults} == {"Breaks"}


class OnlyLarge(HalfOfSeveral):
    """Skips pods that ask for little."""

    @hookimpl
    def pre_filter(self, pod: Pod) -> Status | None:
        return Status.skip() if pod.requests.get("cpu", 0) < 200 else None

    @hookimpl
    def pre_score(self, pod: Pod) -> Status | None:
        return Status.skip() if pod.requests.get("cpu", 0) < 300 else None


def test_plugins_that_skip_some_classes_are_called_for_the_others() -> None:
    world = world_of(12, OnlyLarge=OnlyLarge)
    assert all(schedule(world, 30, *SIZES, name="q"))
    assert attached_of(world) == [True] * 3
    hosts = schedule(world, 200, *SIZES)
    waiting = [i % 3 for i, host in enumerate(hosts) if not host]
    assert waiting
    assert 0 not in waiting

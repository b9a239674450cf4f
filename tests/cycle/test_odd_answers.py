"""Answers with odd content are faults of the plugin at every hook, and never end the scheduler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from schedframe import (
    Action,
    ClusterEvent,
    Code,
    EventRegistration,
    EventResource,
    PostFilterResult,
    RowVerdicts,
    Status,
)
from schedframe.framework import CycleState, NominatingInfo
from schedframe.framework.filtering import run_pod_hook

from ..framework.fakes import plan_of, plugin
from .build import World, make_node, make_pod, plugin_class


class Silent:
    """Whatever is asked of it fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__

    def __hash__(self) -> int:
        raise RuntimeError("no hash")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no eq")

    def __lt__(self, other: object) -> bool:
        raise RuntimeError("no lt")

    def __bool__(self) -> bool:
        raise RuntimeError("no bool")

    def __len__(self) -> int:
        raise RuntimeError("no len")


class SilentError(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no str")

    __repr__ = __str__


class SilentText(str):
    """A string that cannot be hashed."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise RuntimeError("no hash")


def status(*arguments: Any, **named: Any) -> Any:
    """A status whatever its content."""
    return Status(*arguments, **named)


ODD: dict[str, Callable[[], Any]] = {
    "silent": Silent,
    "reasons that cannot be hashed": lambda: status(Code.UNSCHEDULABLE, ([],)),
    "reasons that cannot be joined": lambda: status(Code.UNSCHEDULABLE, (1, None)),
    "reasons that cannot be printed": lambda: status(Code.UNSCHEDULABLE, (Silent(),)),
    "text that cannot be hashed": lambda: status(Code.UNSCHEDULABLE, (SilentText("x"),)),
    "reasons in a list": lambda: status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["x"]),
    "no reasons": lambda: status(Code.UNSCHEDULABLE, None),
    "silent reasons": lambda: status(Code.UNSCHEDULABLE, Silent()),
    "code 2": lambda: status(2, ("x",)),
    "code 3": lambda: status(3, ("x",)),
    "code 1": lambda: status(1, ("x",)),
    "code 99": lambda: status(99, ("x",)),
    "code none": lambda: status(None, ("x",)),
    "code silent": lambda: status(Silent(), ("x",)),
    "error with odd reasons": lambda: status(Code.ERROR, ([], 5)),
    "error with a silent error": lambda: status(Code.ERROR, ("x",), "", Silent()),
    "error of silence": lambda: Status.from_error(SilentError()),
    "plugin is a list": lambda: status(Code.UNSCHEDULABLE, ("x",), []),
    "plugin is silent": lambda: status(Code.UNSCHEDULABLE, ("x",), Silent()),
    "timeout is text": lambda: status(Code.WAIT, ("x",), timeout="soon"),
    "timeout is not a number": lambda: status(Code.WAIT, ("x",), timeout=float("nan")),
    "timeout is silent": lambda: status(Code.WAIT, ("x",), timeout=Silent()),
    "details are a list": lambda: status(Code.UNSCHEDULABLE, ("x",), details=[1]),
    "exception": lambda: _raise(SilentError()),
}

VERDICTS: dict[str, Callable[[], Any]] = {
    "statuses is a number": lambda: RowVerdicts(np.ones(3, np.int8), 5),  # type: ignore[arg-type]
    "statuses is silent": lambda: RowVerdicts(np.ones(3, np.int8), Silent()),  # type: ignore[arg-type]
    "codes is a list": lambda: RowVerdicts([1, 1, 1], ()),  # type: ignore[arg-type]
    "codes of text": lambda: RowVerdicts(np.array(["a", "b", "c"]), ()),
    "code too high": lambda: RowVerdicts(np.full(3, 9, np.int8), (Status.unschedulable("x"),)),
    "code negative": lambda: RowVerdicts(np.full(3, -1, np.int8), (Status.unschedulable("x"),)),
    **{
        f"statuses: {name}": lambda odd=odd: RowVerdicts(np.ones(3, np.int8), (odd(),))  # type: ignore[misc]
        for name, odd in ODD.items()
        if name != "exception"
    },
}
SCORES: dict[str, Callable[[], Any]] = {
    "objects": lambda: np.array([Silent(), Silent(), Silent()], object),
    "text": lambda: np.array(["a", "b", "c"]),
    "not a number": lambda: np.full(3, np.nan),
    "too large": lambda: np.full(3, 1 << 62),
    "shape": lambda: np.zeros((3, 3), np.int64),
    "huge": lambda: 1 << 70,
}
POST_FILTER: dict[str, Callable[[], Any]] = {
    "information is text": lambda: PostFilterResult("n0"),  # type: ignore[arg-type]
    "node name is a number": lambda: PostFilterResult(NominatingInfo(5)),  # type: ignore[arg-type]
    "node name is silent": lambda: PostFilterResult(NominatingInfo(Silent())),  # type: ignore[arg-type]
    **{f"pair: {name}": lambda odd=odd: (None, odd()) for name, odd in ODD.items()},  # type: ignore[misc]
}
EVENTS: dict[str, Callable[[], Any]] = {
    "events": lambda: status(Code.WAIT, timeout=1.0, events=("node added",)),
    "events are silent": lambda: status(Code.WAIT, timeout=1.0, events=(Silent(),)),
    "events is a number": lambda: status(Code.WAIT, timeout=1.0, events=5),
    "never ends": lambda: status(Code.WAIT, timeout=float("inf")),
}
READ = (
    *("pre_enqueue", "pre_filter", "filter", "filter_rows", "post_filter", "pre_score", "score"),
    *("score_rows", "normalize_scores", "reserve", "permit", "pre_bind_pre_flight", "pre_bind", "bind"),
    "queue_sort_key",
)
"""Hooks whose answer is read."""
CASES = [
    *((hook, odd) for hook in READ for odd in ODD),
    *(("filter_rows", odd) for odd in VERDICTS),
    *((hook, odd) for hook in ("score", "score_rows", "normalize_scores") for odd in SCORES),
    *(("post_filter", odd) for odd in POST_FILTER),
    *(("pre_bind", odd) for odd in EVENTS),
    *(("bind", odd) for odd in EVENTS),
]
ALL = {**ODD, **VERDICTS, **SCORES, **POST_FILTER, **EVENTS}


def _raise(error: Exception) -> Any:
    raise error


POD = make_pod()
REJECTED = Status.unschedulable("no")
BESIDE: dict[str, dict[str, Any]] = {
    "score_rows": {"score": lambda self: 5},
    "normalize_scores": {"score": lambda self: 5},
    "filter_rows": {"filter": lambda self: None},
    "pre_bind_pre_flight": {"pre_bind": lambda self: None},
    "unreserve": {"reserve": lambda self: REJECTED},
}
"""What a plugin needs besides the hook for it to be called."""


def world_with(hook: str, answer: Callable[[], Any]) -> World:
    """A scheduler with a plugin that answers so, and two pods that were tried."""
    cls = plugin_class("Odd", **BESIDE.get(hook, {}), **{hook: lambda self: answer()})
    only = {"bind": ["Odd"]} if hook == "bind" else {"queueSort": ["Odd"]} if "queue_sort" in hook else {}
    if hook == "post_filter":
        only["postFilter"] = ["Odd"]
    world = World({"Odd": cls}, only=only)
    world.create(*(make_node(f"n{i}") for i in range(3)))
    cpu = 9 if hook == "post_filter" else 1
    world.create(make_pod("p", cpu=cpu), make_pod("q", cpu=cpu))
    world.settle()
    world.clock.advance(30)
    world.settle()
    return world


@pytest.mark.parametrize(("hook", "odd"), CASES)
def test_an_odd_answer_is_a_fault_of_the_plugin(hook: str, odd: str) -> None:
    world = world_with(hook, ALL[odd])
    assert {status.plugin for status, _ in world.faults} == {"Odd"}
    assert all(status.code is Code.ERROR and status.message for status, _ in world.faults)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("hook", ["add_pod", "remove_pod"])
def test_an_odd_answer_of_a_pod_hook(hook: Any, odd: str) -> None:
    plan = plan_of(Odd=plugin(pre_filter=lambda self: None, **{hook: lambda self: ODD[odd]()}))
    status = run_pod_hook(plan, CycleState(), POD, POD, None, hook)
    assert (status.code, status.plugin) == (Code.ERROR, "Odd")
    assert status.message


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("hook", ["unreserve", "post_bind", "pod_signature", "queue_sort_less"])
def test_an_odd_answer_that_is_not_read_or_has_a_default(hook: str, odd: str) -> None:
    world = world_with(hook, ODD[odd])
    assert {status.plugin for status, _ in world.faults} <= {"Odd"}


@pytest.mark.parametrize("odd", ["silent", "exception"])
def test_an_odd_answer_of_a_hint(odd: str) -> None:
    cls = plugin_class(
        "Odd",
        filter=lambda self: REJECTED,
        events_to_register=lambda self: [
            EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD), lambda pod, old, new: ODD[odd]())
        ],
    )
    world = World({"Odd": cls})
    world.create(make_node(), make_pod())
    world.settle()
    world.create(make_node("m"))
    world.settle()
    assert {status.plugin for status, _ in world.faults} == {"Odd"}

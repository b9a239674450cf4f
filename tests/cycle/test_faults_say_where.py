"""An exception at any hook: message, log and status name its type, pod, node and the line of the author."""

from __future__ import annotations

import inspect
import logging
from typing import Any

import pytest

from schedframe import Action, ClusterEvent, Code, EventRegistration, PreFilterResult, Status

from .build import World, make_node, make_pod, plugin_class

REJECTED = Status.unschedulable("no")


def fails(*arguments: Any) -> Any:
    return {}["rack"]


WHERE = f"test_faults_say_where.py:{inspect.getsourcelines(fails)[1] + 1} in fails"

BESIDE: dict[str, dict[str, Any]] = {
    "score_rows": {"score": lambda self: 5},
    "normalize_scores": {"score": lambda self, node_info: 5 if node_info.name == "n0" else 6},
    "filter_rows": {"filter": lambda self: None},
    "pre_bind_pre_flight": {"pre_bind": lambda self: None},
    "unreserve": {"reserve": lambda self: REJECTED},
}
"""What a plugin needs besides the hook for it to be called."""
NODES = {
    "filter": "n",
    "score": "n",
    "reserve": "n",
    "unreserve": "n",
    "permit": "n",
    "pre_bind_pre_flight": "n",
    "pre_bind": "n",
    "bind": "n",
    "post_bind": "n",
}
"""Hooks that are about a node."""
OTHERS = [
    "pre_enqueue",
    "queue_sort_key",
    "queue_sort_less",
    "pre_filter",
    "filter_rows",
    "post_filter",
    "pre_score",
    "score_rows",
    "normalize_scores",
]


def world_with(hook: str, **hooks: Any) -> World:
    cls = plugin_class("Odd", **{**BESIDE.get(hook, {}), **hooks})
    only: dict[str, Any] = {}
    if hook in ("bind", "post_filter"):
        only = {"bind" if hook == "bind" else "postFilter": ["Odd"]}
    if hook.startswith("queue_sort"):
        only = {"queueSort": ["Odd"]}
    return World({"Odd": cls}, only=only)


@pytest.mark.parametrize(
    ("hook", "warm"),
    [(hook, False) for hook in (*NODES, *OTHERS)]
    # The other ones would have to answer an array, or to be asked without a rejection.
    + [(h, True) for h in (*NODES, *OTHERS) if h not in ("score_rows", "normalize_scores", "post_filter")],
)
def test_an_exception_says_where(hook: str, warm: bool, caplog: pytest.LogCaptureFixture) -> None:
    armed = not warm

    def call(self: Any) -> Any:
        if armed:
            return fails()
        return {"score": 1, "queue_sort_key": 1, "queue_sort_less": False, "bind": None}.get(hook)

    world = world_with(hook, **{hook: call})
    caplog.set_level(logging.WARNING, "schedframe")
    world.create(*(make_node(f"n{i}") for i in range(3)))
    if warm:
        world.create(*(make_pod(f"before-{i}") for i in range(4)))
        world.settle()
        assert not world.faults
        armed = True
    cpu = 9 if hook == "post_filter" else 1
    world.create(make_pod("p", cpu=cpu), make_pod("q", cpu=cpu))
    world.settle()
    found = [(status, pod) for status, pod in world.faults if status.plugin == "Odd" and pod is not None]
    assert found
    for status, pod in found:
        assert pod is not None
        assert status.code is Code.ERROR
        assert isinstance(status.error, KeyError)
        assert "KeyError: 'rack' (" in status.message
        assert f"pod {pod.key}" in status.message
        assert WHERE in status.message
        assert (", node n" in status.message) == (hook in NODES)
        (data,) = (status.details or {}).values()
        expected = {"exception": "KeyError", "message": "'rack'", "pod": pod.key, "function": "fails"}
        assert expected.items() <= data.items()
        assert data["file"] == __file__
    said = [record.getMessage() for record in caplog.records if "Odd failed" in record.getMessage()]
    assert said
    assert all("KeyError: 'rack'" in text and WHERE in text and "for pod default/" in text for text in said)


def test_the_node_that_fails_is_named() -> None:
    def one(self: Any, node_info: Any) -> Any:
        return fails() if node_info.name == "n1" else None

    def scored(self: Any, node_info: Any) -> Any:
        return fails() if node_info.name == "n1" else 7

    for hook, function in (("filter", one), ("score", scored)):
        world = world_with(hook, **{hook: function})
        world.create(*(make_node(f"n{i}") for i in range(3)), make_pod("p"))
        world.settle()
        assert {status.message for status, _ in world.faults} == {
            f"{text} KeyError: 'rack' (pod default/p, node n1, tests/cycle/{WHERE})"
            for text in (
                ('running "Odd" filter plugin:',)
                if hook == "filter"
                else ('running Score plugins: plugin "Odd" failed with:',)
            )
        }


def test_a_hint_that_fails() -> None:
    def events(self: Any) -> Any:
        return [EventRegistration(ClusterEvent("Node", Action.ADD), fails)]

    world = world_with("filter", filter=lambda self: REJECTED, events_to_register=events)
    world.create(make_node("n0"), make_pod("p"))
    world.settle()
    assert not world.faults
    world.create(make_node("n1"))
    world.settle()
    assert {status.message for status, _ in world.faults} == {
        f"KeyError: 'rack' (pod default/p, tests/cycle/{WHERE})"
    }


def test_a_pod_hook_names_the_node() -> None:
    """Preemption removes the pod of lower priority, on trial."""
    world = world_with(
        "remove_pod",
        pre_filter=lambda self: PreFilterResult(["n0"]),
        filter=lambda self: REJECTED,
        remove_pod=lambda self: fails(),
    )
    world.create(make_node("n0"), make_pod("low", node_name="n0"), make_pod("high", priority=10))
    world.settle()
    messages = [status.message for status, _ in world.faults]
    assert any("KeyError: 'rack' (pod default/high, node n0, " in text for text in messages)

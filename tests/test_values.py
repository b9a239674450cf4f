"""Values that users hold can be pickled and copied, and say the same afterwards."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import schedframe
from schedframe import (
    InMemoryCluster,
    Scheduler,
    Simulation,
    VirtualClock,
    embed,
    evaluate,
    explain,
    from_manifest,
)
from schedframe.cycle import Meter, Tuning
from schedframe.errors import ConfigError, InputError
from schedframe.testing import node, pod
from tests.meters import figures_of

COPIES: list[Callable[[Any], Any]] = [
    lambda value: pickle.loads(pickle.dumps(value)),
    copy.copy,
    copy.deepcopy,
]


def small() -> Any:
    return node("small").allocatable(cpu="1", memory="1Gi", pods="10")


def large() -> Any:
    return node("large").allocatable(cpu="8", memory="8Gi", pods="10")


def evaluations() -> dict[str, Any]:
    low = pod("low").requests(cpu="1").on_node("small")
    return {
        "placed": evaluate([small(), large()], pod("p").requests(cpu="2")),
        "pending": evaluate([small()], pod("p").requests(cpu="2")),
        "preempting": evaluate([small(), low], pod("p").requests(cpu="1").priority(10)),
        "no nodes": evaluate([], pod("p")),
        "no profile": evaluate([small()], pod("p").for_scheduler("other")),
        "gated": evaluate([small()], pod("p").gated_by("a")),
    }


def same(first: Any, second: Any) -> bool:
    """Return whether two values are equal, by their text if they are compared by identity."""
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(first == second) if type(first).__eq__ is not object.__eq__ else repr(first) == repr(second)


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("name", list(evaluations()))
def test_an_evaluation_says_the_same(copied: Callable[[Any], Any], name: str) -> None:
    evaluation = evaluations()[name]
    again = copied(evaluation)
    assert again is not evaluation
    assert again.to_dict() == evaluation.to_dict()
    assert (str(again), again.headline) == (str(evaluation), evaluation.headline)
    assert (again.best, again.feasible, again.scores) == (
        evaluation.best,
        evaluation.feasible,
        evaluation.scores,
    )
    assert copied(again).to_dict() == evaluation.to_dict()


def values() -> dict[str, Any]:
    with Simulation([small()]) as simulation:
        placements = simulation.schedule([pod("a").requests(cpu="1"), pod("b").requests(cpu="1")])
        found: dict[str, Any] = {
            "node": simulation.cluster.list("Node")[0],
            "pod": simulation.cluster.list("Pod")[0],
            "placements": placements,
            "placement": placements[0],
            "cycle report": simulation.cycle(pod("c")),
            "configuration": simulation.scheduler.config,
            "pending": simulation.scheduler.pending(),
            "explanation": explain([small()], pod("d").requests(cpu="2")),
        }
    with Scheduler(InMemoryCluster([small(), pod("s")]), observers=[Meter()]) as scheduler:
        scheduler.run_until_idle()
        found["statistics"] = figures_of(scheduler)
    found["status"] = schedframe.Status.unschedulable("no room")
    found["requirements"] = embed.Requirements()
    found["group"] = embed.Group([embed.Task("t")])
    found["tuning"] = Tuning(remember=0)
    return found


@pytest.mark.parametrize("copied", COPIES)
def test_values_are_equal_to_their_copies(copied: Callable[[Any], Any]) -> None:
    for name, value in values().items():
        assert same(copied(value), value), name


@pytest.mark.parametrize("copied", COPIES)
def test_errors_keep_their_text(copied: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError) as refused:
        from_manifest({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "A!"}, "spec": {}})
    with pytest.raises(ConfigError) as config:
        Simulation([], {"kind": "x"})
    for error in (refused.value, config.value):
        again = copied(error)
        assert (type(again), str(again)) == (type(error), str(error))


@pytest.mark.parametrize("copied", [COPIES[0], COPIES[2]])
def test_what_lives_is_not_copied(copied: Callable[[Any], Any]) -> None:
    cluster = InMemoryCluster(clock=VirtualClock())
    with Scheduler(cluster) as scheduler, Simulation() as simulation:
        for live in (cluster, scheduler, simulation):
            with pytest.raises(TypeError, match="cannot pickle"):
                copied(live)

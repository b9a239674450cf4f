"""Wrong arguments of the public API: each error names the argument, what it is, and what to give instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedframe import (
    FeatureGates,
    InMemoryCluster,
    InputError,
    Scheduler,
    Simulation,
    evaluate,
    explain,
    load_manifests,
)
from schedframe.embed import Embedding, Task, Worker, configuration

from .cycle.build import make_node, make_pod

NODE, POD = make_node("n0"), make_pod("p", uid="p")
WORKER, TASK = Worker("w", {"cpu": 4}), Task("t", {"cpu": 1})
NOT_A_LIST = "is not a collection; give a list of API values or manifests"


def wrong(value: object) -> Any:
    """Return *value*, which type checkers would refuse."""
    return value


def scheduler(**keywords: Any) -> Scheduler:
    return Scheduler(InMemoryCluster(), **keywords)


def embedding(**keywords: Any) -> Embedding[Task, Worker]:
    return Embedding([WORKER], [TASK], **keywords)


def cases(make: Callable[..., Any], **messages: Any) -> list[Any]:
    """Cases: keyword → a wrong value and its message."""
    return [
        pytest.param(lambda name=name, value=value: make(**{name: value}), f"{name}: {message}", id=name)
        for name, (value, message) in messages.items()
    ]


WRONG: list[Any] = [
    *cases(
        scheduler,
        clock=(5, "5 cannot be called; give a function that returns seconds, such as VirtualClock()"),
        executor=("x", "'x' has no attribute submit; give an executor, such as ThreadExecutor()"),
        seed=("a", "'a' is not a whole number; give an integer"),
        verify=(2, "2 is not a share; give a number from 0 to 1"),
        remember=(-1, "-1 is below 0; give a number from 0"),
        assume_ttl=(True, "True is not a number; give seconds, or None"),
        score_all_nodes=("yes", "'yes' is not a choice; give one of 'auto', True, False"),
        recorder=([], "a list has no attribute decided; give a Recorder"),
        registry=({}, "a dict has no attribute full_catalogue; give a Registry, or plugins=[...]"),
        extenders=(5, "5 is not a collection; give a list of extenders"),
        feature_gates=("x", "'x' is not a mapping; give a mapping such as"),
    ),
    (lambda: scheduler(extenders=[5]), "extenders: 5 has no attribute name and no verbs"),
    (
        lambda: Scheduler(wrong([NODE])),
        "cluster: a list has no attribute watch and no bind; give",
    ),
    (lambda: FeatureGates.of({"GenericWorkload": wrong(1)}), "GenericWorkload: 1 is neither True nor False"),
    (lambda: Simulation(wrong("nodes.yaml")), f"objects: 'nodes.yaml' {NOT_A_LIST}"),
    (lambda: Simulation(wrong({"kind": "Node"})), f"objects: a dict {NOT_A_LIST}"),
    (lambda: evaluate(wrong(None), POD), f"objects: None {NOT_A_LIST}"),
    (lambda: InMemoryCluster(wrong(5)), f"objects: 5 {NOT_A_LIST}"),
    (lambda: InMemoryCluster().get(wrong(None), "x"), "kind: None is not a kind; give its name"),
    (lambda: Simulation([NODE]).schedule(wrong(POD)), "pods: a Pod is not a collection; give a list of pods"),
    (lambda: Simulation([NODE]).assume(POD, wrong(None)), "node_name: None is not a name"),
    (lambda: Simulation([NODE]).remove_pod(wrong(5)), "key: 5 is not a key"),
    (lambda: explain([NODE, POD], "p", changes=wrong(1.5)), "changes: 1.5 is not a whole number"),
    (
        lambda: list(load_manifests(wrong(None))),
        "source: None has no attribute read; give a text, a",
    ),
    *cases(
        embedding,
        on_place=(5, "5 cannot be called; give a function of a task and a worker"),
        retry=("x", "'x' cannot be called; give a function of the number of failures, such as Backoff()"),
        options=({}, "a dict has no attribute on_place; give EmbeddingOptions, or its fields as keywords"),
    ),
    (lambda: Embedding(wrong("w")), "workers: 'w' is not a collection; give a list of workers"),
    (lambda: Embedding(wrong([5])), "worker: 5 has no attribute capacity; give a Worker"),
    (lambda: Embedding([WORKER], wrong([5])), "task: 5 has no attribute key and no requests and no labels"),
    (
        lambda: embedding().submit(Task("u", {}), wrong(5)),
        "needs: 5 is not what a task needs; give",
    ),
    (lambda: embedding().finish(wrong(None)), "key: None has no attribute key; give the key as a text"),
    (lambda: configuration(strategy=wrong("x")), "strategy: 'x' is not a strategy; give 'spread' or 'pack'"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_a_wrong_argument_is_an_input_error(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scheduler(recordr=None), "Scheduler has no option 'recordr'; did you mean recorder?"),
        (lambda: embedding(onplace=None), "Embedding has no option 'onplace'; did you mean on_place?"),
        (lambda: embedding(colour="red"), "Embedding has no option 'colour'; it takes on_place, on_unplaced"),
    ],
)
def test_an_unknown_option_is_a_type_error_with_a_similar_one(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_collections_may_be_generators() -> None:
    with Simulation(each for each in [NODE, POD]) as simulation:
        assert [placement.node_name for placement in simulation.schedule()] == ["n0"]
    with Embedding((each for each in [WORKER]), (each for each in [TASK])) as embedded:
        embedded.run_until_idle()
        assert embedded.worker_of("t") is WORKER

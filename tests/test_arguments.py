"""Wrong arguments of the public API: each error names the argument, what it is, and what to give instead."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

from schedframe import (
    ClusterEvent,
    Code,
    CycleState,
    EventRegistration,
    InMemoryCluster,
    InputError,
    Node,
    Pod,
    PreFilterResult,
    Profile,
    Quantity,
    Recorder,
    Registry,
    RowVerdicts,
    Scheduler,
    Simulation,
    Status,
    Toleration,
    VirtualClock,
    evaluate,
    explain,
    from_manifest,
    hookimpl,
    load_config,
    load_manifests,
    to_manifest,
)
from schedframe.api import NodeStatus, compile_label_selector, find_untolerated_taint, format_time, group_of
from schedframe.config import Duration, FeatureGates, dump_config
from schedframe.controllers import ControllerManager
from schedframe.cycle import Tuning, Watchdog
from schedframe.embed import Embedding, Task, Worker, configuration
from schedframe.metrics import SchedulerMetrics
from schedframe.queue import Heap, PriorityQueue
from schedframe.simulate import queueing_hint
from schedframe.testing import World, check_plugin
from schedframe.testing.api_server import Fault

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
        (lambda name=name, value=value: make(**{name: value}), f"{name}: {message}")
        for name, (value, message) in messages.items()
    ]


WRONG: list[Any] = [
    *cases(
        scheduler,
        clock=(5, "5 cannot be called; give a function that returns seconds, such as VirtualClock()"),
        executor=("x", "'x' has no attribute submit; give an executor, such as ThreadExecutor()"),
        seed=("a", "'a' is not a whole number; give an integer"),
        tuning=(1, "1 has no attribute wait_together; give Tuning(...)"),
        assume_ttl=(True, "True is not a number; give seconds, or None"),
        score_all_nodes=("yes", "'yes' is not a choice; give one of 'auto', True, False"),
        observers=([5], "5 is no observer; give objects of a class below SchedulerObserver"),
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
    (
        lambda: Simulation(strict=wrong("maybe")),
        "strict: 'maybe' is neither True or False nor a function; give",
    ),
    (
        lambda: Simulation([NODE], allow_imports=wrong(5)),
        "allow_imports: 5 is neither a collection nor a text; give",
    ),
    (
        lambda: Simulation([NODE]).add(NODE, workloads="yes"),
        "workloads: unknown value 'yes'; use auto, expand, ignore",
    ),
    (lambda: evaluate([NODE], POD, strict=wrong("maybe")), "strict: 'maybe' is neither"),
    (lambda: explain([NODE, POD], "p", after=wrong("yes")), "after: 'yes' is not True or False; give"),
    (lambda: from_manifest({"kind": "Pod"}, strict=wrong("maybe")), "strict: 'maybe' is neither"),
    (
        lambda: from_manifest({"kind": "Pod"}, kinds=wrong(Pod)),
        "kinds: the class Pod is not a collection; give a list",
    ),
    (lambda: from_manifest({}, kind=wrong(5)), "kind: 5 is not a text; give a str"),
    (
        lambda: load_manifests("", on_unknown=wrong("no")),
        "on_unknown: 'no' is neither a choice nor a function; give 'error' or",
    ),
    (lambda: to_manifest(wrong(5)), "obj: 5 is not a ClusterObject; give a ClusterObject"),
    (lambda: dump_config(wrong(5)), "config: 5 is not an EffectiveConfig; give EffectiveConfig(…)"),
    (lambda: load_config(catalogue=wrong(5)), "catalogue: 5 is not a Catalogue; give a Catalogue"),
    (
        lambda: Profile().enable("X", weight=wrong("3")),
        "weight: '3' is not a whole number; give an int or None",
    ),
    (lambda: Profile().disable(wrong(5)), "name: 5 is not a text; give a str"),
    (
        lambda: CycleState().read(wrong("k")),
        "key: 'k' is not a StateKey; make a constant of the module, StateKey('k')",
    ),
    (lambda: CycleState().write(wrong("k"), 1), "key: 'k' is not a StateKey"),
    (lambda: CycleState().get(wrong("k")), "key: 'k' is not a StateKey"),
    (
        lambda: ClusterEvent("Node", wrong(1)),
        "ClusterEvent: actions: 1 is not an Action; give one of Action.NONE",
    ),
    (
        lambda: ClusterEvent("Node", wrong("Add")),
        "ClusterEvent: actions: 'Add' is not an Action; give Action.ADD",
    ),
    (
        lambda: EventRegistration(wrong(5)),
        "EventRegistration: event: 5 is not a ClusterEvent; give ClusterEvent(…)",
    ),
    (lambda: Status(wrong(5)), "Status: code: 5 is not a Code; give Code.SUCCESS"),
    (
        lambda: Status(Code.UNSCHEDULABLE, wrong("no")),
        "Status: reasons: 'no' is not a tuple; give a tuple with it: ('no',)",
    ),
    (
        lambda: ControllerManager(wrong(None)),
        "ControllerManager: cluster: None is not an InMemoryCluster; give",
    ),
    (
        lambda: queueing_hint("NodeName", POD, "Add", None, NODE),
        "event: 'Add' names no resource; write it as in",
    ),
    (
        lambda: queueing_hint("NodeName", POD, wrong(5), None, NODE),
        "event: 5 is neither a ClusterEvent nor a text",
    ),
    (lambda: Node(wrong("n")), "Node: metadata: 'n' is not an ObjectMeta; give ObjectMeta(name='n')"),
    (
        lambda: Quantity(wrong("1")),
        "Quantity: nano: '1' is not a whole number; give an int of billionths, or parse_quantity('1')",
    ),
    (
        lambda: NodeStatus(allocatable={"cpu": wrong("4")}),
        "NodeStatus: allocatable['cpu']: '4' is not a Quantity; give parse_quantity('4')",
    ),
    (
        lambda: Duration(wrong("5s")),
        "Duration: nanoseconds: '5s' is not a whole number; give an int of nanoseconds, or",
    ),
    (
        lambda: compile_label_selector(wrong({"a": "b"})),
        "selector: a dict is not a LabelSelector; give LabelSelector(…) or None",
    ),
    (
        lambda: find_untolerated_taint(wrong([5]), [Toleration()]),
        "taints[0]: 5 is not a Taint; give Taint(…)",
    ),
    (lambda: InMemoryCluster().bind(wrong(5), "n0"), "pod: 5 is not a Pod; give a Pod of the cluster"),
    (lambda: InMemoryCluster().watch(wrong(5)), "handler: 5 is not a function; give a function"),
    (lambda: InMemoryCluster().watch(print, wrong(5)), "kinds: 5 is not a collection; give a list"),
    (lambda: InMemoryCluster().watch(print, [wrong(5)]), "kinds[0]: 5 is not a text; give a str"),
    (lambda: InMemoryCluster().evict(wrong(5)), "pod: 5 is not a Pod; give Pod(…)"),
    (lambda: InMemoryCluster().evict(POD, condition=wrong("x")), "condition: 'x' is not a PodCondition"),
    (lambda: Registry.installed().factory(wrong(5)), "name: 5 is not a text; give a str"),
    (lambda: Registry.installed().register(wrong(5), Pod), "name: 5 is not a text; give a str"),
    (lambda: group_of(wrong(5)), "pod: 5 is not a Pod; give Pod(…)"),
    (lambda: group_of(wrong({"kind": "Pod"})), "pod: a dict is not a Pod; give Pod(…)"),
    (lambda: World(wrong(5)), "World: nodes: 5 is not a tuple; give a tuple"),
    (lambda: World(wrong([NODE])), "World: nodes: a list is not a tuple; give a tuple of the same items"),
    (lambda: World((NODE,), wrong(5)), "World: running: 5 is not a tuple; give a tuple"),
    (lambda: World((NODE,), pods=wrong((NODE,))), "World: pods[0]: a Node is not a Pod; give Pod(…)"),
    (lambda: World((NODE,), choices=wrong("no")), "World: choices: 'no' is not a tuple; give a tuple"),
    (lambda: PreFilterResult(wrong(5)), "node_names: 5 is not a collection; give a collection of names"),
    (lambda: PreFilterResult(wrong(None)), "node_names: None is not a collection; give a collection"),
    (lambda: Recorder().of(wrong(5)), "pod: 5 is not a text; give a str"),
    (lambda: FeatureGates().enabled(wrong(5)), "name: 5 is not a text; give a str"),
    (lambda: Profile(wrong(5)), "Profile: scheduler_name: 5 is not a text; give a str"),
    (lambda: Profile("a", wrong("50")), "Profile: percentage_of_nodes_to_score: '50' is not a whole number"),
    (lambda: PriorityQueue().add(wrong(5)), "pod: 5 is not a Pod; give Pod(…)"),
    (lambda: PriorityQueue().update(POD, wrong(5)), "pod: 5 is not a Pod; give Pod(…)"),
    (lambda: PriorityQueue().delete(wrong(5)), "pod: 5 is not a Pod; give Pod(…)"),
    (lambda: PriorityQueue().activate(wrong(5)), "pods: 5 is not a collection; give a list of pods"),
    (lambda: PriorityQueue().activate([wrong(5)]), "pod: 5 is not a Pod; give Pod(…)"),
    (lambda: Heap(wrong(5), sort_key=len), "Heap: key: 5 is not a function; give a function"),
    (lambda: Heap(len, sort_key=wrong(5)), "Heap: sort_key: 5 is not a function; give a function or None"),
    (lambda: hookimpl(wrong(5)), "hookimpl: 5 is not a function; put @hookimpl above a method of the plugin"),
    (
        lambda: SchedulerMetrics(wrong(5)),
        "registry: 5 has no attribute register; give a CollectorRegistry of prometheus_client",
    ),
    (lambda: Status.unschedulable(wrong(5)), "reasons[0]: 5 is not a text; give a str: '5'"),
    (lambda: Status.unresolvable("a", wrong(5)), "reasons[1]: 5 is not a text; give a str: '5'"),
    (lambda: Status.pending(wrong(None)), "reasons[0]: None is not a text; give a str"),
    (lambda: Status.wait(5, wrong(5)), "reasons[0]: 5 is not a text; give a str: '5'"),
    (lambda: Status.wait(5, events=wrong(5)), "events: 5 is not a collection; give a list of ClusterEvent"),
    (lambda: Status.from_error(wrong(5)), "error: 5 is no error; give an exception or a text"),
    (lambda: CycleState().delete(wrong(5)), "key: 5 is not a StateKey; make a constant of the module"),
    (lambda: InMemoryCluster().get("Pod", wrong(5)), "key: 5 is not a text; give a str"),
    (lambda: InMemoryCluster().update(wrong(5)), "expected an object, got 5 (a number)"),
    (
        lambda: InMemoryCluster([POD]).bind(POD, wrong(5)),
        "node_name: 5 is not a name; give the name of",
    ),
    (
        lambda: InMemoryCluster([POD]).patch_pod_status(POD, condition=wrong(5)),
        "condition: 5 is not a PodCondition; give",
    ),
    (
        lambda: RowVerdicts.where(wrong(5), Status.skip()),
        "rejected: 5 is not an array; give an array",
    ),
    (lambda: VirtualClock().advance(wrong("1")), "seconds: '1' is not a number; give a float"),
    (lambda: VirtualClock().advance(nan), "seconds: nan is not a finite number; give a finite number from 0"),
    (lambda: VirtualClock().advance_to(inf), "moment: inf is not a finite number; give seconds since the"),
    (lambda: VirtualClock(nan), "now: nan is not a finite number; give seconds since the epoch"),
    (lambda: format_time(nan), "nan is not a finite number; give seconds since the epoch"),
    (lambda: Fault.delay(nan), "seconds: nan is not a finite number; give seconds"),
    (lambda: Fault.answer(503, retry_after=-1), "retry_after: -1 is below 0; give seconds"),
    (lambda: Duration.of(inf), "seconds: inf is not a finite number; give a finite number"),
    (lambda: Watchdog(nan), "limit: nan is not a finite number; give a millisecond or more"),
    (lambda: Watchdog(inf), "limit: inf is not a finite number; give a millisecond or more"),
    (lambda: Watchdog(0), "limit: 0 is below 0.001; give a millisecond or more"),
    (lambda: scheduler(assume_ttl=inf), "assume_ttl: inf is not a finite number; give seconds"),
    (lambda: Tuning(verify=2), "verify: 2 is not a share; give a number from 0 to 1"),
    (lambda: Tuning(remember=-1), "remember: -1 is below 0; give a number from 0"),
]


def test_a_wrong_argument_is_an_input_error() -> None:
    messages = []
    for call, message in WRONG:
        with pytest.raises(InputError) as caught:
            call()
        messages.append((message, str(caught.value)))
    assert [pair for pair in messages if not pair[1].startswith(pair[0])] == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scheduler(observer=None), "Scheduler has no option 'observer'; did you mean observers?"),
        (lambda: embedding(onplace=None), "Embedding has no option 'onplace'; did you mean on_place?"),
        (
            lambda: Simulation(plugin=[5]),
            "Simulation has no option 'plugin'; did you mean plugins?",
        ),  # type: ignore[call-arg]
        (lambda: explain([NODE], "p", chnges=1), "explain has no argument 'chnges'; did you mean changes?"),  # type: ignore[call-arg]
        (lambda: check_plugin(Recorder, sed=1), "check_plugin has no option 'sed'; did you mean seed?"),  # type: ignore[call-arg]
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

"""A pod whose claim cannot be used waits, and says why; others go on, and the right event brings it back.

What it says was measured on kube-scheduler v1.36.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, field, frozen

from schedframe import QueuedPodInfo
from schedframe.api import Pod
from tests.plugins.storage import ZONE, affinity, make_claim, make_class, make_node, make_pod, make_volume
from tests.plugins.volume_world import World, local

BACKOFF = 20.0
"""Seconds in which whatever is in backoff is tried again, and nothing else is."""
NOWHERE = "0/2 nodes are available: "
EARLY = " not found"
"""What post_filter says when no node was looked at."""
POST_FILTER_FAULT = "not found"
"""DynamicResources, which lacks what its pre_filter would have noted: as in kube-scheduler."""
LATE = " no new claims to deallocate, preemption: " + NOWHERE + "2 Preemption is not helpful for scheduling."

Step = Callable[[World], Any]


@frozen
class Case:
    """What is wrong with the claim of pod ``p``, and what mends it."""

    name: str
    objects: tuple[Any, ...]
    reason: str
    mend: Step
    pod: Pod = field(factory=lambda: make_pod("c"))
    told_late: bool = False
    """Whether the nodes were looked at, rather than the claim alone."""
    node_name: str = ""
    """Where the pod must go in the end; empty if any will do."""

    @property
    def message(self) -> str:
        """Of the pod's condition."""
        return f"{NOWHERE}{self.reason}.{LATE if self.told_late else EARLY}"


def create(*objects: Any) -> Step:
    return lambda world: world.create(*objects)


def apply(*objects: Any) -> Step:
    """Create or replace."""

    def step(world: World) -> None:
        for obj in objects:
            world.cluster.apply(evolve(obj, metadata=evolve(obj.metadata, resource_version="")))

    return step


def replace(claim: Any) -> Step:
    """Delete the claim of that name, and create another one."""

    def step(world: World) -> None:
        world.cluster.delete("PersistentVolumeClaim", claim.key)
        world.create(claim)

    return step


BOUND = make_claim(volume="v")
VOLUME = make_volume(claim=BOUND)
ELSEWHERE = make_volume(claim=BOUND, only={ZONE: ["c"]})
EPHEMERAL = make_pod(ephemeral=["e"])
MADE_FOR_IT = make_claim("p-e", owner=EPHEMERAL.uid)

CASES = (
    Case(
        "missing",
        (),
        'persistentvolumeclaim "c" not found',
        create(make_claim()),
    ),
    Case(
        "ephemeral volume without its claim",
        (),
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-e"',
        create(MADE_FOR_IT),
        EPHEMERAL,
    ),
    Case(
        "ephemeral volume with somebody else's claim",
        (make_claim("p-e", owner="namesake"),),
        "PVC default/p-e was not created for pod default/p (pod is not owner)",
        replace(evolve(MADE_FOR_IT, metadata=evolve(MADE_FOR_IT.metadata, uid="another"))),
        EPHEMERAL,
    ),
    Case(
        "lost",
        (make_claim(volume="v", phase="Lost"),),
        'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
        lambda world: (create(VOLUME)(world), apply(BOUND)(world)),
    ),
    Case(
        "volume gone",
        (BOUND,),
        'persistentvolume "v" not found',
        create(VOLUME),
    ),
    Case(
        "bound elsewhere, a node joins",
        (BOUND, ELSEWHERE),
        "2 node(s) didn't match PersistentVolume's node affinity",
        create(make_node("o", "c")),
        told_late=True,
        node_name="o",
    ),
    Case(
        "bound elsewhere, a node is labelled",
        (BOUND, ELSEWHERE),
        "2 node(s) didn't match PersistentVolume's node affinity",
        apply(make_node("m", "c")),
        told_late=True,
        node_name="m",
    ),
    Case(
        "bound elsewhere, the volume moves",
        (BOUND, ELSEWHERE),
        "2 node(s) didn't match PersistentVolume's node affinity",
        lambda world: world.cluster.update(
            evolve(world.volume(), spec=evolve(world.volume().spec, node_affinity=affinity({ZONE: ["a"]})))
        ),
        told_late=True,
        node_name="n",
    ),
    Case(
        "in another zone by label",
        (BOUND, make_volume(claim=BOUND, labels={ZONE: "c"})),
        "2 node(s) had no available volume zone",
        apply(make_node("m", "c")),
        told_late=True,
        node_name="m",
    ),
    Case(
        "unknown class",
        (make_claim(storage_class="later"),),
        "pod has unbound immediate PersistentVolumeClaims",
        create(make_class("later")),
    ),
    Case(
        "not bound yet by those who bind at once",
        (make_class("immediate", mode="Immediate"), make_claim(storage_class="immediate")),
        "pod has unbound immediate PersistentVolumeClaims",
        lambda world: (
            create(make_volume(claim=world.claim()))(world),
            apply(evolve(BOUND, metadata=evolve(BOUND.metadata, uid=world.claim().uid)))(world),
        ),
    ),
    Case(
        "no volume that would do",
        (make_claim(storage_class="local"), local("small", "1Gi")),
        "2 node(s) didn't find available persistent volumes to bind",
        create(local("v", only={ZONE: ["b"]})),
        told_late=True,
        node_name="m",
    ),
    Case(
        "being deleted",
        (make_claim(deleted=True),),
        'persistentvolumeclaim "c" is being deleted',
        replace(make_claim(uid="another")),
    ),
    Case(
        "namesake recreated, its volume is still the first one's",
        (make_claim(storage_class="local", uid="second"), local("v", claim=make_claim(uid="first"))),
        "2 node(s) didn't find available persistent volumes to bind",
        create(local("w")),
        told_late=True,
    ),
)


def waiting(world: World) -> QueuedPodInfo | None:
    """The pod of the case, if it waits."""
    return next((info for info in world.scheduler.pending() if info.key == "default/p"), None)


def pool(world: World) -> str:
    found = waiting(world)
    return "" if found is None else str(found.pool)


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture
def world(case: Case) -> World:
    """The pod was tried once; so were two others, one of them with a claim of its own."""
    world = World()
    world.create(*case.objects, case.pod)
    world.create(make_claim("own"), make_pod("own", name="other"), make_pod(name="plain"))
    world.settle()
    return world


def test_it_says_why_and_others_go_on(case: Case, world: World) -> None:
    assert pool(world) == "unschedulable"
    condition = world.pod().status.conditions[0]
    assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "Unschedulable")
    assert condition.message == case.message
    assert world.pod("other").spec.node_name
    assert world.pod("plain").spec.node_name
    assert set(world.faults) <= {POST_FILTER_FAULT}
    world.check()


def test_events_about_others_leave_it_alone(case: Case, world: World) -> None:
    world.create(make_claim("another"), make_claim("c", namespace="elsewhere"), make_pod(name="more"))
    world.cluster.delete("PersistentVolumeClaim", "default/own")
    world.settle(BACKOFF)
    assert pool(world) == "unschedulable"
    assert world.pod("more").spec.node_name


def test_the_right_event_brings_it_back(case: Case, world: World) -> None:
    case.mend(world)
    world.scheduler.sync()
    assert pool(world) in ("active", "backoff")
    world.settle(BACKOFF)
    pod = world.pod()
    assert pod.spec.node_name
    assert not case.node_name or pod.spec.node_name == case.node_name
    assert set(world.faults) <= {POST_FILTER_FAULT}
    world.check()


def test_a_namesake_is_not_given_what_the_first_one_was_promised() -> None:
    """The claim is recreated while its volume is being bound: the new one gets a volume of its own."""
    world = World(delay=True)
    world.create(make_claim("c", "local", uid="first"), local("v"), make_pod("c"))
    world.settle()
    assert world.waits()
    world.cluster.delete("PersistentVolumeClaim", "default/c")
    world.create(make_claim("c", "local", uid="second"), local("w"))
    world.settle(BACKOFF)
    world.controller.work()
    world.settle(BACKOFF)
    assert world.pod().spec.node_name
    assert world.claim().spec.volume_name == "w"
    reference = world.volume().spec.claim_ref
    assert reference is not None
    assert reference.uid == "first"
    world.check()


def test_a_claim_that_changes_during_the_attempt_is_not_missed() -> None:
    """The event comes while the pod is being scheduled: it is tried again, and not left waiting."""
    world = World()
    world.create(make_pod("c"))
    world.scheduler.sync()
    told: list[str] = []

    def on_condition(event: Any) -> None:
        # The scheduler has decided, and tells so: only now the claim appears.
        if not told and event.type == "MODIFIED":
            told.append(event.new.status.conditions[0].message)
            world.create(make_claim())

    world.cluster.watch(on_condition, ["Pod"])
    world.settle(BACKOFF)
    assert told == [f'{NOWHERE}persistentvolumeclaim "c" not found.{EARLY}']
    assert world.pod().spec.node_name

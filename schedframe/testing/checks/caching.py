"""The equivalence cache changes no decision about the plugin's pods."""

from __future__ import annotations

from random import Random

from attrs import evolve

from ...api import Pod
from ...cycle.equivalence.cache import EquivalenceCache
from ...cycle.equivalence.fast_search import FastSearch
from ...cycle.verification import VerifyingSearch
from ...errors import VerificationError
from ...framework import Status
from ...state import Cache
from ..stub_handle import StubHandle
from ..worlds.world import World
from .contract import of_hook
from .subject import Subject
from .violation import Check, Violation, having


def cache_changes_no_decision(subject: Subject, world: World) -> None:
    """Place all pods, twice over, with the answers of the plugin cached, and without."""
    handle = StubHandle(world)
    handle.attach_plugin(subject.name, subject.make(handle))

    def report(status: Status, pod: Pod) -> None:
        if isinstance(status.error, VerificationError):
            raise Violation(f"{status.message}; see what pod_signature, depends_on and reads say")

    rng = Random(0)
    fast = FastSearch(EquivalenceCache(handle.objects), rng)
    search = VerifyingSearch(Cache(table=handle.table), rng, fast=fast, report=report)
    for number in range(2):
        for pod in world.pods:
            # Pods that differ in nothing but their names share a class.
            again = evolve(
                pod, metadata=evolve(pod.metadata, name=f"{pod.name}-{number}", uid=f"{pod.uid}-{number}")
            )
            decision = search.decide(handle.runner, again)
            if decision.node_name is not None:
                handle.table.add_pod(decision.node_name, again.with_node_name(decision.node_name))


CHECKS = (
    Check(
        "cache_changes_no_decision",
        of_hook("pod_signature", "Two pods with equal signatures must get equal verdicts and scores"),
        cache_changes_no_decision,
        having("pod_signature"),
        last=True,
    ),
)

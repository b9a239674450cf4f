"""What is known of rejected pods is that of one scheduler, and does not grow with its life."""

from __future__ import annotations

import builtins
from collections.abc import Iterable

import pytest
from attrs import evolve

from schedframe import InMemoryCluster, Pod, Scheduler
from schedframe.cycle import rejections

from .build import make_node, make_pod
from .waiting_worlds import Side


def copies(template: Pod, names: Iterable[str]) -> list[Pod]:
    """Pods that share the spec of *template*."""
    return [evolve(template, metadata=evolve(template.metadata, name=name, uid=name)) for name in names]


def test_a_spec_does_not_carry_rejections_to_another_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    # The address of a framework that is gone may be that of the next one.
    monkeypatch.setattr(
        rejections, "id", lambda thing: 1 if hasattr(thing, "plan") else builtins.id(thing), raising=False
    )
    pods = copies(make_pod("template", cpu=4), ["a", "b"])

    def class_of_first(cpu: int) -> object:
        cluster = InMemoryCluster()
        cluster.create(make_node("n0", cpu=cpu))
        for pod in pods:
            cluster.create(pod)
        with Scheduler(cluster) as scheduler:
            assert scheduler.rejections is not None
            assert scheduler.rejections.class_of(pods[0]) is None
            scheduler.run_until_idle()
            return scheduler.rejections.class_of(pods[0])

    first, second = class_of_first(1), class_of_first(2)
    assert first is not None
    assert second is not None
    assert first is not second


def test_a_spec_keeps_a_bounded_number_of_classes() -> None:
    side = Side(True, None)
    known = side.scheduler.rejections
    assert known is not None
    known.max_classes = 20
    side.cluster.create(make_node("n0", cpu=1))
    template = make_pod("template", cpu=4)
    sizes = []
    for number in range(60):
        (pod,) = copies(template, [f"p{number}"])
        side.cluster.create(evolve(pod, metadata=evolve(pod.metadata, labels={"index": str(number)})))
        side.scheduler.run_until_idle()
        sizes.append(len(template.spec.memo[rejections._CLASSES][1]))
    assert max(sizes) == known.max_classes + 1
    assert sizes[-1] < max(sizes)
    side.scheduler.close()


def test_a_fault_forgets_what_specs_keep() -> None:
    side = Side(True, None)
    known = side.scheduler.rejections
    assert known is not None
    side.cluster.create(make_node("n0", cpu=1))
    pod, _ = pods = copies(make_pod("template", cpu=4), ["a", "b"])
    for each in pods:
        side.cluster.create(each)
    side.scheduler.run_until_idle()
    assert known.class_of(pod) is not None
    known._after_fault(IndexError("out of step"), pod)
    assert known.class_of(pod) is None
    side.scheduler.close()

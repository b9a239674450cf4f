"""Tasks that wait cost nothing while others end, and a refused reservation gives back what it took."""

from __future__ import annotations

import pytest
from attrs import define

from schedframe import Pod, Simulation, Status, VirtualClock, hookimpl
from schedframe.embed import Embedding, Task, Worker
from schedframe.testing import node, pod


@pytest.mark.parametrize("waiting", [10, 100, 1000])
def test_steps_after_a_finish_do_not_grow_with_the_backlog(waiting: int) -> None:
    clock, placed = VirtualClock(), list[str]()
    workers = [Worker(f"w{i}", {"cpu": 4}) for i in range(5)]
    with Embedding[Task, Worker](
        workers, on_place=lambda task, worker: placed.append(task.key), clock=clock
    ) as embedded:
        for i in range(20 + waiting):
            embedded.submit(Task(f"t{i}", {"cpu": 1}))
        embedded.run_until_idle()
        assert len(placed) == 20
        for number in range(5):
            clock.advance(1)
            embedded.finish(placed[number])
            steps = 1
            while (deadline := embedded.step()) is not None and deadline <= clock():
                steps += 1
            assert steps <= 3
            assert len(placed) == 21 + number


@pytest.mark.parametrize("failing", ["reserve", "permit", "pre-bind"])
def test_what_a_plugin_reserved_is_given_back_wherever_a_later_plugin_fails(failing: str) -> None:
    held = set[str]()

    @define(eq=False)
    class Licences:
        @hookimpl
        def reserve(self, pod: Pod) -> Status | None:
            held.add(pod.name)
            return None

        @hookimpl
        def unreserve(self, pod: Pod) -> None:
            held.discard(pod.name)

    @define(eq=False)
    class Fails:
        @hookimpl
        def reserve(self, pod: Pod) -> Status | None:
            return Status.unschedulable("no") if failing in pod.name and failing == "reserve" else None

        @hookimpl
        def permit(self, pod: Pod) -> Status | None:
            if failing in pod.name and failing == "permit":
                raise RuntimeError("permit broke")
            return None

        @hookimpl
        def pre_bind(self, pod: Pod) -> Status | None:
            if failing in pod.name and failing == "pre-bind":
                raise RuntimeError("pre_bind broke")
            return None

    with Simulation([node("n")], plugins=[Licences, Fails]) as simulation:
        simulation.schedule([pod(f"fails-in-{failing}"), pod("works")])
    assert held == {"works"}

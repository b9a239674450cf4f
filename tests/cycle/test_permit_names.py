"""A permission by a name that no pod can wait for is reported."""

from __future__ import annotations

import pytest
from attrs import define

from schedframe import CycleState, InMemoryCluster, Pod, Scheduler, Status, hookimpl
from schedframe.cycle import observing
from schedframe.testing import node, pod


@define(eq=False)
class Gang:
    """Lets each pod wait."""

    @hookimpl
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return Status.wait(60)


def test_a_permission_by_a_wrong_name_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    cluster = InMemoryCluster([node("n").allocatable(cpu="4", pods=9), pod("p")])
    faults: list[str] = []
    with Scheduler(
        cluster,
        seed=0,
        plugins=[Gang()],
        observers=[observing(faulted=lambda status, pod: faults.append(status.message))],
    ) as scheduler:
        scheduler.run_until_idle()
        (waiting,) = scheduler.core.waiting
        waiting.allow("Gnag")
        scheduler.run_until_idle()
        assert faults == ["no permit plugin of profile default-scheduler is named Gnag; pods wait for: Gang"]
        assert "allow: Gnag failed for pod default/p" in caplog.text
        waiting.allow("Gang")
        waiting.allow("Gang")
        waiting.allow("Gnag")  # too late to matter: the pod does not wait any more
        scheduler.run_until_idle()
        bound = cluster.get("Pod", "default/p")
        assert bound is not None
        assert (bound.spec.node_name, len(faults)) == ("n", 1)

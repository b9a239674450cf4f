"""The plugin in a scheduler that found it by its entry point, and against the contract."""

from __future__ import annotations

from typing import Any

import pytest
from schedframe_maintenance import ERR_SOON_DOWN, Maintenance, MaintenanceArgs

from schedframe import InMemoryCluster, Scheduler, Simulation, VirtualClock
from schedframe.testing import check_plugin, node, pod

LONG = {"example.com/long-running": "yes"}
SOON = {"example.com/maintenance": "soon"}


def config(**args: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"multiPoint": {"enabled": [{"name": "Maintenance"}]}},
                "pluginConfig": [{"name": "Maintenance", "args": args}],
            }
        ],
    }


def test_it_is_found_by_its_name_and_changes_placements() -> None:
    simulation = Simulation([node("stays"), node("goes").labels(SOON)], config())
    answer = simulation.evaluate(pod("long").labels(LONG))
    assert answer.feasible == ["stays"]
    status = answer.statuses["goes"]
    assert status is not None
    assert (status.plugin, status.reasons) == ("Maintenance", (ERR_SOON_DOWN,))
    assert sorted(simulation.evaluate(pod("short")).feasible) == ["goes", "stays"]


@pytest.mark.parametrize(("label", "feasible"), [("other", 1), ("example.com/maintenance", 0)])
def test_labels_can_be_chosen(label: str, feasible: int) -> None:
    simulation = Simulation([node("n").labels(SOON)], config(nodeLabel=label))
    assert len(simulation.evaluate(pod("long").labels(LONG)).feasible) == feasible


def test_a_pod_waits_until_the_maintenance_is_over() -> None:
    cluster = InMemoryCluster(
        [node("n").labels(SOON), pod("long").labels(LONG)], clock=(clock := VirtualClock())
    )
    scheduler = Scheduler(cluster, config(), clock=clock)
    scheduler.run_until_idle()
    (waiting,) = scheduler.pending()
    assert waiting.unschedulable_plugins == ("Maintenance",)
    assert ERR_SOON_DOWN in str(scheduler.pending())
    cluster.apply(node("n"))
    scheduler.run_until_idle()
    assert not scheduler.pending()


def test_it_keeps_the_contract() -> None:
    # These labels are among those of the clusters that the check makes up.
    check_plugin(Maintenance, MaintenanceArgs(node_label="disk", pod_label="app"), max_examples=10)

"""Commands with pod groups: ``--feature-gates`` of explain, schedule and rbac."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from schedframe.api import PodGroup
from schedframe.testing.api_server import ApiServer
from tests.cycle.pod_groups.helpers import ZONE, group, pod, zoned

from .conftest import Cli

Write = Callable[[str, str], str]
GATES = "--feature-gates=GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true"
OBJECTS = [
    zoned("a0", "a", cpu=2),
    zoned("b0", "b", cpu=1),
    group("g", 3, ZONE),
    *[pod(f"w{i}", "g") for i in range(3)],
]


@pytest.fixture
def cluster(write: Write) -> str:
    items = [{"apiVersion": "v1", **each} for each in OBJECTS]
    return write("cluster.json", json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))


def test_a_member_is_explained_with_its_group(cli: Cli, cluster: str) -> None:
    result = cli("explain", "w0", cluster, GATES)
    assert (result.code, result.err) == (1, "")
    assert "default/w0 waits for its group default/g: 0/2 placements are available" in result.out
    assert "a: 2 of 3 fit" in result.out
    assert "to run it, make room for 1 more pod in a" in result.out


def test_a_member_in_a_real_cluster_is_explained_with_its_group(cli: Cli, tmp_path: Path) -> None:
    with ApiServer() as server:
        server.serve(PodGroup)
        for each in OBJECTS:
            server.create({"apiVersion": "v1", **each})
        kubeconfig = str(server.kubeconfig(tmp_path / "kubeconfig"))
        result = cli("explain", "w0", "--kubeconfig", kubeconfig, GATES, "-o", "json")
    assert result.code == 1
    assert json.loads(result.out)["group"]["change"] == "make room for 1 more pod in a"


def test_the_members_of_a_gang_are_placed_together_or_not_at_all(cli: Cli, cluster: str) -> None:
    assert "placed all 3 pending pods" in cli("schedule", cluster).out
    assert "placed 0 of 3" in cli("schedule", cluster, GATES).out


def test_a_group_preempts_with_the_priority_of_its_class(cli: Cli, write: Write) -> None:
    low = pod("low", cpu=2, nodeName="a0")
    urgent = {"kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 10}
    waits = group("g", 1, priorityClassName="urgent")
    objects = [zoned("a0", "a", cpu=2), low, urgent, waits, pod("w0", "g", cpu=2)]
    versions = {"PriorityClass": "scheduling.k8s.io/v1"}
    items = [{"apiVersion": versions.get(each["kind"], "v1"), **each} for each in objects]
    path = write("urgent.json", json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    gates = "--feature-gates=GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true"
    assert "to make room, default/low would be evicted" in cli("explain", "w0", path, gates).out


def test_a_gate_without_those_that_it_needs_is_refused(cli: Cli, cluster: str) -> None:
    result = cli("explain", "w0", cluster, "--feature-gates", "GangScheduling=true")
    assert result.code == 2
    assert "depends on GenericWorkload" in result.err


def test_the_rights_of_a_scheduler_with_groups(cli: Cli) -> None:
    def rules(*arguments: str) -> set[tuple[str, str]]:
        roles = [each for each in yaml.safe_load_all(cli("rbac", *arguments).out) if "rules" in each]
        found = [each for role in roles for each in role["rules"]]
        return {(verb, name) for each in found for name in each["resources"] for verb in each["verbs"]}

    added = rules(GATES) - rules()
    assert added == {
        *[(verb, "podgroups") for verb in ("get", "list", "watch")],
        ("patch", "podgroups/status"),
    }

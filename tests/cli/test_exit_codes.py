"""Exit codes: what became of the pods, and what was wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from schedframe import NodeInfo, hookimpl
from schedframe.cli import exits
from tests.configurations import configuration, enabling

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]


class Failing:
    @hookimpl
    def filter(self, node_info: NodeInfo) -> None:
        raise RuntimeError(node_info.name)


def limit(cpu: str) -> dict[str, Any]:
    spec = {"limits": [{"type": "Container", "max": {"cpu": cpu}}]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"}, "spec": spec}


def quota(pods: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {"pods": str(pods)}},
    }


CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "disk.example.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {
        "storageClassName": "fast",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
WITH_CLAIM = pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
MONITOR = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": {"name": "m"}}


@pytest.mark.parametrize(
    ("objects", "code"),
    [
        ([node("a"), pod("p")], exits.SUCCESS),
        ([node("a"), CLASS, CLAIM, WITH_CLAIM], exits.SUCCESS),
        ([node("a"), pod("p", on="a")], exits.SUCCESS),
        ([node("a")], exits.SUCCESS),
        ([node("a"), pod("p"), MONITOR], exits.SUCCESS),
        ([node("a"), pod("p"), pod("big", "5")], exits.SOME_PENDING),
        ([node("a"), pod("p") | {"kind": "Podd"}], exits.BAD_INPUT),
        ([node("a"), MONITOR], exits.BAD_INPUT),
        ([MONITOR], exits.BAD_INPUT),
        ([node("a"), pod("p", priorityClassName="none")], exits.REFUSED),
        ([node("a"), pod("p", "2"), limit("1")], exits.REFUSED),
        ([node("a"), pod("p", "2"), limit("1"), pod("q") | {"kind": "Podd"}], exits.BAD_INPUT),
        ([node("a"), pod("p"), pod("q"), quota(1)], exits.REFUSED),
        ([node("a"), pod("p"), pod("big", "5"), quota(1)], exits.REFUSED),
        ([node("a"), pod("p"), quota(1)], exits.SUCCESS),
    ],
)
def test_what_became_of_the_pods(cli: Cli, write: Write, objects: list[Any], code: int) -> None:
    result = cli("schedule", write("cluster.yaml", text(*objects)))
    assert (result.code, result.err if result.code != code else "") == (code, "")
    # what a quota would refuse is scheduled all the same
    has_quota = any(each["kind"] == "ResourceQuota" for each in objects)
    assert bool(result.out) == (code not in (exits.BAD_INPUT, exits.REFUSED) or has_quota)


def test_without_pods_skipped_kinds_are_named_with_their_files(cli: Cli, write: Write) -> None:
    result = cli("schedule", write("nodes.yaml", text(node("a"))), write("chart.yaml", text(MONITOR)))
    assert result.err.splitlines() == [
        "note: skipped, as scheduling does not read these kinds: monitoring.coreos.com/v1/ServiceMonitor (1)",
        "nodes.yaml, chart.yaml: there are no pods in it, and other kinds were skipped; "
        "add pods or workloads",
    ]


@pytest.mark.parametrize("command", [["schedule"], ["explain", "p"]])
def test_a_plugin_that_fails_is_no_lack_of_room(cli: Cli, write: Write, command: list[str]) -> None:
    config = write("config.yaml", json.dumps(configuration(enabling(f"{__name__}:Failing"))))
    file = write("cluster.yaml", text(node("a"), pod("p")))
    result = cli(*command, file, "--config", config, "--allow-import", "tests")
    assert result.code == exits.PLUGIN_FAULT
    assert "Failing" in result.out


def test_every_code_is_in_the_help_and_differs(cli: Cli) -> None:
    codes = [exits.SUCCESS, exits.SOME_PENDING, exits.BAD_INPUT, exits.NO_CLUSTER, exits.REFUSED]
    codes += [exits.PLUGIN_FAULT, exits.INTERNAL, exits.INTERRUPTED]
    shown = " ".join(cli("schedule", "--help").out.partition("Exit codes:")[2].split())
    assert len(set(codes)) == len(codes)
    for code in codes:
        assert f" {code} " in f" {shown}"

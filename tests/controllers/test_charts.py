"""The same manifests give the same answer, whichever way they are asked about and in whatever order."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from schedframe import Simulation, explain
from schedframe.api import PersistentVolumeClaim, Pod
from schedframe.cli.app import app
from schedframe.why.explanation import Verdict
from tests.profiles import scaled

from .charts import chart

SEEDS = range(scaled(6))
"""500 of them were tried once; see docs/explanation/offline.md."""


def nodes_of(simulation: Simulation) -> dict[str, str]:
    pods: list[Pod] = simulation.cluster.list("Pod")
    return {pod.name: pod.node_name for pod in pods}


@pytest.mark.parametrize("seed", SEEDS)
def test_schedule_simulation_and_explain_agree(seed: int, tmp_path: Path) -> None:
    objects = chart(seed)
    simulation = Simulation(objects)
    pending = [placement.pod for placement in simulation.schedule() if placement.node_name is None]
    placed = nodes_of(simulation)
    file = tmp_path / "chart.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    result = CliRunner().invoke(app, ["schedule", str(file), "-o", "json"])
    assert result.exit_code in (0, 1), result.output
    answer = json.loads(result.stdout)
    assert {pod["name"]: pod["node"] or "" for pod in answer["pods"]} == placed
    assert result.exit_code == bool(pending)
    for name, node_name in placed.items():
        found = explain(objects, name, after=True, changes=0, nearest=0)
        assert (found.verdict is Verdict.PLACED) == bool(node_name), (name, found.verdict)


def state_of(objects: list[Any]) -> dict[str, Any]:
    """What is there before any pod is scheduled, without what the moment of creation decides."""
    with Simulation(objects) as simulation:
        claims: list[PersistentVolumeClaim] = simulation.cluster.list("PersistentVolumeClaim")
        return {
            "pods": sorted(simulation.cluster.list("Pod"), key=lambda pod: str(pod.key)),
            "claims": {claim.key: (claim.spec.volume_name, claim.status.phase) for claim in claims},
        }


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_the_manifests_makes_no_difference(seed: int) -> None:
    objects = chart(seed)
    shuffled = Random(seed).sample(objects, len(objects))
    first, second = state_of(objects), state_of(shuffled)
    assert first["claims"] == second["claims"]
    assert [(pod.key, pod.spec) for pod in first["pods"]] == [(pod.key, pod.spec) for pod in second["pods"]]

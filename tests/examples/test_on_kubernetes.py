"""The manifests of examples/11-on-kubernetes: rights, hardening, chart, alerts and dashboard."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from schedframe.cli.rbac import manifests, plural_of
from schedframe.cluster.kubernetes.resources import _PLURALS
from schedframe.config import load_config
from schedframe.metrics import METRICS

HERE = Path(__file__).parents[2] / "examples" / "11-on-kubernetes"
CHART = HERE / "chart"


def objects(path: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


def rendered(path: Path) -> list[dict[str, Any]]:
    """The template with the default values; only plain references are used."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    text = re.sub(r"\{\{ \.Values\.(\w+) \}\}", lambda match: str(values[match[1]]), path.read_text())
    config = "\n".join(f"    {line}" for line in yaml.safe_dump(values["config"]).splitlines())
    text = text.replace("{{ toYaml .Values.config | indent 4 }}", config)
    assert "{{" not in text
    return [each for each in yaml.safe_load_all(text) if each]


def deployment() -> dict[str, Any]:
    (found,) = objects(HERE / "deployment.yaml")
    return found


def test_the_rights_are_those_that_the_configuration_needs() -> None:
    printed = manifests(HERE / "config.yaml", "python-scheduler", "kube-system", [])
    assert (HERE / "rbac.yaml").read_text() == printed


def test_rights_follow_the_plugins(tmp_path: Path) -> None:
    config = yaml.safe_load((HERE / "config.yaml").read_text())
    config["leaderElection"]["leaderElect"] = False
    names = ["VolumeBinding", "DynamicResources", "DefaultPreemption"]
    config["profiles"][0]["plugins"] = {"multiPoint": {"disabled": [{"name": name} for name in names]}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
    few = manifests(tmp_path / "c.yaml", "s", "ns", [])
    assert "resourceclaims" not in few
    assert "leases" not in few
    assert "delete" not in few
    every = manifests(HERE / "config.yaml", "s", "ns", [])
    assert "resourceclaims/status" in every
    assert "resourceclaims/binding" in every, "v1.36 asks for it when the allocation changes"
    assert "delete" in every
    assert "*" not in every, "no wildcard"


def test_plurals_are_those_of_kubernetes() -> None:
    assert {kind: plural_of(kind) for kind in _PLURALS} == _PLURALS


def test_every_object_is_complete() -> None:
    for path in (HERE / name for name in ("rbac.yaml", "deployment.yaml", "availability.yaml")):
        for each in objects(path):
            assert each["apiVersion"]
            assert each["kind"]
            assert each["metadata"]["name"] == "python-scheduler"
    files = yaml.safe_load((HERE / "kustomization.yaml").read_text())["resources"]
    assert all((HERE / name).is_file() for name in files)
    load_config(HERE / "config.yaml")


def test_the_pods_are_hardened_and_probed() -> None:
    spec = deployment()["spec"]
    assert spec["replicas"] == 2
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        assert container[probe]["httpGet"]["scheme"] == "HTTPS"
    selector = spec["selector"]["matchLabels"]
    assert spec["template"]["metadata"]["labels"] == selector
    budget, policy = objects(HERE / "availability.yaml")
    assert budget["spec"]["selector"]["matchLabels"] == selector
    assert policy["spec"]["podSelector"]["matchLabels"] == selector
    account = next(each for each in objects(HERE / "rbac.yaml") if each["kind"] == "ServiceAccount")
    assert pod["serviceAccountName"] == account["metadata"]["name"]


@pytest.mark.parametrize("name", ["deployment.yaml", "availability.yaml", "rbac.yaml"])
def test_the_chart_with_its_values_is_the_same(name: str) -> None:
    assert rendered(CHART / "templates" / name) == objects(HERE / name)


def test_the_chart_has_the_same_configuration() -> None:
    (config_map,) = rendered(CHART / "templates" / "config.yaml")
    assert yaml.safe_load(config_map["data"]["config.yaml"]) == objects(HERE / "config.yaml")[0]


@pytest.mark.parametrize("name", ["alerts.yaml", "dashboard.json"])
def test_alerts_and_dashboard_name_metrics_that_exist(name: str) -> None:
    text = (HERE / name).read_text()
    known = {metric.name for metric in METRICS}
    used = set(re.findall(r"\b(?:scheduler|schedframe)_\w+", text))
    assert used
    for each in used:
        assert each in known or re.sub(r"_(bucket|sum|count)$", "", each) in known, each


def test_alerts_and_dashboard_are_complete() -> None:
    (group,) = yaml.safe_load((HERE / "alerts.yaml").read_text())["groups"]
    assert all(rule["expr"] and rule["annotations"]["summary"] for rule in group["rules"])
    panels = json.loads((HERE / "dashboard.json").read_text())["panels"]
    assert all(panel["targets"] and panel["title"] for panel in panels)

"""Options of kube-scheduler up to v1.22 that ``schedframe run`` takes in place of a configuration."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plugins_builtin.legacy.config import migrate, provider
from plugins_builtin.legacy.flags import TAKEN_BY_RUN
from plugins_builtin.legacy.run_flags import ConfigMap, former_configuration
from schedframe.cli.run.former_options import FormerOptions
from schedframe.errors import InputError

from ..legacy.config.manifests import node, pod, policy, thing
from .conftest import Cli

POLICY = {"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "HostName"}]}
OTHER = {**POLICY, "predicates": [{"name": "PodFitsResources"}]}


def configured(found: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """Return the configuration of *options*; every ConfigMap has the policy *found*."""
    asked: list[tuple[str, str]] = []

    def read(namespace: str, name: str) -> ConfigMap | None:
        asked.append((namespace, name))
        return None if found is None else ConfigMap(data={"policy.cfg": json.dumps(found)})

    config = former_configuration(FormerOptions(**options).flags(), read)
    assert bool(asked) == (found is not None)
    return config


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(OTHER), encoding="utf-8")
    return path


def test_each_option_takes_what_it_names(file: Path) -> None:
    name = "ClusterAutoscalerProvider"
    assert configured(algorithm_provider=name) == provider(name).config
    assert configured(policy_config_file=file) == migrate(OTHER).config
    assert configured(POLICY, policy_configmap="p") == migrate(POLICY).config


def test_the_config_map_comes_first_unless_the_file_is_asked_for(file: Path) -> None:
    both = {"policy_configmap": "p", "policy_config_file": file}
    assert configured(POLICY, **both) == migrate(POLICY).config
    assert configured(**both, use_legacy_policy_config="true") == migrate(OTHER).config


def test_the_weight_yields_to_that_of_a_policy(file: Path) -> None:
    def weight(**options: Any) -> Any:
        config = configured(hard_pod_affinity_symmetric_weight=7, **options)
        (profile,) = config["profiles"]
        return [each["args"] for each in profile["pluginConfig"] if each["name"] == "InterPodAffinity"]

    assert weight() == [{"hardPodAffinityWeight": 7}]
    assert weight(policy_config_file=file) == [{"hardPodAffinityWeight": 7}]
    file.write_text(json.dumps({**OTHER, "hardPodAffinitySymmetricWeight": 3}), encoding="utf-8")
    assert weight(policy_config_file=file) == [{"hardPodAffinityWeight": 3}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy_configmap": "p"}, "there is no ConfigMap kube-system/p"),
        ({"policy_configmap": "p", "policy_configmap_namespace": "n"}, "there is no ConfigMap n/p"),
        ({"algorithm_provider": "Other"}, "Other is neither DefaultProvider nor ClusterAutoscalerProvider"),
        ({"algorithm_provider": "DefaultProvider", "policy_configmap": "p"}, "a policy is given, too"),
        ({"use_legacy_policy_config": "yes", "policy_configmap": "p"}, "'yes' is neither true nor false"),
        ({"use_legacy_policy_config": "true", "policy_configmap": "p"}, "there is no file"),
    ],
)
def test_what_cannot_be_is_an_input_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        former_configuration(FormerOptions(**options).flags(), lambda namespace, name: None)


def test_the_log_names_the_successor_and_what_is_not_kept(caplog: pytest.LogCaptureFixture) -> None:
    labels = [
        {"name": "a", "weight": weight, "argument": {"labelPreference": {"label": "a", "presence": presence}}}
        for weight, presence in ((97, True), (89, False))
    ]
    with caplog.at_level(logging.WARNING, "schedframe.run"):
        configured({**POLICY, "priorities": labels}, policy_configmap="p")
    assert [record.getMessage() for record in caplog.records] == [
        "--policy-configmap: write a configuration with schedframe config migrate, and use --config",
        "NOT KEPT: priorities: NodeLabel scores its labels with equal weights",
    ]


# ---- on the command line -----------------------------------------------------------------------------------


def test_the_options_are_those_that_run_takes() -> None:
    options = {f"--{each.replace('_', '-')}" for each in FormerOptions.__annotations__}
    assert options == TAKEN_BY_RUN


def test_a_configuration_besides_is_refused(cli: Cli, file: Path) -> None:
    failed = cli("run", "--config", file, "--policy-config-file", file)
    assert failed.code == 2
    assert "--policy-config-file: --config is given, too" in failed.err


def test_the_config_map_is_read_from_the_cluster(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="the extra kubernetes is not installed")
    from schedframe.testing.api_server import ApiServer

    with ApiServer() as server:
        server.serve(ConfigMap)
        metadata = {"name": "p", "namespace": "kube-system"}
        policy = json.dumps({**POLICY, "predicates": [{"name": "NoSuchPredicate"}]})
        server.create(
            {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"policy.cfg": policy}}
        )
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig")
        refused = cli("run", "--kubeconfig", kubeconfig, "--policy-configmap", "p")
        missing = cli("run", "--kubeconfig", kubeconfig, "--policy-configmap", "q")
    assert refused.code == 2
    assert "predicates[0].name" in refused.err
    assert missing.code == 2
    assert "there is no ConfigMap kube-system/q" in missing.err


def test_run_places_pods_by_a_policy_of_the_cluster(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp", reason="the extra kubernetes is not installed")
    from schedframe.testing.api_server import ApiServer

    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    avoided = {"preferAvoidPods": [{"podSignature": {"podController": owner}}]}
    priorities = [
        {"name": "NodePreferAvoidPodsPriority", "weight": 10_000},
        {"name": "MostRequestedPriority", "weight": 1},
    ]
    text = json.dumps(policy(predicates=[{"name": "PodFitsResources"}], priorities=priorities))
    with ApiServer() as server:
        server.serve(ConfigMap)
        metadata = {"name": "p", "namespace": "kube-system"}
        server.create(thing("ConfigMap", "p", metadata=metadata, data={"policy.cfg": text}))
        used = node("used")
        used["metadata"]["annotations"] = {
            "scheduler.alpha.kubernetes.io/preferAvoidPods": json.dumps(avoided)
        }
        for manifest in (used, node("empty"), pod("there", nodeName="used")):
            server.create(manifest)
        for name, owners in (("free", []), ("owned", [owner])):
            server.create(pod(name, "100m", owners=owners, schedulerName="default-scheduler"))
        arguments = ("--policy-configmap", "p", "--leader-elect", "false", "--verbose", "--kubeconfig")
        command = [sys.executable, "-m", "schedframe", "run", *arguments]
        with subprocess.Popen(
            [*command, str(server.kubeconfig(tmp_path / "kubeconfig"))], stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            placed = (line for line in process.stderr if " placed pod=" in line)
            found = {next(placed).partition(" placed ")[2].strip() for _ in range(2)}
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=20)
    assert process.returncode == 0
    assert found == {"pod=default/free attempt=1 node=used", "pod=default/owned attempt=1 node=empty"}

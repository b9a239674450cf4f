"""The command ``snapshot``: its files, and that the other commands read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from .conftest import Cli
from .manifests import node, pod

pytest.importorskip("aiohttp", reason="the extra kubernetes is not installed")
pytest.importorskip("msgspec", reason="the extra kubernetes is not installed")

from schedframe.testing.api_server import ApiServer

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: acme-scheduler
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    with ApiServer() as server:
        for name in ("acme-a", "acme-b"):
            made = node(name)
            made["metadata"]["annotations"] = {"acme.com/rack": "r1", "vault.kubernetes.io/token": "acme"}
            server.create(made)
        server.create(pod("acme-web", schedulerName="acme-scheduler"))
        server.create(pod("acme-old", on="acme-a", schedulerName="acme-scheduler"))
        yield server.kubeconfig(tmp_path / "kubeconfig")


def test_the_configuration_is_written_beside_with_the_same_names(
    cli: Cli, kubeconfig: Path, tmp_path: Path
) -> None:
    config, out = tmp_path / "config.yaml", tmp_path / "snapshot.json"
    config.write_text(CONFIG, encoding="utf-8")
    result = cli("snapshot", "--kubeconfig", kubeconfig, "--anonymize", "--config", config, "-o", out)
    assert (result.code, result.out) == (0, "")
    beside = Path(f"{out}.config.yaml")
    assert f"note: the configuration with the same replacements is in {beside}" in result.err.splitlines()
    assert "acme" not in out.read_text(encoding="utf-8") + beside.read_text(encoding="utf-8")
    (profile,) = yaml.safe_load(beside.read_text(encoding="utf-8"))["profiles"]
    pods = [each for each in json.loads(out.read_text(encoding="utf-8"))["items"] if each["kind"] == "Pod"]
    assert {each["spec"]["schedulerName"] for each in pods} == {profile["schedulerName"]}
    answer = cli("schedule", out, "--config", beside, "-o", "json")
    assert answer.code == 0
    assert json.loads(answer.out)["summary"]["placed"] == 1


def test_annotations_are_dropped_unless_they_are_named(cli: Cli, kubeconfig: Path) -> None:
    text = cli("snapshot", "--kubeconfig", kubeconfig).out
    assert "annotations" not in text
    named = cli("snapshot", "--kubeconfig", kubeconfig, "--keep-annotation", "acme.com/rack").out
    assert '"annotations":{"acme.com/rack":"r1"}' in named
    assert "vault" not in named


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--write-config-to", "c.yaml"], "--write-config-to: counts only with --anonymize; add it"),
        (
            ["--anonymize", "--config", "c.yaml"],
            "--write-config-to: is not given, and the snapshot goes to standard output; "
            "name a file for the configuration",
        ),
    ],
)
def test_options_that_do_not_go_together(cli: Cli, options: list[str], problem: str) -> None:
    result = cli("snapshot", *options)
    assert (result.code, result.out, result.err) == (2, "", f"{problem}\n")


def test_the_help_says_what_stays(cli: Cli) -> None:
    text = " ".join(cli("snapshot", "--help").out.split())
    assert "Secrets, environment" not in text
    for phrase in ("only the fields that scheduling reads", "What stays:", "--keep-annotation"):
        assert phrase in text

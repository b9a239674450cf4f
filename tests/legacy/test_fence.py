"""Former names of Kubernetes are in one package, which no v1 configuration imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    score: {disabled: [{name: ImageLocality}], enabled: [{name: TaintToleration, weight: 5}]}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
- schedulerName: batch
  plugins: {multiPoint: {enabled: [{name: SOMETHING}]}}
extenders:
- {urlPrefix: "http://127.0.0.1:1", filterVerb: f, ignorable: true, managedResources: [{name: example.com/x}]}
"""
TODAY = CONFIG.replace("SOMETHING", "NodeName")
FORMER = CONFIG.replace("SOMETHING", "NodeLabel")
CLUSTER = """\
apiVersion: v1
kind: Node
metadata: {name: n}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "9"}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
"""
IN_PYTHON = """
from pathlib import Path
from schedframe import InMemoryCluster, Scheduler, load_config, load_manifests
cluster = InMemoryCluster()
with Scheduler(cluster, load_config("config.yaml")) as scheduler:
    for _, each in load_manifests(Path("cluster.yaml")):
        cluster.create(each)
    scheduler.run_until_idle()
assert cluster.get("Pod", "default/p").node_name == "n"
"""
COMMAND = """
from schedframe.cli.main import run
assert run({arguments!r}) == {code}
"""
COMMANDS = [
    ["schedule", "cluster.yaml", "--config", "config.yaml"],
    ["explain", "p", "cluster.yaml", "--config", "config.yaml"],
    ["config", "check", "config.yaml"],
    ["config", "show", "config.yaml"],
    ["rbac", "--config", "config.yaml"],
    ["run", "--config", "config.yaml", "--write-config-to", "written.yaml"],
    ["run", "--help"],
]


def imported(folder: Path, program: str) -> list[str]:
    """Return the modules of the package that *program* imports in a fresh process."""
    program += (
        "\nimport sys\nprint(*[name for name in sys.modules if name.startswith('plugins_builtin.legacy')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(TODAY, encoding="utf-8")
    (tmp_path / "former.yaml").write_text(FORMER, encoding="utf-8")
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    return tmp_path


def test_a_scheduler_of_a_v1_configuration_imports_none_of_it(folder: Path) -> None:
    assert imported(folder, IN_PYTHON) == []


def test_commands_with_a_v1_configuration_import_none_of_it(folder: Path) -> None:
    program = "".join(COMMAND.format(arguments=each, code=0) for each in COMMANDS)
    assert imported(folder, program) == []
    assert (folder / "written.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "module"),
    [
        (["config", "migrate", "--algorithm-provider", "DefaultProvider"], 0, "config.component"),
        (["schedule", "cluster.yaml", "--config", "former.yaml"], 0, "plugins.node_label"),
        (["schedule", "cluster.yaml", "--disable-preemption"], 2, "flags"),
    ],
)
def test_former_names_import_what_they_need(
    folder: Path, arguments: list[str], code: int, module: str
) -> None:
    assert f"plugins_builtin.legacy.{module}" in imported(
        folder, COMMAND.format(arguments=arguments, code=code)
    )

"""Shell recipes of the documentation run as printed, in a folder that has just the files they read."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests import warm

from .snippets import PAGES, Block, blocks, page_id

NOT_RUN: Final[Mapping[str, str]] = {
    "kubectl": "needs a cluster",
    "--kubeconfig": "needs a cluster",
    "--context": "needs a cluster",
    "schedframe snapshot": "needs a cluster",
    "schedframe run": "needs a cluster",
    "kube-apiserver": "needs a cluster",
    "pip install": "needs the network",
    "cluster-trace-gpu": "needs a data set from the network",
    "pytest": "is the suite that this test is part of",
    "schedframe bench": "takes minutes; tests/bench runs the templates",
    "schedframe compare": "needs two runs; tests/cli/test_compare.py has some",
    "docs/_tools": "takes an hour",
    "nodes.yaml pod.yaml --config kube-scheduler.yaml": "needs an extender that answers",
    "rack-rank": "is followed by tests/testing/test_documentation.py",
    "cat > cluster.yaml": "is followed by tests/testing/test_documentation.py",
}
"""Part of a block → why it is not run."""

NODE = """
- apiVersion: v1
  kind: Node
  metadata: {name: %s, labels: {kubernetes.io/hostname: %s}}
  status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
"""
POD = """
- apiVersion: v1
  kind: Pod
  metadata: {name: %s}
  spec: {containers: [{name: c, image: web, resources: {requests: {cpu: "1"}}}]}
"""
PROFILE = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def listed(*items: str) -> str:
    return "apiVersion: v1\nkind: List\nitems:\n" + "".join(items)


FILES: Final[Mapping[str, str]] = {
    "cluster.json": listed(*[NODE % (name, name) for name in ("a", "b")], POD % "waiting"),
    "nodes.json": listed(NODE % ("a", "a")),
    "more-nodes/b.yaml": listed(NODE % ("b", "b")),
    "pods.yaml": listed(POD % "web"),
    "new-pods.yaml": listed(POD % "new"),
    "rendered/web.yaml": listed(*[POD % f"web-{i}" for i in range(5)]),
    "packed.yaml": PROFILE,
    "kube-scheduler.yaml": PROFILE,
}


def recipes() -> list[object]:
    return [
        pytest.param(block, id=f"{page_id(page)}:{block.first_line}")
        for page in PAGES
        for block in blocks(page)
        if block.language == "sh" and not any(part in block.text for part in NOT_RUN)
    ]


@pytest.mark.parametrize("block", recipes())
def test_a_recipe_runs(block: Block, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = warm.environment()
    done = subprocess.run(
        block.text, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    # 1: some pods stay pending, or two results differ.
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout or list(tmp_path.glob("p*.json")) or list(tmp_path.glob("placement.*"))
    assert "Traceback" not in done.stderr


def test_each_exclusion_is_needed() -> None:
    shell = [block.text for page in PAGES for block in blocks(page) if block.language == "sh"]
    assert [part for part in NOT_RUN if not any(part in text for text in shell)] == []


def test_recipes_are_run() -> None:
    assert len(recipes()) >= 7

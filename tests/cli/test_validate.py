"""Manifests that Kubernetes would refuse, and input without anything to schedule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]

MISSPELT = "kind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: c}]\n  nodeSelectr: {disk: ssd}\n"
LINE = (
    "pods.yaml:5: Pod web: spec.nodeSelectr: Kubernetes has no such field here; did you mean nodeSelector?\n"
)


def test_strict_is_the_default(cli: Cli, write: Write) -> None:
    files = [write("nodes.yaml", text(node("a"))), write("pods.yaml", MISSPELT)]
    for arguments in (["schedule"], ["schedule", "--validate=strict"], ["explain", "web"]):
        result = cli(*arguments, *files)
        assert (result.code, result.out, result.err) == (2, "", LINE)


def test_warn_writes_a_line_and_goes_on(cli: Cli, write: Write) -> None:
    files = [write("nodes.yaml", text(node("a"))), write("pods.yaml", MISSPELT)]
    result = cli("schedule", "--validate=warn", *files)
    assert (result.code, result.err) == (0, f"warning: {LINE}")
    result = cli("explain", "--validate=warn", "web", *files)
    assert (result.code, result.err) == (0, f"warning: {LINE}")


def test_ignore_is_silent(cli: Cli, write: Write) -> None:
    files = [write("nodes.yaml", text(node("a"))), write("pods.yaml", MISSPELT)]
    result = cli("schedule", "--validate=ignore", *files)
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("content", ["", "# nothing\n", "---\n---\n", '{"kind": "List", "items": []}'])
def test_input_without_objects_is_refused(cli: Cli, write: Write, content: str) -> None:
    for command in (["schedule"], ["explain", "web"]):
        result = cli(*command, write("pods.yaml", content))
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith("pods.yaml: there are no objects in it; ")


def test_an_empty_folder_and_stdin_are_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = cli("schedule", "-", stdin="")
    assert (result.code, result.err.partition(";")[0]) == (2, "<stdin>: there are no objects in it")
    assert cli("schedule", tmp_path / "empty").code == 2


def test_nothing_to_schedule_has_a_note(cli: Cli, write: Write) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web"}}
    nothing = "note: nothing to schedule: no object is a pod without a node"
    skipped = "note: skipped, as scheduling does not read these kinds: Secret (1)"
    for manifests, notes in (
        ([node("a"), pod("web", on="a")], [nothing]),
        ([pod("web", on="a"), secret], [skipped, nothing]),
    ):
        result = cli("schedule", write("cluster.yaml", text(*manifests)))
        assert result.code == 0
        assert result.err.splitlines() == notes


def test_a_kind_of_another_version_is_named_with_it(cli: Cli, write: Write) -> None:
    foreign = pod("web") | {"apiVersion": "example.com/v2"}
    result = cli("schedule", write("pods.yaml", text(node("a"), foreign)))
    assert "note: skipped, as scheduling does not read these kinds: example.com/v2/Pod (1)" in result.err


def test_a_version_that_kubernetes_does_not_have_is_no_kind_to_skip(cli: Cli, write: Write) -> None:
    result = cli("schedule", write("pods.yaml", text(node("a"), pod("web") | {"apiVersion": "v2"})))
    assert result.code == 2
    assert "Pod web: apiVersion: Kubernetes has no Pod in v2; write v1" in result.err

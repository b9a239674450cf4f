"""``schedframe capacity``: answers, forms, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]


@pytest.fixture
def cluster(write: Write) -> str:
    return write("cluster.yaml", text(node("a"), node("b"), pod("web", "1500m", on="a"), pod("db", "3")))


def test_fit_says_how_many_where_and_what_stops_the_next_one(cli: Cli, cluster: str) -> None:
    result = cli("capacity", "fit", "web", cluster)
    assert result.code == 0
    assert result.out.startswith("1 more of default/web fits\n")
    assert "WHAT STOPS THE NEXT ONE\ndefault/web: 0/2 nodes are available: 2 Insufficient cpu." in result.out
    assert "smallest change: lower the requested cpu from 1.5 to 1: then it runs on" in result.out
    assert "pods that wait, which are placed first: 1;" in result.err


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_fit_as_a_document(cli: Cli, cluster: str, form: str) -> None:
    result = cli("capacity", "fit", "web", cluster, "--as-it-is", "-o", form)
    document = json.loads(result.out) if form == "json" else yaml.safe_load(result.out)
    assert document["apiVersion"] == "schedframe.dev/v1alpha1"
    assert document["kind"] == "CapacityFit"
    assert document["fits"] == {"default/web": 3}
    assert document["nodes"] == {"a": 1, "b": 2}
    assert document["stoppedBy"]["change"]["kind"] == "lower-request"


def test_fit_requires(cli: Cli, cluster: str) -> None:
    assert cli("capacity", "fit", "web", cluster, "--require", "1").code == 0
    assert cli("capacity", "fit", "web", cluster, "--require", "2").code == 1


def test_fit_takes_a_mix_standard_input_and_a_number_at_most(cli: Cli, cluster: str) -> None:
    small = text(pod("small", "100m"))
    words = ("capacity", "fit", cluster, "-", "--mix", "small=2,web=1", "--max", "1", "-o", "json")
    document = json.loads(cli(*words, stdin=small).out)
    assert document["fits"] == {"default/small": 2, "default/web": 1}
    assert (document["rounds"], document["stoppedBy"]) == (1, None)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["cluster.yaml"], "name a pod, or a workload"),
        (["web"], "name at least one file"),
        (["web", "cluster.yaml", "--mix", "web"], "write each name once with a number"),
        (["nothing", "cluster.yaml"], "no pod and no workload is named nothing"),
    ],
)
def test_mistakes(cli: Cli, cluster: str, words: list[str], problem: str) -> None:
    result = cli("capacity", "fit", *words)
    assert (result.code, result.out) == (2, "")
    assert problem in result.err


def test_loss_has_the_worst_first_and_an_exit_code(cli: Cli, cluster: str) -> None:
    result = cli("capacity", "loss", cluster)
    assert result.code == 1
    assert result.out.startswith("DOMAIN  NODES  LOST  RESCHEDULED\na           1     1            0\n")
    assert "LOST WITH a\ndefault/web: nothing makes it again\n" in result.out


def test_loss_as_a_document(cli: Cli, write: Write) -> None:
    result = cli("capacity", "loss", write("nodes.yaml", text(node("a"))), "-o", "json")
    document = json.loads(result.out)
    assert (document["kind"], document["by"]) == ("CapacityLoss", "node")
    assert document["domains"] == [{"domain": "a", "nodes": ["a"], "lost": [], "rescheduled": []}]
    assert result.code == 0


def test_drain_has_steps_what_blocks_and_an_exit_code(cli: Cli, cluster: str) -> None:
    result = cli("capacity", "drain", "a", cluster)
    assert result.code == 1
    assert "BLOCKED\ndefault/web on a: nothing makes it again\n  smallest change: delete it" in result.out
    assert result.out.endswith("a cannot be drained: 1 pods are blocked\n")
    forced = cli("capacity", "drain", "a", cluster, "--force", "-o", "json")
    assert forced.code == 0
    assert json.loads(forced.out)["steps"] == [{"pod": "default/web", "from": "a", "to": None}]

"""``schedframe schedule --explain``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from schedframe.cli.options import with_explain_value

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]


def test_without_a_pod_all_that_stay_pending_are_explained(cli: Cli, write: Write) -> None:
    cluster = write(
        "cluster.yaml", text(node("a"), node("b"), pod("big", "64"), pod("web"), pod("huge", "99"))
    )
    result = cli("schedule", cluster, "--explain")
    assert result.out.count("  a  NodeResourcesFit") == 2
    assert "default/big stays pending: 0/2 nodes are available: 2 Insufficient cpu." in result.out
    assert "default/web fits" not in result.out


@pytest.mark.parametrize("wanted", ["web", "shop/web"])
def test_one_pod_is_explained_as_it_was_at_its_turn(cli: Cli, write: Write, wanted: str) -> None:
    cluster = text(
        node("a"), pod("first", "1", priority=9), pod("web", "3", namespace="shop"), pod("late", "1")
    )
    result = cli("schedule", write("cluster.yaml", cluster), "--explain", wanted)
    assert "shop/web fits 1 of 1 nodes, best is a" in result.out
    assert "TaintToleration 300" in result.out


def test_explaining_changes_no_decision(cli: Cli, write: Write) -> None:
    cluster = write(
        "cluster.yaml", text(*(node(f"n{i}") for i in range(9)), *(pod(f"p{i}") for i in range(20)))
    )
    plain = json.loads(cli("schedule", cluster, "-o", "json").out)
    explained = json.loads(cli("schedule", cluster, "-o", "json", "--explain", "p7").out)
    assert explained["pods"] == plain["pods"]
    assert explained["explanations"]["default/p7"]["best"]


def test_a_pod_that_never_had_a_turn_is_explained_too(cli: Cli, write: Write) -> None:
    cluster = write("cluster.yaml", text(node("a"), pod("web", schedulerName="mine")))
    assert (
        "default/web is left alone: no profile is named mine" in cli("schedule", cluster, "--explain=web").out
    )


def test_the_file_may_stand_after_the_option(cli: Cli, write: Write) -> None:
    cluster = write("cluster.yaml", text(node("a"), pod("big", "64")))
    result = cli("schedule", "--explain", cluster)
    assert "default/big stays pending" in result.out


def test_unknown_ambiguous_and_running_pods_are_refused(cli: Cli, write: Write) -> None:
    pods = pod("web"), pod("web", namespace="shop"), pod("old", on="a")
    cluster = write("cluster.yaml", text(node("a"), *pods))
    unknown, several, running = (
        cli("schedule", cluster, "--explain", name) for name in ("nix", "web", "old")
    )
    assert (unknown.code, several.code, running.code) == (2, 2, 2)
    assert unknown.err.endswith("--explain: no pod is named nix; write its name or namespace/name\n")
    assert "2 pending pods are named web; say which: default/web, shop/web" in several.err
    assert "default/old is on a already" in running.err


def test_bindings_leave_no_place_for_explanations(cli: Cli, write: Write) -> None:
    result = cli("schedule", write("cluster.yaml", text(node("a"))), "--explain", "-o", "bindings")
    assert result.code == 2
    assert "use -o table, wide, json or yaml" in result.err


def test_the_value_is_found_among_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").touch()
    assert with_explain_value(["schedule", "--explain"]) == ["schedule", "--explain=*"]
    assert with_explain_value(["--explain", "web", "f"]) == ["--explain=web", "f"]
    assert with_explain_value(["--explain", "cluster.yaml"]) == ["--explain=*", "cluster.yaml"]
    assert with_explain_value(["--explain", "-"]) == ["--explain=*", "-"]
    assert with_explain_value(["--explain", "-o", "json"]) == ["--explain=*", "-o", "json"]
    assert with_explain_value(["--explain=cluster.yaml"]) == ["--explain=cluster.yaml"]
    assert with_explain_value(["--", "--explain"]) == ["--", "--explain"]

"""``schedframe explain POD FILE…``."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]


@pytest.mark.parametrize(
    ("wanted", "code", "line"),
    [
        ("big", 1, "lower the requested cpu from 64 to 3: then it runs on a"),
        ("default/web", 0, "default/web fits 1 of 1 nodes, best is a"),
        ("old", 0, "default/old is on a: a is the only node on which it can run"),
    ],
)
def test_a_pod_is_explained_and_the_exit_code_tells_whether_it_has_a_node(
    cli: Cli, write: Write, wanted: str, code: int, line: str
) -> None:
    cluster = write("cluster.yaml", text(node("a"), pod("big", "64"), pod("web"), pod("old", on="a")))
    result = cli("explain", wanted, cluster)
    assert (result.code, result.err) == (code, "")
    assert line in result.out


def test_json_and_yaml_hold_the_same(cli: Cli, write: Write) -> None:
    cluster = write("cluster.yaml", text(node("a"), pod("big", "64")))
    as_json = json.loads(cli("explain", "big", cluster, "-o", "json").out)
    assert as_json == yaml.safe_load(cli("explain", "big", cluster, "--output", "yaml").out)
    assert as_json["changes"][0]["edits"][0] == {
        "object": "Pod default/big",
        "field": "spec.containers[0].resources.requests.cpu",
        "before": "64",
        "after": "4",
    }
    assert cli("explain", "big", cluster, "-o", "json", "--changes", "0").out.count('"kind"') == 0


def test_bad_input_is_one_line(cli: Cli, write: Write) -> None:
    cluster = write("cluster.yaml", text(node("a"), pod("p"), pod("p", namespace="b")))
    unknown, several, nothing, missing = (
        cli("explain", *arguments)
        for arguments in (("nix", cluster), ("p", cluster), ("p",), ("p", "nowhere.yaml"))
    )
    assert [each.code for each in (unknown, several, nothing, missing)] == [2, 2, 2, 2]
    fix = "write its name, namespace/name, or a workload such as deployment/web"
    assert unknown.err == f"POD: no pod is named nix; {fix}\n"
    assert several.err == "POD: 2 pods are named p; say which: b/p, default/p\n"
    assert "name at least one file" in nothing.err
    assert missing.err.startswith("nowhere.yaml: cannot be read")
    assert not any(each.out for each in (unknown, several, nothing, missing))

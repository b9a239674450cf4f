"""Configurations that name plugins by import path, on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schedframe import NodeInfo, hookimpl
from tests.configurations import configuration, enabling

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]
HERE = __name__


class Rank:
    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return 100 if node_info.name == "b" else 0


def document(name: str, **plugin_config: Any) -> str:
    profile: dict[str, Any] = enabling(name)
    if plugin_config:
        profile["pluginConfig"] = [{"name": name, **plugin_config}]
    return json.dumps(configuration(profile))


@pytest.fixture
def files(write: Write) -> list[str]:
    return [write("cluster.yaml", text(node("a"), node("b"), pod("p")))]


@pytest.mark.parametrize("command", [["schedule"], ["explain", "p"]])
def test_paths_are_followed_where_an_option_allows_it(
    cli: Cli, write: Write, files: list[str], command: list[str]
) -> None:
    config = write("config.yaml", document(f"{HERE}:Rank"))
    refused = cli(*command, *files, "--config", config)
    assert refused.code == 2
    assert f"--allow-import {HERE}" in refused.err
    assert cli(*command, *files, "--config", config, "--allow-import", "tests").code == 0


@pytest.mark.parametrize("command", ["check", "show"])
def test_checking_follows_no_path(cli: Cli, write: Write, command: str) -> None:
    result = cli("config", command, write("config.yaml", document("no_such_module:Plugin")))
    assert result.code == 0
    if command == "check":
        assert "not followed here and so not checked: no_such_module:Plugin" in result.err


@pytest.mark.parametrize(
    "arguments",
    [["config", "check"], ["config", "show"], ["schedule", "--config"], ["explain", "p", "--config"]],
)
@pytest.mark.parametrize("allowed", [False, True])
def test_a_configuration_cannot_run_code(
    cli: Cli, write: Write, files: list[str], arguments: list[str], allowed: bool
) -> None:
    config = write("config.yaml", document("cProfile:run", args="open('it-ran', 'w')"))
    more = files if "--config" in arguments else []
    option = ["--allow-import", "cProfile"] if allowed and more else []
    result = cli(*arguments, config, *more, *option)
    assert result.code == 2
    assert "cProfile:run" in result.err or "args" in result.err
    assert not Path("it-ran").exists()

"""Plugins that a configuration names by where they are."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from attrs import define, frozen

from schedframe import ConfigError, NodeInfo, Registry, evaluate, hookimpl, load_config
from schedframe.errors import PluginError
from schedframe.framework import registry as module
from schedframe.framework.registry import PLUGIN_GROUP
from schedframe.testing import node, pod

HERE = "tests.framework.test_import_paths"


@frozen
class RankArgs:
    favourite: str = "a"


@define(eq=False)
class Rank:
    args: RankArgs

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return 100 if node_info.name == self.args.favourite else 0


@define(eq=False)
class FromTheFuture:
    requires_schedframe = ">=99"

    @hookimpl
    def score(self) -> int:
        return 0


def config(plugin: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
    profile: dict[str, Any] = {"plugins": {"multiPoint": {"enabled": [{"name": plugin, "weight": 9}]}}}
    if args is not None:
        profile["pluginConfig"] = [{"name": plugin, "args": dict(args)}]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


NODES = [node("a"), node("b")]


def test_a_plugin_by_import_path_takes_part() -> None:
    found = evaluate(NODES, pod("p"), config(f"{HERE}:Rank"))
    assert found.best == ["a"]
    assert found.scores[f"{HERE}:Rank"] == {"a": 900, "b": 0}


def test_its_args_are_structured() -> None:
    assert evaluate(NODES, pod("p"), config(f"{HERE}:Rank", {"favourite": "b"})).best == ["b"]
    with pytest.raises(ConfigError, match=r"pluginConfig\[0\]\.args\.favorite.*did you mean \"favourite\"\?"):
        evaluate(NODES, pod("p"), config(f"{HERE}:Rank", {"favorite": "b"}))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no_such_package:Plugin", "No module named 'no_such_package'; is it on the path of Python"),
        (f"{HERE}:Missing", "has no attribute 'Missing'$"),
        (f"{HERE}:RankArgs", "compares by value"),
        (f"{HERE}:FromTheFuture", "needs schedframe >=99"),
        ("not a path:Plugin", "is no import path; write package.module:Class"),
    ],
)
def test_what_is_not_there_is_a_fault_of_the_field(path: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as error:
        evaluate(NODES, pod("p"), config(path))
    assert "profiles[0].plugins.multiPoint.enabled" in str(error.value)


def test_a_catalogue_alone_says_who_can_look_paths_up() -> None:
    with pytest.raises(ConfigError, match=r"give load_config its full_catalogue\(\)"):
        load_config(config(f"{HERE}:Rank"))


def test_a_registry_knows_paths() -> None:
    registry = Registry.installed()
    assert f"{HERE}:Rank" in registry
    assert registry.factory(f"{HERE}:Rank") is Rank
    assert registry.args_class(f"{HERE}:Rank") is RankArgs
    catalogue = registry.full_catalogue()
    assert catalogue.extended(()).get(f"{HERE}:Rank") is not None
    assert f"{HERE}:Rank" not in catalogue.names()
    assert catalogue.defaults()
    assert catalogue.removed("Rank") is None


def test_names_with_a_colon_are_not_to_be_registered() -> None:
    with pytest.raises(PluginError, match="a name with a colon is an import path; choose another name"):
        Registry.installed().register("mine:Rank", Rank)


def test_a_package_that_cannot_be_loaded_says_what_it_was_made_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Package:
        name = "rank-plugins"
        version = "2.0"
        requires = ("schedframe-extras", "schedframe>=99")

    entry = EntryPoint("Rank", f"{HERE}:NotYet", PLUGIN_GROUP)._for(Package())  # type: ignore[attr-defined]  # as importlib does
    monkeypatch.setattr(module, "entry_points", lambda group: [entry])
    with pytest.raises(PluginError, match=r"\(rank-plugins 2\.0 needs schedframe>=99, and this is"):
        Registry.installed().factory("Rank")

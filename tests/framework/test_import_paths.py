"""Plugins that a configuration names by where they are."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from attrs import define, frozen

from schedframe import (
    ConfigError,
    InMemoryCluster,
    NodeInfo,
    Registry,
    Scheduler,
    Simulation,
    evaluate,
    explain,
    hookimpl,
    load_config,
)
from schedframe.errors import PluginError
from schedframe.framework import registry as module
from schedframe.framework.registry import PLUGIN_GROUP
from schedframe.testing import node, pod
from tests.configurations import configuration

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


class TakesAnything:
    def __init__(self, args: Any) -> None:
        self.args = args

    @hookimpl
    def score(self) -> int:
        return 0


@define(eq=False)
class NoHooks:
    pass


def config(plugin: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
    profile: dict[str, Any] = {"plugins": {"multiPoint": {"enabled": [{"name": plugin, "weight": 9}]}}}
    if args is not None:
        profile["pluginConfig"] = [{"name": plugin, "args": dict(args)}]
    return configuration(profile)


NODES = [node("a"), node("b")]


def test_a_plugin_by_import_path_takes_part() -> None:
    found = evaluate(NODES, pod("p"), config(f"{HERE}:Rank"), allow_imports=[HERE])
    assert found.best == ["a"]
    assert found.scores[f"{HERE}:Rank"] == {"a": 900, "b": 0}


def test_its_args_are_structured() -> None:
    assert evaluate(
        NODES, pod("p"), config(f"{HERE}:Rank", {"favourite": "b"}), allow_imports="tests"
    ).best == ["b"]
    with pytest.raises(ConfigError, match=r"pluginConfig\[0\]\.args\.favorite.*did you mean favourite\?"):
        evaluate(NODES, pod("p"), config(f"{HERE}:Rank", {"favorite": "b"}), allow_imports="tests")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no_such_package:Plugin", "No module named 'no_such_package'; is it on the path of Python"),
        (f"{HERE}:Missing", "has no attribute 'Missing'$"),
        (f"{HERE}:RankArgs", "compares by value"),
        (f"{HERE}:config", "an import path must name a class of a plugin"),
        (f"{HERE}:NoHooks", "implements no extension point"),
        ("not a path:Plugin", "is no import path; write package.module:Class"),
    ],
)
def test_what_is_not_there_is_a_fault_of_the_field(path: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as error:
        evaluate(NODES, pod("p"), config(path), allow_imports=["tests", "no_such_package", "not a path"])
    assert "profiles[0].plugins.multiPoint.enabled" in str(error.value)


def test_a_catalogue_alone_says_who_can_look_paths_up() -> None:
    with pytest.raises(ConfigError, match=r"give load_config the full_catalogue\(\)"):
        load_config(config(f"{HERE}:Rank"))


def test_a_registry_knows_paths() -> None:
    registry = Registry.installed(allow_imports=[HERE])
    assert f"{HERE}:Rank" in registry
    assert f"{HERE}_too:Rank" not in registry
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
    monkeypatch.setattr(module, "entry_points_of", lambda group: [entry])
    with pytest.raises(PluginError, match=r"\(rank-plugins 2\.0 needs schedframe>=99, and this is"):
        Registry.installed().factory("Rank")


# ---- what a configuration may not do -----------------------------------------------------------------------

RUNS_CODE = config("cProfile:run")
RUNS_CODE["profiles"][0]["pluginConfig"] = [{"name": "cProfile:run", "args": "raise SystemExit('it ran')"}]
NOT_ALLOWED = r"followed only where the caller allows it: allow_imports=\[\"%s\"\]"


def asked(how: str, document: Any, **options: Any) -> None:
    if how == "evaluate":
        evaluate(NODES, pod("p"), document, **options)
    elif how == "explain":
        explain([*NODES, pod("p")], "p", document, **options)
    elif how == "Simulation":
        Simulation(NODES, document, **options)
    else:
        Scheduler(InMemoryCluster(), document, **options).close()


@pytest.mark.parametrize("how", ["evaluate", "explain", "Simulation", "Scheduler"])
def test_paths_are_followed_only_where_the_caller_says_so(how: str) -> None:
    with pytest.raises(ConfigError, match=NOT_ALLOWED % HERE):
        asked(how, config(f"{HERE}:Rank"))
    with pytest.raises(ConfigError, match=NOT_ALLOWED % "cProfile"):
        asked(how, RUNS_CODE)
    with pytest.raises(ConfigError, match=NOT_ALLOWED % "cProfile"):
        asked(how, RUNS_CODE, allow_imports=["c", "Profile", "tests"])
    with pytest.raises(ConfigError, match="an import path must name a class of a plugin"):
        asked(how, RUNS_CODE, allow_imports=["cProfile"])
    asked(how, config(f"{HERE}:Rank"), allow_imports=[HERE])


def test_a_module_that_is_not_allowed_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    with pytest.raises(ConfigError):
        evaluate(NODES, pod("p"), config("this:c"))
    assert "this" not in sys.modules


def test_args_of_a_path_without_an_args_class_are_an_object() -> None:
    document = config(f"{HERE}:TakesAnything", {"a": 1})
    evaluate(NODES, pod("p"), document, allow_imports="tests")
    document["profiles"][0]["pluginConfig"][0]["args"] = "text"
    with pytest.raises(ConfigError, match=r"pluginConfig\[0\]\.args.*expected an object"):
        evaluate(NODES, pod("p"), document, allow_imports="tests")


def test_an_effective_configuration_is_not_run_without_its_plugins() -> None:
    registry = Registry.installed(allow_imports=[HERE])
    effective = load_config(config(f"{HERE}:Rank"), catalogue=registry.full_catalogue())
    with pytest.raises(ConfigError, match=NOT_ALLOWED % HERE):
        Simulation(NODES, effective)
    assert Simulation(NODES, effective, registry=registry).evaluate(pod("p")).best == ["a"]

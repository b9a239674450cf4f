"""Plugins that a program passes: in every form, enabled in every profile unless a profile names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from attrs import define, field, frozen

from schedframe import (
    ConfigError,
    Enabled,
    InMemoryCluster,
    NodeInfo,
    Scheduler,
    Simulation,
    evaluate,
    explain,
    hookimpl,
    load_config,
)
from schedframe.embed import Embedding
from schedframe.errors import PluginError
from schedframe.testing import node, pod
from tests.configurations import configuration

NODES = [node("a"), node("b")]


@frozen
class RankArgs:
    favourite: str = "a"


@define(eq=False)
class Rank:
    args: RankArgs = field(factory=RankArgs)

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return 100 if node_info.name == self.args.favourite else 0


class Counting:
    """Takes an object of the program besides what a scheduler offers."""

    def __init__(self, calls: list[str], args: Any, handle: Any) -> None:
        assert args is None
        assert handle is not None
        self.calls = calls

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        self.calls.append(node_info.name)
        return 100 if node_info.name == "b" else 0


def made(args: Any, handle: Any) -> Any:
    return Rank(RankArgs("b"))


def pod_of(profile: str) -> dict[str, Any]:
    manifest = dict(pod("p"))
    return {**manifest, "spec": {**manifest["spec"], "schedulerName": profile}}


def naming(*plugins: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"plugins": {"multiPoint": {"enabled": list(plugins)}}, **fields}


@pytest.mark.parametrize(
    ("plugins", "name", "best"),
    [
        ([Rank], "Rank", "a"),
        ((Rank,), "Rank", "a"),
        ([Rank(RankArgs("b"))], "Rank", "b"),
        ([partial(Rank, args=RankArgs("b"))], "Rank", "b"),
        ([partial(Counting, [])], "Counting", "b"),
        ([partial(Counting, calls=[])], "Counting", "b"),
        ([made], "made", "b"),
        ([Enabled(lambda args, handle: Rank(RankArgs("b")), name="Made")], "Made", "b"),
        ([Enabled(Rank, args=RankArgs("b"))], "Rank", "b"),
        ([Enabled(Rank, args={"favourite": "b"}, name="Other")], "Other", "b"),
        ({"Other": Rank}, "Other", "a"),
        ({"Other": Enabled(Rank, args={"favourite": "b"})}, "Other", "b"),
        ({"Other": lambda args, handle: Counting([], args, handle)}, "Other", "b"),
        ({"Other": Rank(RankArgs("b"))}, "Other", "b"),
    ],
)
def test_a_plugin_that_is_passed_takes_part(plugins: Any, name: str, best: str) -> None:
    found = evaluate(NODES, pod("p"), plugins=plugins)
    assert name in found.scores
    assert found.best == [best]
    simulation = Simulation(NODES, plugins=plugins)
    assert [each.node_name for each in simulation.schedule([pod("p")])] == [best]
    explained = explain(NODES, pod("p"), plugins=plugins).evaluation
    assert explained is not None
    assert explained.best == [best]
    cluster = InMemoryCluster([*NODES, pod("p")])
    with Scheduler(cluster, plugins=plugins) as scheduler:
        scheduler.run_until_idle()
    placed = cluster.get("Pod", "default/p")
    assert placed is not None
    assert placed.spec.node_name == best


def test_weights_are_given_with_the_plugin() -> None:
    found = evaluate(NODES, pod("p"), plugins=[Enabled(Rank, weight=7)])
    assert found.scores["Rank"] == {"a": 700, "b": 0}


def test_passing_is_the_same_as_naming_in_the_document() -> None:
    passed = Scheduler(InMemoryCluster(), plugins=[Enabled(Rank, weight=7, args={"favourite": "b"})])
    document = configuration(
        naming({"name": "Rank", "weight": 7}, pluginConfig=[{"name": "Rank", "args": {"favourite": "b"}}])
    )
    named = Scheduler(InMemoryCluster(), document, plugins=[Rank])
    assert passed.config == named.config


def test_it_is_enabled_in_every_profile() -> None:
    document = configuration({"schedulerName": "one"}, naming({"name": "ImageLocality"}, schedulerName="two"))
    simulation = Simulation(NODES, document, plugins=[Enabled(Rank, weight=2)])
    for name in ("one", "two"):
        assert simulation.evaluate(pod_of(name)).scores["Rank"] == {"a": 200, "b": 0}


def test_a_configuration_that_names_it_decides() -> None:
    document = configuration(
        {"schedulerName": "one"}, naming({"name": "Rank", "weight": 3}, schedulerName="two")
    )
    simulation = Simulation(NODES, document, plugins=[Rank])
    assert "Rank" not in simulation.evaluate(pod_of("one")).scores
    assert simulation.evaluate(pod_of("two")).scores["Rank"] == {"a": 300, "b": 0}
    off = configuration({"plugins": {"score": {"disabled": [{"name": "Rank"}]}}})
    assert "Rank" not in evaluate(NODES, pod("p"), off, plugins=[Rank]).scores


def test_arguments_of_the_configuration_apply() -> None:
    document = configuration({"pluginConfig": [{"name": "Rank", "args": {"favourite": "b"}}]})
    assert evaluate(NODES, pod("p"), document, plugins=[Rank]).best == ["b"]


def test_an_effective_configuration_is_extended() -> None:
    effective = load_config()
    found = evaluate(NODES, pod("p"), effective, plugins=[Enabled(Rank, weight=2)])
    assert found.scores["Rank"] == {"a": 200, "b": 0}
    assert "Rank" not in effective.profiles[0].names


def test_an_embedding_enables_it() -> None:
    with_plugins: Callable[..., Any] = Embedding
    embedding = with_plugins((), plugins=[Rank])
    profile = embedding.scheduler.config.profiles[0]
    assert "Rank" in profile.names


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        (Rank, "neither a sequence nor a mapping"),
        ("Rank", "neither a sequence nor a mapping"),
        (["Rank"], "'Rank' is a name"),
        ([lambda args, handle: None], r"has no name; pass \{name: plugin\} or Enabled"),
        ([Rank, Rank], "plugin Rank is registered already"),
        ([RankArgs], "compares by value"),
        ([object()], "object implements no extension point"),
        ({"NodeName": Rank}, "plugin NodeName is registered already"),
    ],
)
def test_what_cannot_be_passed(plugins: Any, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        evaluate(NODES, pod("p"), plugins=plugins)


@pytest.mark.parametrize("weight", [0, -1, 1.5, True, "3"])
def test_a_weight_is_a_number_from_1(weight: Any) -> None:
    with pytest.raises(PluginError, match="a weight is a whole number from 1"):
        Enabled(Rank, weight=weight)


def test_a_weight_is_given_once() -> None:
    with pytest.raises(PluginError, match="weight 2, and the configuration names it too"):
        evaluate(NODES, pod("p"), configuration(naming({"name": "Rank"})), plugins=[Enabled(Rank, weight=2)])


class Plain:
    """Takes no arguments."""

    @hookimpl
    def filter(self) -> None:
        return None


@pytest.mark.parametrize("plugin", [Plain, partial(Plain)])
def test_arguments_that_no_plugin_would_see_are_refused(plugin: Any) -> None:
    """They had no effect, and nothing said so."""
    message = r"pluginConfig\[\d\]\.args.*takes no arguments; leave them out, or let its class take args"
    with pytest.raises(ConfigError, match=message):
        evaluate(NODES, pod("p"), plugins=[Enabled(plugin, args={"limit": 3}, name="Plain")])
    document = configuration({"pluginConfig": [{"name": "Plain", "args": {"limit": 3}}]})
    with pytest.raises(ConfigError, match=message):
        evaluate(NODES, pod("p"), document, plugins={"Plain": plugin})
    document["profiles"][0]["pluginConfig"][0]["args"] = {}
    assert evaluate(NODES, pod("p"), document, plugins={"Plain": plugin}).feasible == ["a", "b"]


def test_a_function_that_returns_a_class_is_refused() -> None:
    """Its hooks failed for each pod, as they got no plugin as self."""
    with pytest.raises(ConfigError, match="plugin Plain cannot be made: it is the class Plain; call it"):
        evaluate(NODES, pod("p"), plugins={"Plain": lambda args, handle: Plain})


@pytest.mark.parametrize("plugin", [Rank(), partial(Rank, args=RankArgs())])
def test_arguments_are_given_once(plugin: object) -> None:
    with pytest.raises(PluginError, match="plugin Rank has its arguments already; leave args out"):
        Enabled(plugin, args={"favourite": "b"})
    document = configuration({"pluginConfig": [{"name": "Rank", "args": {"favourite": "b"}}]})
    with pytest.raises(ConfigError, match=r"pluginConfig\[0\]\.args.*gave it its arguments"):
        evaluate(NODES, pod("p"), document, plugins=[plugin])
    again: Sequence[object] = [Enabled(Rank, args={"favourite": "b"})]
    with pytest.raises(ConfigError, match="configure a plugin once in a profile"):
        evaluate(NODES, pod("p"), document, plugins=again)


def test_objects_of_the_program_reach_the_plugin() -> None:
    calls: list[str] = []
    evaluate(NODES, pod("p"), plugins=[partial(Counting, calls)])
    assert sorted(calls) == ["a", "b"]


def test_a_simulation_closes_its_plugins_at_the_end_of_a_block() -> None:
    closed = []

    class Closing(Rank):
        @hookimpl
        def close(self) -> None:
            closed.append(self)

    with Simulation(NODES, plugins=[Closing]) as simulation:
        simulation.schedule([pod("p")])
        assert not closed
    assert len(closed) == 1
    simulation.close()
    assert len(closed) == 1

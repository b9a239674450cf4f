"""Profiles written as calls are those of the equivalent document."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import Profile, Simulation, evaluate
from schedframe.config import EffectiveConfig, load_config
from schedframe.errors import ConfigError, PluginError
from schedframe.testing import node, pod
from tests.configurations import configuration

from .strategies import CATALOGUE, MULTI, NAMES, CrowdArgs

Step = tuple[str, str, Any, str]

names = st.sampled_from([*NAMES, "Unknown"])
points = st.sampled_from([MULTI, MULTI, "filter", "score", "queueSort", "placementScore"])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("enable"), names, st.none() | st.integers(-1, 5), points),
        st.tuples(st.just("disable"), names | st.just("*"), st.none(), points),
        st.tuples(
            st.just("args"),
            names,
            st.none() | st.fixed_dictionaries({"limit": st.integers(0, 9) | st.just("x")}),
            st.just(MULTI),
        ),
    ),
    max_size=6,
)


def built(profile: Profile, taken: list[Step]) -> Profile:
    for verb, name, value, point in taken:
        if verb == "enable":
            profile = profile.enable(name, weight=value, point=point)
        elif verb == "disable":
            profile = profile.disable(name, point=point)
        else:
            profile = profile.args(name, value)
    return profile


def written(fields: dict[str, Any], taken: list[Step]) -> dict[str, Any]:
    profile = deepcopy(fields)
    for verb, name, value, point in taken:
        entry: dict[str, Any] = {"name": name}
        if value is not None:
            entry["args" if verb == "args" else "weight"] = value
        if verb == "args":
            profile.setdefault("pluginConfig", []).append(entry)
        else:
            lists = profile.setdefault("plugins", {}).setdefault(point, {})
            lists.setdefault(f"{verb}d", []).append(entry)
    return profile


def loaded(source: Any) -> EffectiveConfig | list[str]:
    try:
        return load_config(source, catalogue=CATALOGUE)
    except ConfigError as error:
        return str(error).splitlines()


@given(steps, st.none() | st.integers(0, 101))
def test_a_profile_of_calls_is_that_of_the_document(taken: list[Step], percentage: int | None) -> None:
    fields = {"schedulerName": "calls"} | (
        {"percentageOfNodesToScore": percentage} if percentage is not None else {}
    )
    profile = built(Profile("calls", percentage), taken)
    assert loaded(profile) == loaded(configuration(written(fields, taken)))


@given(steps, steps)
def test_several_profiles_are_one_configuration(first: list[Step], second: list[Step]) -> None:
    profiles = [built(Profile("a"), first), built(Profile("b"), second)]
    expected = configuration(written({"schedulerName": "a"}, first), written({"schedulerName": "b"}, second))
    assert loaded(profiles) == loaded(tuple(profiles)) == loaded(expected)


def test_a_call_returns_a_changed_copy() -> None:
    profile = Profile()
    assert profile.enable("Crowd", weight=3) != profile == Profile()
    assert loaded(profile) == loaded(None)


def test_arguments_in_three_forms() -> None:
    by_field = loaded(Profile().enable("Crowd").args("Crowd", limit=7))
    assert isinstance(by_field, EffectiveConfig)
    assert by_field.profiles[0].plugin_args["Crowd"] == CrowdArgs(limit=7)
    assert loaded(Profile().enable("Crowd").args("Crowd", {"limit": 7})) == by_field
    assert loaded(Profile().enable("Crowd").args("Crowd", CrowdArgs(limit=7))) == by_field
    with pytest.raises(PluginError, match="plugin Crowd: fields cannot extend CrowdArgs"):
        Profile().args("Crowd", CrowdArgs(), limit=7)


def test_a_point_that_does_not_exist() -> None:
    with pytest.raises(PluginError, match="there is no extension point 'pre_filter'; use one of preEnqueue"):
        Profile().enable("Crowd", point="pre_filter")


def test_a_profile_is_a_configuration() -> None:
    nodes = [node("a"), node("b").taint("dedicated")]
    profile = Profile().disable("TaintToleration")
    assert evaluate(nodes, pod("p")).best == ["a"]
    assert evaluate(nodes, pod("p"), profile).best == ["a", "b"]
    with Simulation(nodes, profile) as simulation:
        assert simulation.schedule([pod("p")])[0].node_name in ("a", "b")


def test_a_disabled_name_that_no_plugin_has_causes_a_warning() -> None:
    with pytest.warns(
        UserWarning, match="disables 'ImageLocalty', and there is no such plugin; did you mean"
    ):
        load_config(Profile().disable("ImageLocalty").disable("*", point="score").disable("NodeName"))

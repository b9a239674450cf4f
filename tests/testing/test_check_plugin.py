"""The conformance kit: silent about plugins that keep the contract, to the point about others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from plugins_builtin.legacy.plugins.selector_spread import SelectorSpread
from schedframe import ConfigError, NodeInfo, Pod, Registry, Status, hookimpl
from schedframe.framework import Hookspecs
from schedframe.testing import (
    Failure,
    PluginCheckFailed,
    PluginNotCached,
    PluginNotExercised,
    check_plugin,
    plugin_checks,
    strategies,
)
from schedframe.testing.checks import CHECKS
from schedframe.testing.checks.contract import DECLARATIONS, of_hook
from tests.profiles import scaled

from . import objects
from .broken import acting, deciding
from .broken.correct import CORRECT, DiskArgs, DiskByLabel
from .broken.shortcuts import NO

pytestmark = pytest.mark.filterwarnings("ignore::schedframe.testing.PluginNotCached")

EXAMPLES = scaled(6)
AS_IN_THE_REFERENCE = {
    "VolumeRestrictions": {
        "add_and_remove_pod_are_inverse": "a ReadWriteOncePod claim of two pods, which no scheduler lets "
        "happen, counts once, and is free as soon as one of them is gone"
    }
}
ALSO = {**deciding.ALSO, **acting.ALSO}


def failures_of(plugin: Any, **options: Any) -> tuple[Failure, ...]:
    options = {"max_examples": EXAMPLES, "max_shrinks": 0, **options}
    try:
        check_plugin(plugin, **options)
    except PluginCheckFailed as error:
        return error.failures
    return ()


def installed() -> list[str]:
    return [
        origin.name
        for origin in Registry.installed().origins()
        if origin.target.startswith("plugins_builtin")
    ]


@pytest.mark.filterwarnings("ignore::schedframe.testing.PluginNotExercised")  # volumes and devices come below
@pytest.mark.parametrize("name", installed())
def test_builtin_plugins_keep_the_contract(name: str) -> None:
    check_plugin(Registry.installed().factory(name), max_examples=EXAMPLES)


def test_a_plugin_under_a_name_of_ones_own_does_too() -> None:
    check_plugin(SelectorSpread, objects=objects.services(), max_examples=EXAMPLES)


@pytest.mark.filterwarnings("ignore::schedframe.testing.PluginNotExercised")
@pytest.mark.parametrize("name", ["VolumeBinding", "VolumeRestrictions", "VolumeZone", "NodeVolumeLimits"])
def test_builtin_plugins_that_look_at_volumes_do_with_volumes(name: str) -> None:
    check_plugin(
        Registry.installed().factory(name),
        pods=objects.pods_with_volumes(),
        nodes=objects.zoned_nodes(),
        objects=objects.storage(),
        max_examples=EXAMPLES,
        leave_out=AS_IN_THE_REFERENCE.get(name),
    )


@pytest.mark.filterwarnings("ignore::schedframe.testing.PluginNotExercised")  # scores are for alternatives
def test_the_builtin_plugin_for_devices_does_with_devices() -> None:
    check_plugin(
        Registry.installed().factory("DynamicResources"),
        pods=objects.pods_with_devices(),
        objects=objects.devices(),
        max_examples=EXAMPLES,
    )


@pytest.mark.filterwarnings("error::schedframe.testing.PluginNotExercised")
@pytest.mark.parametrize("plugin", CORRECT, ids=lambda plugin: plugin.__name__)
def test_nothing_is_said_of_correct_plugins(plugin: Any) -> None:
    check_plugin(plugin, max_examples=EXAMPLES)


@pytest.mark.parametrize(
    ("plugin", "check"),
    [
        pytest.param(plugin, check, id=plugin.__name__)
        for plugin, check in (*deciding.DECIDING, *acting.ACTING)
    ],
)
def test_the_right_check_finds_each_fault(plugin: Any, check: str) -> None:
    found = {failure.check for failure in failures_of(plugin)}
    assert check in found
    assert found <= {check, *ALSO.get(plugin, ())}


def test_every_check_finds_some_fault() -> None:
    found = {check for _, check in (*deciding.DECIDING, *acting.ACTING)}
    assert found == {check.name for check in CHECKS}


def test_a_failure_says_what_is_broken_where_and_shows_little_more() -> None:
    (failure,) = failures_of(deciding.NotNodeOnly)
    assert failure.world is not None
    assert len(failure.world.nodes) == 1
    text = str(failure)
    assert text.startswith("depends_on_node_object_is_true: pod ")
    assert DECLARATIONS["Depends.NODE_OBJECT"] in text
    assert "smallest example found:" in text


def test_hypothesis_makes_counterexamples_smaller() -> None:
    (found,) = failures_of(acting.AnswersFraction)
    (shrunk,) = failures_of(acting.AnswersFraction, max_shrinks=80)
    assert found.world is not None
    assert shrunk.world is not None
    assert len(str(shrunk.world)) < len(str(found.world))


def test_all_failures_are_listed_at_once() -> None:
    class Awful:
        @hookimpl
        def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
            return NO if pod.labels["app"] and node_info.pods else None

        @hookimpl
        def score(self) -> int:
            return -1

        @hookimpl
        def close(self) -> None:
            raise RuntimeError("never")

    with pytest.raises(PluginCheckFailed, match="plugin Awful failed 3 checks") as error:
        check_plugin(Awful, max_examples=EXAMPLES, max_shrinks=0)
    assert isinstance(error.value, AssertionError)
    names = [failure.check for failure in error.value.failures]
    assert names == ["raises_nothing", "close_is_idempotent", "scores_are_in_range"]


def test_what_is_found_is_the_same_every_time() -> None:
    once, again = (failures_of(deciding.LooksAtAllRows) for _ in range(2))
    assert str(once) == str(again)


@pytest.mark.parametrize("check", plugin_checks(DiskByLabel, max_examples=4), ids=repr)
def test_checks_one_by_one(check: Any) -> None:
    check()


def test_a_check_alone_fails_alone() -> None:
    checks = {check.name: check for check in plugin_checks(acting.ClosesOnce, max_examples=2)}
    checks["can_be_registered"]()
    with pytest.raises(PluginCheckFailed, match="close_is_idempotent: close raised IndexError"):
        checks["close_is_idempotent"]()


def test_only_what_concerns_a_plugin_is_asked() -> None:
    names = {check.name for check in plugin_checks(acting.NotStrict, max_examples=2)}
    assert "queue_order_is_strict" in names
    assert "filter_forms_agree" not in names


def test_of_a_plugin_that_cannot_be_made_nothing_else_is_asked() -> None:
    (check,) = plugin_checks(acting.NeedsMoreThanItGets)
    with pytest.raises(PluginCheckFailed, match="can_be_registered: cannot be made: TypeError"):
        check()


@pytest.mark.filterwarnings("ignore::schedframe.testing.PluginNotExercised")
def test_checks_are_left_out_with_a_reason() -> None:
    check_plugin(
        acting.ClosesOnce, max_examples=2, leave_out={"close_is_idempotent": "the process ends anyway"}
    )
    with pytest.raises(ValueError, match="there are no checks \\['closing'\\]"):
        check_plugin(acting.ClosesOnce, leave_out={"closing": "no such name"})


def test_args_are_given_as_data_or_as_an_instance() -> None:
    check_plugin(DiskByLabel, {"disk": "hdd", "worth": 3}, max_examples=4)
    check_plugin(DiskByLabel, DiskArgs("hdd"), max_examples=4)
    with pytest.raises(ConfigError, match=r"\$\.worth"):
        check_plugin(DiskByLabel, {"worth": "much"})


@pytest.mark.filterwarnings("ignore::schedframe.testing.PluginNotExercised")
def test_clusters_may_be_ones_own() -> None:
    class Picky:
        """Fails on a label that clusters usually do not have."""

        @hookimpl
        def filter(self, node_info: NodeInfo) -> Status | None:
            return NO if int(node_info.labels.get("example.com/rank", "0")) > 1 else None

    assert not failures_of(Picky)
    ranked = strategies.nodes(labels={"example.com/rank": ("1", "high")})
    (failure,) = failures_of(Picky, nodes=ranked)
    assert failure.check == "raises_nothing"
    assert "invalid literal for int" in failure.what


def test_a_plugin_that_made_no_difference_is_reported() -> None:
    class Absent:
        @hookimpl
        def filter(self, node_info: NodeInfo) -> Status | None:
            return NO if "example.com/rank" in node_info.labels else None

        @hookimpl
        def score(self, node_info: NodeInfo) -> int:
            return min(node_info.allocatable.get("example.com/nic", 0), 100)

    with pytest.warns(PluginNotExercised) as caught:
        check_plugin(Absent, max_examples=4)
    idle = [warning for warning in caught if warning.category is PluginNotExercised]
    assert [str(warning.message).partition(" in 4 clusters")[0] for warning in idle] == [
        "plugin Absent rejected no pod on any node",
        "plugin Absent gave all nodes the same score",
    ]
    assert {warning.filename for warning in caught} == {__file__}


def test_a_plugin_that_is_not_cached_is_reported_with_reason_and_price() -> None:
    class Plain:
        @hookimpl
        def filter(self, node_info: NodeInfo) -> Status | None:
            return NO if len(node_info.pods) > 1 else None

    with pytest.warns(PluginNotCached) as caught:
        check_plugin(Plain, max_examples=4)
    (message,) = {str(warning.message) for warning in caught if warning.category is PluginNotCached}
    assert message.startswith("plugin Plain is not cached: it has no pod_signature and its answers depend")
    assert "filter is called for the best nodes at each pod until enough pass" in message
    assert "up to 10 times the time of the default profile" in message


@pytest.mark.filterwarnings("ignore::schedframe.testing.PluginNotExercised")
def test_other_objects_may_be_ones_own() -> None:
    seen: set[str] = set()

    class Looks:
        def __init__(self, handle: Any) -> None:
            self.handle = handle

        @hookimpl
        def score(self) -> int:
            seen.update(namespace.name for namespace in self.handle.objects.list("Namespace"))
            return 0

    team = st.just([strategies.namespace("of-my-own", {})])
    check_plugin(Looks, objects=team, max_examples=4)
    assert seen == {"of-my-own"}


def test_a_clause_must_be_in_the_contract() -> None:
    assert str(of_hook("filter", "Pure in (state, pod, node_info).")).startswith("filter: ")
    with pytest.raises(ValueError, match="the specification of filter does not say"):
        of_hook("filter", "anything goes")
    assert all(check.clause.where in {*DECLARATIONS, *vars(Hookspecs)} for check in CHECKS)

"""The validate stage beyond the conformance cases, and its messages."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.config import ConfigValidationError, load_config
from tests.configurations import META


def found(document: dict[str, Any]) -> set[tuple[str, str]]:
    with pytest.raises(ConfigValidationError) as caught:
        load_config({**META, **document})
    assert caught.value.stage == "validate"
    for error in caught.value.errors:
        assert error.detail, "every message says what to do"
    return {(error.type.value.removeprefix("FieldValue"), error.field) for error in caught.value.errors}


def with_args(name: str, args: Any) -> dict[str, Any]:
    return {"profiles": [{"pluginConfig": [{"name": name, "args": args}]}]}


@pytest.mark.parametrize(
    ("document", "errors"),
    [
        (
            {"leaderElection": {"leaseDuration": "10s", "renewDeadline": "10s"}},
            {("Invalid", "leaseDuration")},
        ),
        (
            {"leaderElection": {"leaseDuration": "-1s", "renewDeadline": "-2s", "retryPeriod": "-1s"}},
            {("Invalid", "leaseDuration"), ("Invalid", "renewDeadline"), ("Invalid", "retryPeriod")},
        ),
    ],
)
def test_leader_election(document: dict[str, Any], errors: set[tuple[str, str]]) -> None:
    assert found(document) == {(kind, f"leaderElection.{field}") for kind, field in errors}


def test_durations_do_not_matter_without_leader_election() -> None:
    load_config(
        {**META, "leaderElection": {"leaderElect": False, "leaseDuration": "-1s", "resourceLock": "x"}}
    )


def test_initial_backoff() -> None:
    assert found({"podInitialBackoffSeconds": 0}) == {("Invalid", "podInitialBackoffSeconds")}
    assert found({"podInitialBackoffSeconds": -1, "podMaxBackoffSeconds": -2}) == {
        ("Invalid", "podInitialBackoffSeconds"),
        ("Invalid", "podMaxBackoffSeconds"),
    }


def test_errors_of_all_parts_are_collected() -> None:
    document = {
        "parallelism": 0,
        "percentageOfNodesToScore": 101,
        "clientConnection": {"burst": -1},
        "profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}, {"schedulerName": ""}],
        "extenders": [{"prioritizeVerb": "p"}],
    }
    assert found(document) == {
        ("Invalid", "parallelism"),
        ("Invalid", "percentageOfNodesToScore"),
        ("Invalid", "clientConnection.burst"),
        ("Duplicate", "profiles[1].schedulerName"),
        ("Required", "profiles[2].schedulerName"),
        ("Invalid", "extenders[0].weight"),
    }


@pytest.mark.parametrize(
    ("name", "args", "errors"),
    [
        ("DefaultPreemption", {"minCandidateNodesAbsolute": -1}, {("Invalid", "minCandidateNodesAbsolute")}),
        ("DynamicResources", {"bindingTimeout": "999ms"}, {("Invalid", "bindingTimeout")}),
        ("VolumeBinding", {"bindTimeoutSeconds": -1}, {("Invalid", "bindTimeoutSeconds")}),
        ("VolumeBinding", {"shape": []}, {("Invalid", "shape")}),
        (
            "PodTopologySpread",
            {"defaultingType": "List", "defaultConstraints": [{}]},
            {
                ("Invalid", "defaultConstraints[0].maxSkew"),
                ("Required", "defaultConstraints[0].topologyKey"),
                ("Required", "defaultConstraints[0].whenUnsatisfiable"),
            },
        ),
    ],
)
def test_args(name: str, args: dict[str, Any], errors: set[tuple[str, str]]) -> None:
    assert found(with_args(name, args)) == {
        (kind, f"profiles[0].pluginConfig[0].args.{f}") for kind, f in errors
    }


_REQUIRED = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"


@pytest.mark.parametrize(
    ("part", "expression", "errors"),
    [
        ("matchExpressions", {"key": "a", "operator": "Gt", "values": []}, {("Invalid", "values")}),
        ("matchExpressions", {"key": "a", "operator": "Lt", "values": ["1", "2"]}, {("Invalid", "values")}),
        ("matchExpressions", {"key": "a", "operator": "Gt", "values": ["1_0"]}, {("Invalid", "values[0]")}),
        (
            "matchExpressions",
            {"key": "a", "operator": "Gt", "values": [str(2**63)]},
            {("Invalid", "values[0]")},
        ),
        (
            "matchExpressions",
            {"key": "", "operator": "In", "values": ["-"]},
            {("Invalid", "key"), ("Invalid", "values[0][]")},
        ),
        (
            "matchExpressions",
            {"key": "a", "operator": "Gt", "values": ["a/b"]},
            {("Invalid", "values[0]"), ("Invalid", "values[0][a]")},
        ),
        ("matchFields", {"key": "metadata.name", "operator": "Exists"}, {("NotSupported", "operator")}),
        (
            "matchFields",
            {"key": "metadata.name", "operator": "In", "values": ["a", "b"]},
            {("Invalid", "values")},
        ),
    ],
)
def test_added_affinity(part: str, expression: dict[str, Any], errors: set[tuple[str, str]]) -> None:
    terms = {"nodeSelectorTerms": [{part: [expression]}]}
    document = with_args(
        "NodeAffinity", {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    )
    prefix = f"profiles[0].pluginConfig[0].args.{_REQUIRED}.{part}[0]"
    assert found(document) == {(kind, f"{prefix}.{field}") for kind, field in errors}


def test_an_integer_may_have_a_sign_and_zeros() -> None:
    expression = {"key": "a", "operator": "Gt", "values": ["0" * 30 + "9223372036854775807"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    load_config(
        {
            **META,
            **with_args(
                "NodeAffinity", {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
            ),
        }
    )


def test_removed_plugins_name_their_successor() -> None:
    document = {
        "profiles": [
            {
                "plugins": {"filter": {"enabled": [{"name": "CinderLimits"}]}},
                "pluginConfig": [{"name": "EBSLimits"}],
            }
        ]
    }
    with pytest.raises(ConfigValidationError, match="NodeVolumeLimits") as caught:
        load_config({**META, **document})
    fields = [error.field for error in caught.value.errors]
    assert fields == ["profiles[0].plugins.filter.enabled[0]", "profiles[0].pluginConfig[0]"]


def test_queue_sort_arguments_are_common_to_all_profiles() -> None:
    sort = {"queueSort": {"enabled": [{"name": "PrioritySort"}]}}
    document = {
        "profiles": [
            {
                "schedulerName": "a",
                "plugins": sort,
                "pluginConfig": [{"name": "PrioritySort", "args": {"x": 1}}],
            },
            {
                "schedulerName": "b",
                "plugins": sort,
                "pluginConfig": [{"name": "PrioritySort", "args": {"x": 2}}],
            },
        ]
    }
    assert found(document) == {("Invalid", "profiles[1].pluginConfig.args")}


def test_arguments_without_a_name_are_compared_like_those_of_a_default_queue_sort() -> None:
    document = {
        "profiles": [
            {"schedulerName": "a"},
            {"schedulerName": "b", "pluginConfig": [{"name": "", "args": {"resources": []}}]},
        ]
    }
    assert found(document) == {("Invalid", "profiles[1].pluginConfig.args")}


def test_a_weight_of_zero_is_no_difference_between_queue_sorts() -> None:
    lists = ({"name": "PrioritySort"}, {"name": "PrioritySort", "weight": 0})
    profiles = [
        {"schedulerName": name, "plugins": {"queueSort": {"enabled": [plugin]}}}
        for name, plugin in zip("ab", lists, strict=True)
    ]
    load_config({**META, "profiles": profiles})


def test_errors_have_lines() -> None:
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: 0\n"
    with pytest.raises(
        ConfigValidationError, match=r"line 3: parallelism: invalid value 0: must be at least 1"
    ):
        load_config(text)

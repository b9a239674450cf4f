"""Rules of the API server for workloads: each by a right object and a wrong one that names the field."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api.validation.whole.schedules import schedule_problem, zone_problem

from .kinds import RIGHT, Row, check_rule, each_rule, errors_of

LABELS = "spec.template.metadata.labels"
UPDATE = "spec.updateStrategy"
CONTAINERS = RIGHT["Job"]["spec"]["template"]["spec"]["containers"]
MOUNTED = [{**CONTAINERS[0], "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]
CLAIM = {"metadata": {"name": "data"}, "spec": RIGHT["PersistentVolumeClaim"]["spec"]}
RULE: dict[str, Any] = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1, 2]}}
FAILURES = "spec.podFailurePolicy.rules"


def failures(*rules: dict[str, Any], **others: Any) -> dict[str, Any]:
    """Return the change of a job to one with these rules for failed pods."""
    return {FAILURES: list(rules)} | {f"spec.{key}": value for key, value in others.items()}


def codes(**members: Any) -> dict[str, Any]:
    """Return the change of a job to one with a rule for exit codes."""
    return failures({**RULE, "onExitCodes": {**RULE["onExitCodes"], **members}})


def indexed(**members: Any) -> dict[str, Any]:
    """Return the change of a job to one with an index for each of five pods."""
    spec = {"completionMode": "Indexed", "completions": 5, **members}
    return {f"spec.{key}": value for key, value in spec.items()}


def successes(**rule: Any) -> dict[str, Any]:
    """Return the change of a job to one that succeeds by a rule."""
    return indexed(successPolicy={"rules": [rule]})


SELECTING: list[Row] = [
    ({}, {"spec.selector": None}, "spec.selector"),
    ({}, {"spec.selector": {}}, "spec.selector"),
    ({}, {"spec.selector": {"matchLabels": {"app": "z"}}}, LABELS),
    ({}, {LABELS: None}, LABELS),
    (
        {"spec.selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "x"]}]}},
        {"spec.selector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}},
        LABELS,
    ),
    (
        {},
        {"spec.selector": {"matchExpressions": [{"key": "app", "operator": "Is"}]}},
        "spec.selector.matchExpressions[0].operator",
    ),
    ({}, {LABELS: {"app": "web", "a": "b c"}}, f"{LABELS}.a"),
    ({}, {"spec.template": None}, "spec.template"),
    (
        {"spec.template.spec.restartPolicy": "Always"},
        {"spec.template.spec.restartPolicy": "Never"},
        "spec.template.spec.restartPolicy",
    ),
    ({}, {"spec.template.spec.activeDeadlineSeconds": 5}, "spec.template.spec.activeDeadlineSeconds"),
    ({"spec.minReadySeconds": 0}, {"spec.minReadySeconds": -1}, "spec.minReadySeconds"),
]
REPLICAS: Row = ({"spec.replicas": 0}, {"spec.replicas": -1}, "spec.replicas")

ROWS: dict[str, list[Row]] = {
    "ReplicaSet": [*SELECTING, REPLICAS],
    "ReplicationController": [
        REPLICAS,
        ({"spec.selector": None}, {"spec.selector": {"app": "z"}}, LABELS),
        ({}, {"spec.template.spec.restartPolicy": "Never"}, "spec.template.spec.restartPolicy"),
    ],
    "Deployment": [
        *SELECTING,
        REPLICAS,
        (
            {"spec.progressDeadlineSeconds": 11, "spec.minReadySeconds": 10},
            {"spec.progressDeadlineSeconds": 10, "spec.minReadySeconds": 10},
            "spec.progressDeadlineSeconds",
        ),
        ({"spec.minReadySeconds": 599}, {"spec.minReadySeconds": 600}, "spec.progressDeadlineSeconds"),
        ({"spec.strategy": {"type": ""}}, {"spec.strategy": {"type": "Slow"}}, "spec.strategy.type"),
        (
            {"spec.strategy": {"rollingUpdate": {"maxSurge": "150%"}}},
            {"spec.strategy": {"rollingUpdate": {"maxUnavailable": "150%"}}},
            "spec.strategy.rollingUpdate.maxUnavailable",
        ),
        (
            {"spec.strategy": {"rollingUpdate": {"maxUnavailable": 0}}},
            {"spec.strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "0%"}}},
            "spec.strategy.rollingUpdate.maxUnavailable",
        ),
        (
            {"spec.strategy": {"type": "RollingUpdate", "rollingUpdate": {}}},
            {"spec.strategy": {"type": "Recreate", "rollingUpdate": {}}},
            "spec.strategy.rollingUpdate",
        ),
    ],
    "DaemonSet": [
        *SELECTING,
        ({f"{UPDATE}.type": "OnDelete"}, {f"{UPDATE}.type": "Recreate"}, f"{UPDATE}.type"),
        (
            {f"{UPDATE}.rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            {f"{UPDATE}.rollingUpdate": {"maxSurge": 1}},
            f"{UPDATE}.rollingUpdate.maxSurge",
        ),
        (
            {f"{UPDATE}.rollingUpdate": {"maxUnavailable": "5%"}},
            {f"{UPDATE}.rollingUpdate": {"maxUnavailable": 0}},
            f"{UPDATE}.rollingUpdate.maxUnavailable",
        ),
        (
            {f"{UPDATE}.rollingUpdate": {"maxUnavailable": 0, "maxSurge": "100%"}},
            {f"{UPDATE}.rollingUpdate": {"maxUnavailable": 0, "maxSurge": "101%"}},
            f"{UPDATE}.rollingUpdate.maxSurge",
        ),
    ],
    "StatefulSet": [
        *SELECTING,
        REPLICAS,
        (
            {"spec.podManagementPolicy": "Parallel"},
            {"spec.podManagementPolicy": "Any"},
            "spec.podManagementPolicy",
        ),
        ({"spec.serviceName": "a"}, {"spec.serviceName": "a.b"}, "spec.serviceName"),
        ({"spec.ordinals": {"start": 1}}, {"spec.ordinals": {"start": -1}}, "spec.ordinals.start"),
        (
            {"spec.persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}},
            {"spec.persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Keep"}},
            "spec.persistentVolumeClaimRetentionPolicy.whenDeleted",
        ),
        (
            {f"{UPDATE}.rollingUpdate": {"partition": 1}},
            {UPDATE: {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
            f"{UPDATE}.rollingUpdate",
        ),
        (
            {f"{UPDATE}.rollingUpdate": {"maxUnavailable": 1}},
            {f"{UPDATE}.rollingUpdate": {"maxUnavailable": 0}},
            f"{UPDATE}.rollingUpdate.maxUnavailable",
        ),
        (
            {"spec.volumeClaimTemplates": [CLAIM]},
            {"spec.volumeClaimTemplates": [{**CLAIM, "spec": {**CLAIM["spec"], "accessModes": []}}]},
            "spec.volumeClaimTemplates[0].spec.accessModes",
        ),
        (
            {"spec.template.spec.containers": MOUNTED, "spec.volumeClaimTemplates": [CLAIM]},
            {"spec.template.spec.containers": MOUNTED},
            "spec.template.spec.containers[0].volumeMounts[0].name",
        ),
    ],
    "Job": [
        ({"spec.completions": 0}, {"spec.completions": -1}, "spec.completions"),
        ({"spec.parallelism": 0}, {"spec.parallelism": -1}, "spec.parallelism"),
        ({"spec.completionMode": "NonIndexed"}, {"spec.completionMode": "Sorted"}, "spec.completionMode"),
        (
            {"spec.completionMode": "Indexed"},
            {"spec.completionMode": "Indexed", "spec.parallelism": 2},
            "spec.completions",
        ),
        ({}, {"spec.template.spec.restartPolicy": None}, "spec.template.spec.restartPolicy"),
        (
            {"spec.template.spec.restartPolicy": "OnFailure"},
            {"spec.template.spec.restartPolicy": "Always"},
            "spec.template.spec.restartPolicy",
        ),
        ({"spec.selector": {}}, {"spec.selector": {"matchLabels": {"app": "web"}}}, "spec.selector"),
        (
            {"spec.manualSelector": True, "spec.selector": {"matchLabels": {"a": "b"}}, LABELS: {"a": "b"}},
            {"spec.manualSelector": True, "spec.selector": {"matchLabels": {"a": "b"}}, LABELS: {"a": "c"}},
            LABELS,
        ),
        ({"spec.manualSelector": False}, {"spec.manualSelector": True}, "spec.selector"),
        ({LABELS: {"job-name": "web"}}, {LABELS: {"job-name": "other"}}, LABELS),
        ({LABELS: {"uid": "1"}}, {LABELS: {"controller-uid": "1"}}, LABELS),
        (
            {"spec.completionMode": "Indexed", "metadata.name": "a" * 61},
            {"spec.completionMode": "Indexed", "metadata.name": "a" * 62},
            "metadata.name",
        ),
        (
            {"metadata.name": "a.b"},
            {"spec.completionMode": "Indexed", "metadata.name": "a.b"},
            "metadata.name",
        ),
        ({"spec.managedBy": "example.com/jobs"}, {"spec.managedBy": "jobs"}, "spec.managedBy"),
        ({}, {"spec.managedBy": f"example.com/{'j' * 60}"}, "spec.managedBy"),
        (indexed(backoffLimitPerIndex=1), {"spec.backoffLimitPerIndex": 1}, "spec.backoffLimitPerIndex"),
        (
            indexed(backoffLimitPerIndex=1, maxFailedIndexes=5),
            indexed(backoffLimitPerIndex=1, maxFailedIndexes=6),
            "spec.maxFailedIndexes",
        ),
        (
            indexed(backoffLimitPerIndex=1, maxFailedIndexes=5),
            indexed(maxFailedIndexes=5),
            "spec.backoffLimitPerIndex",
        ),
        (indexed(parallelism=100_000), indexed(parallelism=100_001), "spec.parallelism"),
        (
            indexed(completions=100_001, backoffLimitPerIndex=1, maxFailedIndexes=10_000),
            indexed(completions=100_001, backoffLimitPerIndex=1),
            "spec.maxFailedIndexes",
        ),
        (
            indexed(completions=100_001, backoffLimitPerIndex=1, maxFailedIndexes=1, parallelism=10_000),
            indexed(completions=100_001, backoffLimitPerIndex=1, maxFailedIndexes=1, parallelism=10_001),
            "spec.parallelism",
        ),
        (failures(RULE), failures({**RULE, "action": "Stop"}), f"{FAILURES}[0].action"),
        (failures(RULE), failures({**RULE, "action": "FailIndex"}), f"{FAILURES}[0].action"),
        (failures(RULE), failures({"action": "FailJob"}), f"{FAILURES}[0]"),
        (
            failures({"action": "Count", "onPodConditions": [{"type": "DisruptionTarget"}]}),
            failures({**RULE, "onPodConditions": [{"type": "DisruptionTarget"}]}),
            f"{FAILURES}[0]",
        ),
        (
            failures({"action": "Count", "onPodConditions": [{"type": "A", "status": "True"}]}),
            failures({"action": "Count", "onPodConditions": [{"type": "a b"}]}),
            f"{FAILURES}[0].onPodConditions[0].type",
        ),
        (failures(*[RULE] * 20), failures(*[RULE] * 21), FAILURES),
        (
            failures(RULE, podReplacementPolicy="Failed"),
            failures(RULE, podReplacementPolicy="TerminatingOrFailed"),
            "spec.podReplacementPolicy",
        ),
        (
            failures(RULE),
            {**failures(RULE), "spec.template.spec.restartPolicy": "OnFailure"},
            "spec.template.spec.restartPolicy",
        ),
        (
            codes(containerName="main"),
            codes(containerName="other"),
            f"{FAILURES}[0].onExitCodes.containerName",
        ),
        (codes(values=[1, 2]), codes(values=[2, 1]), f"{FAILURES}[0].onExitCodes.values"),
        (codes(values=[1, 2]), codes(values=[1, 1]), f"{FAILURES}[0].onExitCodes.values"),
        (codes(operator="NotIn", values=[0]), codes(values=[0]), f"{FAILURES}[0].onExitCodes.values[0]"),
        (codes(), codes(values=[]), f"{FAILURES}[0].onExitCodes.values"),
        (
            successes(succeededCount=5),
            {**successes(succeededCount=1), "spec.completionMode": "NonIndexed"},
            "spec.successPolicy",
        ),
        (
            successes(succeededCount=5),
            successes(succeededCount=6),
            "spec.successPolicy.rules[0].succeededCount",
        ),
        (
            successes(succeededIndexes="0,2-4", succeededCount=4),
            successes(succeededIndexes="0,2-4", succeededCount=5),
            "spec.successPolicy.rules[0].succeededCount",
        ),
        (
            successes(succeededIndexes="0,2-4"),
            successes(succeededIndexes="2-4,0"),
            "spec.successPolicy.rules[0].succeededIndexes",
        ),
        (successes(succeededCount=1), successes(), "spec.successPolicy.rules[0]"),
        (successes(succeededCount=1), indexed(successPolicy={"rules": []}), "spec.successPolicy.rules"),
    ],
    "CronJob": [
        ({"spec.schedule": "@daily"}, {"spec.schedule": ""}, "spec.schedule"),
        ({"spec.schedule": "@every 1h30m"}, {"spec.schedule": "hourly"}, "spec.schedule"),
        ({"spec.timeZone": "Etc/UTC"}, {"spec.timeZone": ""}, "spec.timeZone"),
        ({"spec.concurrencyPolicy": "Forbid"}, {"spec.concurrencyPolicy": "Once"}, "spec.concurrencyPolicy"),
        (
            {"spec.startingDeadlineSeconds": 0},
            {"spec.startingDeadlineSeconds": -1},
            "spec.startingDeadlineSeconds",
        ),
        ({"metadata.name": "a" * 52}, {"metadata.name": "a" * 53}, "metadata.name"),
        (
            {"spec.jobTemplate.spec.completions": 1, "spec.jobTemplate.spec.completionMode": "Indexed"},
            {"spec.jobTemplate.spec.completionMode": "Indexed"},
            "spec.jobTemplate.spec.completions",
        ),
        (
            {},
            {"spec.jobTemplate.spec.selector": {"matchLabels": {"a": "b"}}},
            "spec.jobTemplate.spec.selector",
        ),
        ({}, {"spec.jobTemplate.spec.manualSelector": True}, "spec.jobTemplate.spec.manualSelector"),
        ({}, {"spec.jobTemplate.spec.parallelism": -1}, "spec.jobTemplate.spec.parallelism"),
        (
            {},
            {"spec.jobTemplate.spec.template.spec.restartPolicy": "Always"},
            "spec.jobTemplate.spec.template.spec.restartPolicy",
        ),
    ],
}


@each_rule(ROWS)
def test_what_a_rule_refuses(kind: str, right: dict[str, Any], wrong: dict[str, Any], path: str) -> None:
    check_rule(kind, right, wrong, path)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("* * * * *", "* * * *"),
        ("*/5 0-23/2 1,15 JAN-dec sun", "60 * * * *"),
        ("0 0 1 1 6", "0 0 1 1 7"),
        ("? ? ? ? ?", "0 0 0 1 1"),
        ("5/15 * * * *", "5/0 * * * *"),
        ("1,,2 * * * *", "2-1 * * * *"),
        ("+5 * * * *", "1-2-3 * * * *"),
        ("  0  3 * * 1-5 ", "1/2/3 * * * *"),
        ("@annually", "@sometimes"),
        ("@every 500ms", "@every 1"),
        ("@hourly", "CRON_TZ=UTC 0 0 * * *"),
        ("0 0 * feb *", "0 0 * febr *"),
    ],
)
def test_schedules(right: str, wrong: str) -> None:
    assert schedule_problem(right) is None
    error = schedule_problem(wrong)
    assert error is not None
    assert error.fix


@pytest.mark.parametrize("zone", ["", "Local", "local", "a//b", "../etc", "-a", "a b", "waytoolongazone/x"])
def test_names_that_are_no_time_zones(zone: str) -> None:
    assert zone_problem(zone) is not None
    assert zone_problem("UTC") is None


def test_unknown_time_zones_need_a_list_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from schedframe.api.validation.whole import schedules

    monkeypatch.setattr(schedules, "_has_zones", lambda: True)
    assert zone_problem("Europe/Nowhere") is not None
    monkeypatch.setattr(schedules, "_has_zones", lambda: False)
    assert zone_problem("Europe/Nowhere") is None


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"])
def test_partial_workloads_of_programs_are_right(kind: str) -> None:
    """Checks over several fields do not ask for a field that is missing."""
    spec = {"selector": {"matchLabels": {"app": "web"}}} if kind != "Job" else {"parallelism": 2}
    manifest = {"apiVersion": RIGHT[kind]["apiVersion"], "kind": kind, "spec": spec}
    assert not errors_of(manifest, required=False)

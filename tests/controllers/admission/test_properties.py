"""Whatever a cluster has: admitting twice changes nothing more, and only refusals are raised."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schedframe.api import to_manifest
from schedframe.controllers.admission import AdmissionPart, AdmissionRefused

from .made import admission, decoded, limit_range, priority_class, quota, runtime_class, storage_class

AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "hugepages-2Mi", "example.com/gpu"]),
    st.sampled_from(["0", "1", "250m", "100u", "2", "4Mi", "1Gi", "9000000000000000000"]),
    max_size=3,
)
RESOURCES = st.fixed_dictionaries({}, optional={"requests": AMOUNTS, "limits": AMOUNTS})
PORTS = st.lists(
    st.fixed_dictionaries({"containerPort": st.integers(1, 90)}, optional={"hostPort": st.integers(1, 90)}),
    max_size=2,
)
CONTAINER = st.fixed_dictionaries(
    {"name": st.sampled_from("abc"), "resources": RESOURCES},
    optional={"ports": PORTS, "restartPolicy": st.just("Always")},
)
KEYS = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "kata", ""]
TOLERATION = st.fixed_dictionaries(
    {"key": st.sampled_from(KEYS)},
    optional={
        "operator": st.sampled_from(["Exists", "Equal", "Gt"]),
        "value": st.sampled_from(["", "1"]),
        "effect": st.sampled_from(["NoExecute", "NoSchedule"]),
        "tolerationSeconds": st.sampled_from([0, 300, 600]),
    },
)
LABELS = st.dictionaries(st.sampled_from(["app", "kata"]), st.sampled_from(["yes", "no"]), max_size=2)
TERM = st.fixed_dictionaries(
    {
        "topologyKey": st.just("zone"),
        "matchLabelKeys": st.lists(st.sampled_from(["app", "kata"]), max_size=2),
    },
    optional={"labelSelector": st.just({"matchLabels": {"x": "y"}}), "mismatchLabelKeys": st.just(["app"])},
)
POD_SPEC = st.fixed_dictionaries(
    {"containers": st.lists(CONTAINER, min_size=1, max_size=2)},
    optional={
        "initContainers": st.lists(CONTAINER, max_size=2),
        "resources": RESOURCES,
        "overhead": st.sampled_from([{"cpu": "250m"}, {"cpu": "1"}]),
        "tolerations": st.lists(TOLERATION, max_size=3),
        "nodeSelector": LABELS,
        "hostNetwork": st.booleans(),
        "nodeName": st.just("n"),
        "priority": st.sampled_from([0, 3, 10]),
        "priorityClassName": st.sampled_from(["high", "system-node-critical", "unknown", ""]),
        "preemptionPolicy": st.sampled_from(["Never", "PreemptLowerPriority"]),
        "runtimeClassName": st.sampled_from(["kata", "plain", "unknown"]),
        "affinity": TERM.map(
            lambda term: {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        ),
    },
)
POD = st.builds(
    lambda spec, labels: {"kind": "Pod", "metadata": {"name": "p", "labels": labels}, "spec": spec},
    POD_SPEC,
    LABELS,
)
CLAIM = st.builds(
    lambda requests, spec: {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "spec": {**spec, "resources": {"requests": requests}},
    },
    st.dictionaries(st.just("storage"), st.sampled_from(["1", "1Gi", "0.0001"])),
    st.fixed_dictionaries({}, optional={"storageClassName": st.sampled_from(["", "fast"])}),
)
ITEM = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["Container", "Container", "Pod", "PersistentVolumeClaim", "example.com/other"]
        )
    },
    optional=dict.fromkeys(("default", "defaultRequest", "min", "max", "maxLimitRequestRatio"), AMOUNTS),
)
DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
CLUSTER = st.tuples(
    st.lists(ITEM, max_size=2).map(lambda items: limit_range(*items)),
    st.lists(ITEM, max_size=2).map(lambda items: limit_range(*items, name="other")),
    st.sampled_from([0, 3]).map(lambda value: priority_class("standard", value, globalDefault=bool(value))),
    st.just(priority_class("high", 10, preemptionPolicy="Never")),
    st.builds(
        lambda amounts, selector, tolerations: runtime_class(
            overhead={"podFixed": amounts}, scheduling={"nodeSelector": selector, "tolerations": tolerations}
        ),
        AMOUNTS,
        LABELS,
        st.lists(TOLERATION, max_size=2),
    ),
    st.just(runtime_class("plain")),
    st.just(storage_class("fast", annotations=DEFAULT)),
    AMOUNTS.map(quota),
)
WITHOUT = st.lists(st.sampled_from(AdmissionPart), max_size=2)


@given(st.one_of(POD, CLAIM), CLUSTER, WITHOUT, st.booleans())
def test_admitting_twice_changes_nothing_more(
    manifest: dict[str, Any], cluster: tuple[dict[str, Any], ...], without: list[AdmissionPart], keep: bool
) -> None:
    options = {"without": without, "keep_priorities": keep}
    try:
        once = admission(*cluster, **options).admit(decoded(manifest)).object
    except AdmissionRefused:
        return
    again = admission(*cluster, **options).admit(once)
    assert again.object == once
    read = decoded(to_manifest(once))
    assert admission(*cluster, **options).admit(read).object == once


@given(st.one_of(POD, CLAIM), CLUSTER, WITHOUT)
def test_only_parts_that_are_on_refuse_and_they_raise_what_they_refuse(
    manifest: dict[str, Any], cluster: tuple[dict[str, Any], ...], without: list[AdmissionPart]
) -> None:
    refusals: list[Any] = []
    lenient = admission(*cluster, without=without).admit(decoded(manifest), strict=refusals.append).object
    refusing = {error.part for error in refusals}
    assert not refusing.intersection(without)
    raised, strict = None, lenient
    try:
        strict = admission(*cluster, without=without).admit(decoded(manifest)).object
    except AdmissionRefused as refused:
        raised = refused.part
    assert raised in (refusing or {None})
    assert strict == lenient

"""VolumeBinding on random clusters: both forms agree, and static matching equals a loop over all volumes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.args import UtilizationShapePoint, VolumeBindingArgs
from plugins_builtin.volume_binding import VolumeBinding
from plugins_builtin.volume_binding.claims import CLAIMS
from plugins_builtin.volume_binding.filtering import assign_claims
from schedframe import CycleState, Node, Status
from schedframe.api import AWSElasticBlockStore, LabelSelector, PersistentVolume, PersistentVolumeClaim, Pod
from tests.plugins.agreement import (
    StandInHandle,
    check_filter_agreement,
    columnar_scores,
    parts_of,
    per_node_scores,
)
from tests.plugins.storage import (
    HOSTNAME,
    ZONE,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_handle,
    make_node,
    make_pod,
    make_volume,
)

NODES = ("n0", "n1", "n2", "n3")
CLASSES = ("wait", "local", "other")
SIZES = ("1Gi", "2Gi", "3Gi", "1500000000.5")
CLAIMS_OF_POD = ("c0", "c1", "c2")

topologies = st.sampled_from(
    (
        None,
        None,
        {ZONE: ["a"]},
        {ZONE: ["b", "a"]},
        {HOSTNAME: ["n0"]},
        {HOSTNAME: ["n1", "n2"]},
        {ZONE: ["a"], HOSTNAME: ["n1", "n3"]},
    )
)
selectors = st.sampled_from((None, None, None, LabelSelector({"disk": "ssd"})))
sizes = st.sampled_from(SIZES)


@st.composite
def claims(draw: st.DrawFn, name: str) -> PersistentVolumeClaim:
    kind = draw(st.sampled_from(("bound", "unbound", "unbound", "unbound", "provisioning")))
    return make_claim(
        name,
        draw(st.sampled_from(CLASSES)),
        draw(sizes),
        volume=draw(st.sampled_from(("v0", "v1", "nowhere"))) if kind == "bound" else "",
        selected=draw(st.sampled_from(NODES)) if kind == "provisioning" else "",
        selector=draw(selectors),
        modes=draw(st.sampled_from((("A",), ("A", "B")))),
    )


@st.composite
def volumes(draw: st.DrawFn, name: str, of: list[PersistentVolumeClaim]) -> PersistentVolume:
    source: dict[str, Any] = {}
    if draw(st.integers(0, 3)) == 0:
        handle = draw(st.sampled_from(("vol-1", "aws://zone/disk")))
        source = {"csi": None, "aws_elastic_block_store": AWSElasticBlockStore(handle)}
    return make_volume(
        name,
        draw(st.sampled_from(CLASSES)),
        draw(sizes),
        only=draw(topologies),
        claim=draw(st.sampled_from((None, None, None, *of))),
        claim_uid=draw(st.booleans()),
        phase=draw(st.sampled_from(("", "", "", "Available", "Released"))),
        labels={"disk": draw(st.sampled_from(("ssd", "hdd"))), ZONE: draw(st.sampled_from("ab"))},
        modes=draw(st.sampled_from((("A", "B"), ("A",)))),
        deleted=draw(st.integers(0, 9)) == 0,
        **source,
    )


@st.composite
def clusters(draw: st.DrawFn) -> StandInHandle:
    """Draw nodes, some with a CSINode, claims, volumes, and classes with and without provisioner."""
    handle = make_handle()
    for name in draw(st.lists(st.sampled_from(NODES), min_size=1, unique=True)):
        handle.table.set_node(make_node(name, draw(st.sampled_from(("a", "b", "")))))
        if draw(st.booleans()):
            handle.objects.set(
                make_csi_node(name, migrated=draw(st.sampled_from(("", "kubernetes.io/aws-ebs"))))
            )
    of_pod = [draw(claims(name)) for name in CLAIMS_OF_POD]
    for obj in of_pod:
        handle.objects.set(obj)
    for i in range(draw(st.integers(0, 7))):
        handle.objects.set(draw(volumes(f"v{i}", of_pod)))
    terms = draw(st.sampled_from(((), ({ZONE: ["a"]},), ({HOSTNAME: ["n1"]}, {ZONE: ["b"]}))))
    handle.objects.set(make_class("wait", topologies=terms))
    handle.objects.set(make_class("local", "kubernetes.io/no-provisioner"))
    handle.objects.set(make_class("other"))
    if draw(st.booleans()):
        handle.objects.set(make_driver())
    for i in range(draw(st.integers(0, 3))):
        labels = draw(st.sampled_from(({"zone": "a"}, {"zone": "b", "host": "n1"}, {"host": "n2"}, {})))
        handle.objects.set(
            make_capacity(f"k{i}", draw(sizes), draw(st.sampled_from(("wait", "other"))), **labels)
        )
    return handle


pods = st.lists(st.sampled_from(CLAIMS_OF_POD), min_size=1, max_size=3, unique=True).map(
    lambda names: make_pod(*names)
)


def plugin_of(handle: StandInHandle, **args: Any) -> VolumeBinding:
    return VolumeBinding(VolumeBindingArgs(**args), handle)


@given(clusters(), pods, st.data())
def test_both_forms_agree(handle: StandInHandle, pod: Pod, data: st.DataObject) -> None:
    plugin = plugin_of(handle)
    check_filter_agreement(plugin, handle.table, pod)
    # The indexes follow every change.
    for _ in range(data.draw(st.integers(0, 3))):
        known = [handle.objects.get("PersistentVolumeClaim", f"default/{name}") for name in CLAIMS_OF_POD]
        name = data.draw(st.sampled_from(("v0", "v1", "v8")))
        if not handle.objects.remove("PersistentVolume", name) or data.draw(st.booleans()):
            handle.objects.set(data.draw(volumes(name, known)))
        if data.draw(st.booleans()):
            handle.table.set_node(
                make_node(data.draw(st.sampled_from(NODES)), data.draw(st.sampled_from("abc")))
            )
        check_filter_agreement(plugin, handle.table, pod)


SHAPE = (UtilizationShapePoint(0, 3), UtilizationShapePoint(40, 10), UtilizationShapePoint(100, 0))


@given(clusters(), pods)
def test_both_forms_of_the_capacity_score_agree(handle: StandInHandle, pod: Pod) -> None:
    plugin, state = plugin_of(handle, shape=SHAPE), CycleState()
    if plugin.pre_filter(state, pod) is not None:
        return
    assert plugin.pre_score(state) is None
    for part in parts_of(handle.table.rows()):
        expected = per_node_scores(plugin, state, pod, part)
        assert columnar_scores(plugin, state, pod, part) == expected


def naive_choice(
    claim: PersistentVolumeClaim, all_volumes: list[PersistentVolume], node: Node, taken: set[str]
) -> str | None:
    """Return the volume that a loop over all volumes finds."""
    best: PersistentVolume | None = None
    for volume in sorted(all_volumes, key=lambda each: each.name):
        spec, reference = volume.spec, volume.spec.claim_ref
        pre_bound = (
            reference is not None and reference.name == claim.name and reference.uid in ("", claim.uid)
        )
        if volume.name in taken or volume.metadata.deletion_timestamp is not None:
            continue
        if (
            reference is not None and not pre_bound
        ) or spec.storage_class_name != claim.spec.storage_class_name:
            continue
        if spec.capacity["storage"] < claim.spec.resources.requests["storage"]:
            continue
        required = spec.node_affinity.required if spec.node_affinity is not None else None
        near = required is None or any(
            all(node.labels.get(each.key) in each.values for each in term.match_expressions)
            for term in required.terms
        )
        if pre_bound:
            return volume.name if near else None
        wanted = claim.spec.selector.match_labels if claim.spec.selector is not None else {}
        if volume.status.phase != "Available" or not wanted.items() <= volume.labels.items():
            continue
        if not near or not set(claim.spec.access_modes) <= set(spec.access_modes):
            continue
        if best is None or spec.capacity["storage"] < best.spec.capacity["storage"]:
            best = volume
    return None if best is None else best.name


@given(clusters(), pods)
def test_static_matching_equals_a_loop_over_all_volumes(handle: StandInHandle, pod: Pod) -> None:
    plugin, state = plugin_of(handle), CycleState()
    answer = plugin.pre_filter(state, pod)
    if isinstance(answer, Status):
        return
    found = state.read(CLAIMS)
    everything = handle.objects.list("PersistentVolume")
    unbound = [match.claim for match in found.matches]
    requests = [claim.spec.resources.requests["storage"] for claim in unbound]
    assert requests == sorted(requests)
    for info in handle.table.rows():
        expected, taken = [], set[str]()
        for claim in unbound:
            name = naive_choice(claim, everything, info.node, taken)
            if name is not None:
                taken.add(name)
                expected.append((claim, name))
        assert assign_claims(found, info.node.labels)[0] == expected

"""VolumeRestrictions: shared disks, and claims for one pod only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.volume_restrictions import ERR_REASON_CLAIM, ERR_REASON_DISK, VolumeRestrictions
from schedframe import Action, ClusterEvent, CycleState, CycleStateError, EventResource, Status
from schedframe.api import AWSElasticBlockStore, GCEPersistentDisk, ISCSIVolume, Pod, RBDVolume, Volume
from tests.plugins.agreement import StandInHandle, check_filter_agreement
from tests.plugins.events import hint_of
from tests.plugins.storage import make_claim, make_handle, make_node, make_pod, open_nodes, verdicts

DISK = Status.unschedulable(ERR_REASON_DISK)
CLAIM = Status.unschedulable(ERR_REASON_CLAIM)
POD_DELETED = ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE)
CLAIM_ADDED = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, Action.ADD)
NODE_ADDED = ClusterEvent(EventResource.NODE, Action.ADD)
ONE_POD = ("ReadWriteOncePod",)


def gce(name: str, *, read_only: bool = False) -> Volume:
    return Volume(f"gce-{name}", gce_persistent_disk=GCEPersistentDisk(name, read_only=read_only))


def ebs(name: str, *, read_only: bool = False) -> Volume:
    return Volume(f"ebs-{name}", aws_elastic_block_store=AWSElasticBlockStore(name, read_only=read_only))


def iscsi(name: str, *, read_only: bool = False, portal: str = "10.0.0.1") -> Volume:
    return Volume(f"iscsi-{name}", iscsi=ISCSIVolume(portal, name, read_only=read_only))


def rbd(image: str, *monitors: str, pool: str = "rbd", read_only: bool = False) -> Volume:
    return Volume(f"rbd-{image}", rbd=RBDVolume(monitors or ("m1",), image, pool, read_only=read_only))


def conflict(wanted: Volume, used: Volume) -> bool:
    """Return whether a pod with one disk conflicts with a pod with the other."""
    handle = make_handle(make_node(), make_node("m"), pods=[make_pod(name="other", node="n", volumes=[used])])
    found = verdicts(VolumeRestrictions(handle), handle, make_pod(volumes=[wanted]))
    assert found in ({"n": DISK, "m": Status()}, {"n": Status(), "m": Status()})
    return isinstance(found, dict) and found["n"] == DISK


@pytest.mark.parametrize(
    ("wanted", "used", "expected"),
    [
        (gce("a"), gce("a"), True),
        (gce("a"), gce("b"), False),
        (gce("a", read_only=True), gce("a"), True),
        (gce("a", read_only=True), gce("a", read_only=True), False),
        (ebs("a", read_only=True), ebs("a", read_only=True), True),
        (ebs("a"), ebs("b"), False),
        (ebs("a"), gce("a"), False),
        (iscsi("a"), iscsi("a", portal="10.0.0.2"), True),
        (iscsi("a", read_only=True), iscsi("a", read_only=True), False),
        (iscsi("a"), iscsi("b"), False),
        (rbd("a", "m1", "m2"), rbd("a", "m2", "m3"), True),
        (rbd("a", "m1"), rbd("a", "m2"), False),
        (rbd("a"), rbd("a", pool="other"), False),
        (rbd("a", read_only=True), rbd("a", read_only=True), False),
    ],
)
def test_disks_are_shared_only_read_only(wanted: Volume, used: Volume, expected: bool) -> None:
    assert conflict(wanted, used) is expected


def test_pods_without_such_volumes_are_skipped() -> None:
    handle = make_handle(make_node(), make_claim("c"))
    plugin = VolumeRestrictions(handle)
    for pod in (make_pod(), make_pod(volumes=[Volume("token")]), make_pod("c"), make_pod(ephemeral=["e"])):
        assert plugin.pre_filter(CycleState(), pod) == Status.skip()


def test_a_claim_must_exist() -> None:
    handle = make_handle(make_node(), make_claim("c", namespace="other"))
    answer = VolumeRestrictions(handle).pre_filter(CycleState(), make_pod("c"))
    assert answer == Status.unresolvable('persistentvolumeclaim "c" not found')


def test_a_read_write_once_pod_claim_rejects_all_nodes_if_used() -> None:
    claim = make_claim("c", modes=ONE_POD)
    holder = make_pod("c", name="holder", node="n")
    handle = make_handle(make_node(), make_node("m"), claim, pods=[holder])
    plugin = VolumeRestrictions(handle)
    assert verdicts(plugin, handle, make_pod("c")) == {"n": CLAIM, "m": CLAIM}
    handle.table.remove_pod("n", holder.uid)
    assert verdicts(plugin, handle, make_pod("c")) == Status.skip()


@pytest.mark.parametrize(
    ("holder", "modes"),
    [
        (make_pod("c", name="holder", node="n", namespace="other"), ONE_POD),
        (make_pod("c", name="holder", node="unknown"), ONE_POD),
        (make_pod("c", name="holder", node="n"), ("ReadWriteOnce",)),
        (make_pod("d", name="holder", node="n"), ONE_POD),
    ],
    ids=["another namespace", "no such node", "another mode", "another claim"],
)
def test_not_every_use_of_a_claim_conflicts(holder: Pod, modes: tuple[str, ...]) -> None:
    handle = make_handle(make_node(), make_claim("c", modes=modes), make_claim("d"), pods=[holder])
    assert verdicts(VolumeRestrictions(handle), handle, make_pod("c")) == Status.skip()


def test_a_conflicting_disk_is_reported_before_a_claim() -> None:
    users = [
        make_pod("c", name="holder", node="n"),
        make_pod(name="disk", node="n", volumes=[gce("a")]),
    ]
    handle = make_handle(make_node(), make_node("m"), make_claim("c", modes=ONE_POD), pods=users)
    pod = make_pod("c", volumes=[gce("a")])
    assert verdicts(VolumeRestrictions(handle), handle, pod) == {"n": DISK, "m": CLAIM}


def test_dry_runs_count_uses() -> None:
    holder = make_pod("c", name="holder", node="n")
    handle = make_handle(make_node(), make_claim("c", modes=ONE_POD), make_claim("d"), pods=[holder])
    plugin, pod, state = VolumeRestrictions(handle), make_pod("c"), CycleState()
    assert plugin.pre_filter(state, pod) is None
    trial, info = state.clone(), handle.table.info(0).clone()
    plugin.remove_pod(trial, holder)
    assert plugin.filter(trial, pod, info) is None
    plugin.add_pod(trial, make_pod("d", name="bystander", node="n"))
    assert plugin.filter(trial, pod, info) is None
    plugin.add_pod(trial, holder)
    assert plugin.filter(trial, pod, info) == CLAIM
    assert plugin.filter(state, pod, info) == CLAIM


def test_filter_needs_pre_filter() -> None:
    handle = make_handle(make_node(), make_node("m"), pods=[make_pod(node="n", volumes=[gce("a")])])
    plugin, pod = VolumeRestrictions(handle), make_pod(name="q", volumes=[gce("a")])
    assert plugin.filter(CycleState(), pod, handle.table.info(0)) == DISK
    with pytest.raises(CycleStateError, match="VolumeRestrictions"):
        plugin.filter(CycleState(), pod, handle.table.info(1))
    with pytest.raises(CycleStateError, match="VolumeRestrictions"):
        plugin.filter_rows(CycleState(), pod, handle.table.rows())


def test_it_follows_pods_and_nodes() -> None:
    handle = make_handle(make_node(), make_node("m"))
    plugin, pod = VolumeRestrictions(handle), make_pod(volumes=[ebs("a")])
    assert open_nodes(plugin, handle, pod) == {"n", "m"}
    handle.table.add_pod("n", make_pod(name="one", node="n", volumes=[ebs("a")]))
    handle.table.add_pod("m", make_pod(name="two", node="m", volumes=[ebs("b")]))
    assert open_nodes(plugin, handle, pod) == {"m"}
    handle.table.remove_pod("n", "default-one")
    handle.table.remove_node("m")
    handle.table.set_node(make_node("new"))
    assert open_nodes(plugin, handle, pod) == {"n", "new"}


def test_hints() -> None:
    plugin = VolumeRestrictions(make_handle())
    pod = make_pod("c", volumes=[gce("a")])
    gone = make_pod("c", name="gone")
    assert hint_of(plugin, POD_DELETED, pod, gone, None)
    assert hint_of(plugin, POD_DELETED, pod, make_pod(name="gone", volumes=[gce("a")]), None)
    assert not hint_of(plugin, POD_DELETED, pod, make_pod("d", name="gone", volumes=[gce("b")]), None)
    assert not hint_of(plugin, POD_DELETED, pod, make_pod("c", name="gone", namespace="other"), None)
    assert not hint_of(plugin, POD_DELETED, pod, make_pod(name="gone"), None)
    assert hint_of(plugin, CLAIM_ADDED, pod, None, make_claim("c"))
    assert not hint_of(plugin, CLAIM_ADDED, pod, None, make_claim("c", namespace="other"))
    assert not hint_of(plugin, CLAIM_ADDED, make_pod(ephemeral=["e"]), None, make_claim("p-e"))
    assert hint_of(plugin, NODE_ADDED, pod, None, make_node())


disks = st.sampled_from(
    [
        *(gce("a", read_only=each) for each in (True, False)),
        *(iscsi("a", read_only=each) for each in (True, False)),
        *(ebs(name) for name in "ab"),
        rbd("a", "m1"),
        rbd("a", "m1", "m2"),
        rbd("a", "m2", read_only=True),
        Volume("token"),
    ]
)


@st.composite
def users(draw: st.DrawFn, name: str, node: str = "") -> Pod:
    volumes = draw(st.lists(disks, max_size=2, unique_by=lambda volume: volume.name))
    claims = draw(st.lists(st.sampled_from(("c", "d")), max_size=2))
    return make_pod(*claims, name=name, node=node, volumes=volumes)


@given(st.data())
def test_both_forms_agree(data: st.DataObject) -> None:
    names = ("n0", "n1", "n2")
    handle: StandInHandle = make_handle(make_claim("c", modes=ONE_POD), make_claim("d"))
    plugin = VolumeRestrictions(handle)
    for name in names:
        handle.table.set_node(make_node(name))
    running: list[Pod] = []
    for i in range(data.draw(st.integers(1, 6))):
        if running and data.draw(st.booleans()):
            gone = running.pop(data.draw(st.integers(0, len(running) - 1)))
            handle.table.remove_pod(gone.node_name, gone.uid)
        else:
            running.append(data.draw(users(f"r{i}", data.draw(st.sampled_from((*names, "unknown"))))))
            handle.table.add_pod(running[-1].node_name, running[-1])
        pod = data.draw(users("under-test"))
        check_filter_agreement(plugin, handle.table, pod)
        taken = any("c" in claims_of(other) and other.node_name in names for other in running)
        found = verdicts(plugin, handle, pod)
        refused = isinstance(found, dict) and all(status in (CLAIM, DISK) for status in found.values())
        assert refused or not ("c" in claims_of(pod) and taken)


def claims_of(pod: Pod) -> set[str]:
    sources = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    return {source.claim_name for source in sources if source is not None}

"""VolumeBinding: which claims are in the way, and which nodes reach, have or can get the volumes."""

from __future__ import annotations

from typing import Any

import pytest

from plugins_builtin.args import UtilizationShapePoint, VolumeBindingArgs
from plugins_builtin.volume_binding import VolumeBinding
from plugins_builtin.volume_binding.claims import ERR_REASON_IMMEDIATE
from plugins_builtin.volume_binding.judging import (
    ERR_REASON_AFFINITY,
    ERR_REASON_MISSING,
    ERR_REASON_NO_SPACE,
    ERR_REASON_NO_VOLUME,
)
from schedframe import Action, ClusterEvent, Code, CycleState, CycleStateError, EventResource, Status
from schedframe.api import (
    AWSElasticBlockStore,
    CSIVolumeSource,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolumeClaim,
    Volume,
    VolumeNodeAffinity,
)
from tests.plugins.agreement import StandInHandle, columnar_scores, per_node_scores
from tests.plugins.events import hint_of
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
    open_nodes,
    verdicts,
)

AFFINITY = Status.unresolvable(ERR_REASON_AFFINITY)
NO_VOLUME = Status.unresolvable(ERR_REASON_NO_VOLUME)
NO_SPACE = Status.unresolvable(ERR_REASON_NO_SPACE)
MISSING = Status.unresolvable(ERR_REASON_MISSING)
OPEN = Status()
NODES = (make_node("n", "a"), make_node("m", "b"), make_node("o"))
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def make_plugin(handle: StandInHandle, **args: Any) -> VolumeBinding:
    return VolumeBinding(VolumeBindingArgs(**args), handle)


def judged(*objects: Any, claims: tuple[str, ...] = ("c",)) -> dict[str, Status]:
    """The verdict of each of NODES about a pod with these *claims*."""
    handle = make_handle(*NODES, *objects)
    found = verdicts(make_plugin(handle), handle, make_pod(*claims))
    assert isinstance(found, dict), found
    return found


def local(name: str, size: str, **fields: Any) -> Any:
    return make_volume(name, "local", size, **fields)


LOCAL = make_class("local", NO_PROVISIONER)


class TestPreFilter:
    @pytest.mark.parametrize("pod", [make_pod(), make_pod(volumes=[Volume("token")])])
    def test_pods_without_claims_are_skipped(self, pod: Any) -> None:
        plugin, state = make_plugin(make_handle(*NODES)), CycleState()
        assert plugin.pre_filter(state, pod) == Status.skip()
        assert plugin.reserve(state, pod, "n") is None
        assert plugin.pre_bind_pre_flight(state) == Status.skip()

    @pytest.mark.parametrize(
        ("claim", "reason"),
        [
            (None, 'persistentvolumeclaim "c" not found'),
            (make_claim("c", namespace="other"), 'persistentvolumeclaim "c" not found'),
            (
                make_claim("c", volume="v", phase="Lost"),
                'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
            ),
            (make_claim("c", deleted=True), 'persistentvolumeclaim "c" is being deleted'),
            (make_claim("c", "now"), ERR_REASON_IMMEDIATE),
            (make_claim("c", "unknown"), ERR_REASON_IMMEDIATE),
            (make_claim("c", None), ERR_REASON_IMMEDIATE),
            (make_claim("c", "silent"), ERR_REASON_IMMEDIATE),
            (make_claim("c", volume="v", bound=False), ERR_REASON_IMMEDIATE),
        ],
    )
    def test_a_claim_in_the_way(self, claim: PersistentVolumeClaim | None, reason: str) -> None:
        classes = [make_class(), make_class("now", mode="Immediate"), make_class("silent", mode="")]
        handle = make_handle(*NODES, *classes, *([claim] if claim is not None else []))
        assert verdicts(make_plugin(handle), handle, make_pod("c")) == Status.unresolvable(reason)

    def test_claims_of_ephemeral_volumes(self) -> None:
        handle = make_handle(*NODES, make_class())
        plugin, pod = make_plugin(handle), make_pod(ephemeral=["e"])
        waiting = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-e"'
        assert verdicts(plugin, handle, pod) == Status.unresolvable(waiting)
        handle.objects.set(make_claim("p-e"))
        stranger = "PVC default/p-e was not created for pod default/p (pod is not owner)"
        assert verdicts(plugin, handle, pod) == Status.unresolvable(stranger)
        handle.objects.set(make_claim("p-e", owner="namesake"))
        assert verdicts(plugin, handle, pod) == Status.unresolvable(stranger)
        handle.objects.set(make_claim("p-e", owner=pod.uid))
        assert open_nodes(plugin, handle, pod) == {"n", "m", "o"}

    def test_one_claim_in_the_way_is_enough(self) -> None:
        handle = make_handle(*NODES, make_class(), make_claim("c"), make_claim("d", "unknown"))
        assert verdicts(make_plugin(handle), handle, make_pod("c", "d")) == Status.unresolvable(
            ERR_REASON_IMMEDIATE
        )

    def test_without_it_filter_and_reserve_fail(self) -> None:
        handle = make_handle(*NODES)
        plugin, state = make_plugin(handle), CycleState()
        for action in (
            lambda: plugin.filter(state, handle.table.info(0)),
            lambda: plugin.filter_rows(state, handle.table.rows()),
            lambda: plugin.reserve(state, make_pod(), "n"),
        ):
            with pytest.raises(CycleStateError, match="VolumeBinding"):
                action()


class TestBoundClaims:
    def test_the_node_must_reach_the_volume(self) -> None:
        claim = make_claim("c", volume="v")
        assert judged(claim, make_volume("v", claim=claim)) == dict.fromkeys("nmo", OPEN)
        zonal = make_volume("v", claim=claim, only={ZONE: ["a"]})
        assert judged(claim, zonal) == {"n": OPEN, "m": AFFINITY, "o": AFFINITY}
        nowhere = make_volume("v", claim=claim, node_affinity=VolumeNodeAffinity(NodeSelector()))
        assert judged(claim, nowhere) == dict.fromkeys("nmo", AFFINITY)

    def test_only_labels_of_nodes_are_looked_at(self) -> None:
        claim = make_claim("c", volume="v")
        field = NodeSelectorRequirement("metadata.name", "In", ("elsewhere",))
        label = NodeSelectorRequirement(ZONE, "In", ("a",))
        selector = VolumeNodeAffinity(NodeSelector((NodeSelectorTerm((label,), (field,)),)))
        volume = make_volume("v", claim=claim, node_affinity=selector)
        assert judged(claim, volume) == {"n": OPEN, "m": AFFINITY, "o": AFFINITY}

    def test_the_first_volume_in_the_way_counts(self) -> None:
        first, second = make_claim("c", volume="v"), make_claim("d", volume="gone")
        volume = make_volume("v", claim=first, only={ZONE: ["a"]})
        assert judged(first, second, volume, claims=("c", "d")) == {
            "n": MISSING,
            "m": AFFINITY,
            "o": AFFINITY,
        }
        assert judged(first, second, volume, claims=("d", "c")) == dict.fromkeys("nmo", MISSING)
        assert judged(first, second, volume, claims=("d",)) == dict.fromkeys("nmo", MISSING)

    def test_migrated_volumes_have_the_topology_of_their_driver(self) -> None:
        claim = make_claim("c", volume="v")
        source = AWSElasticBlockStore("vol-1")
        volume = make_volume("v", claim=claim, csi=None, aws_elastic_block_store=source, only={ZONE: ["a"]})
        migrated = [
            make_csi_node(name, migrated="kubernetes.io/gce-pd,kubernetes.io/aws-ebs") for name in ("n", "m")
        ]
        assert judged(claim, volume, *migrated[1:]) == {"n": OPEN, "m": AFFINITY, "o": AFFINITY}
        assert judged(claim, volume, *migrated) == dict.fromkeys("nmo", AFFINITY)
        handle = make_handle(*NODES, claim, volume, *migrated)
        plugin = make_plugin(handle)
        handle.table.set_node(make_node("n", "a", **{"topology.ebs.csi.aws.com/zone": "a"}))
        assert open_nodes(plugin, handle, make_pod("c")) == {"n"}

    def test_a_volume_that_cannot_be_translated_fails_where_it_is_migrated(self) -> None:
        claim, other = make_claim("c", volume="v"), make_claim("d", volume="gone")
        bad = AWSElasticBlockStore("aws://zone/disk")
        volume = make_volume("v", claim=claim, csi=None, aws_elastic_block_store=bad, only={ZONE: ["a", "b"]})
        found = judged(claim, volume, make_csi_node("m", migrated="kubernetes.io/aws-ebs"))
        assert found["n"] == OPEN
        assert found["o"] == AFFINITY
        assert found["m"].code is Code.ERROR
        found = judged(
            claim, other, volume, make_csi_node("m", migrated="kubernetes.io/aws-ebs"), claims=("c", "d")
        )
        assert (found["n"], found["m"].code) == (MISSING, Code.ERROR)


class TestStaticBinding:
    def test_any_free_volume_that_is_large_enough_will_do(self) -> None:
        claim = make_claim("c", "local")
        assert judged(LOCAL, claim) == dict.fromkeys("nmo", NO_VOLUME)
        small, fitting = local("v", "9Gi", only={ZONE: ["a"]}), local("w", "10Gi", only={ZONE: ["b"]})
        assert judged(LOCAL, claim, small, fitting) == {"n": NO_VOLUME, "m": OPEN, "o": NO_VOLUME}
        assert judged(LOCAL, claim, local("v", "10Gi")) == dict.fromkeys("nmo", OPEN)

    @pytest.mark.parametrize(
        "changes",
        [
            {"phase": "Released"},
            {"phase": "Bound"},
            {"deleted": True},
            {"claim": make_claim("other")},
            {"claim": make_claim("c", uid="namesake")},
            {"volume_mode": "Block"},
            {"modes": ("ReadOnlyMany",)},
            {"volume_attributes_class_name": "gold"},
            {"storage_class": "another"},
            {"annotations": {"volume.beta.kubernetes.io/storage-class": "another"}},
        ],
        ids=lambda changes: next(iter(changes)),
    )
    def test_a_volume_that_will_not_do(self, changes: dict[str, Any]) -> None:
        claim = make_claim("c", "local")
        volume = make_volume("v", **({"storage_class": "local", "size": "10Gi"} | changes))
        assert judged(LOCAL, claim, volume) == dict.fromkeys("nmo", NO_VOLUME)

    def test_wishes_of_the_claim(self) -> None:
        claim = make_claim(
            "c", "local", volume_mode="Block", volume_attributes_class_name="gold", modes=("A", "B")
        )
        fields = {"volume_mode": "Block", "volume_attributes_class_name": "gold"}
        assert judged(LOCAL, claim, local("v", "10Gi", modes=("B", "C", "A"), **fields))["n"] == OPEN
        assert judged(LOCAL, claim, local("v", "10Gi", modes=("A",), **fields))["n"] == NO_VOLUME
        assert (
            judged(LOCAL, make_claim("c", "local", volume_mode="Filesystem"), local("v", "10Gi"))["n"] == OPEN
        )

    def test_the_claim_may_select_volumes_by_label(self) -> None:
        expression = LabelSelectorRequirement("disk", "In", ("ssd",))
        claim = make_claim("c", "local", selector=LabelSelector(match_expressions=(expression,)))
        volumes = [
            local("v", "10Gi", only={ZONE: ["a"]}, labels={"disk": "ssd"}),
            local("w", "10Gi", only={ZONE: ["b"]}, labels={"disk": "hdd"}),
            local("x", "10Gi", only={ZONE: ["b"]}, labels={"disk": "hdd"}),
        ]
        assert judged(LOCAL, claim, *volumes) == {"n": OPEN, "m": NO_VOLUME, "o": NO_VOLUME}

    def test_a_volume_meant_for_the_claim_comes_first(self) -> None:
        claim = make_claim("c", "local")
        free = local("free", "10Gi")
        for with_uid in (True, False):
            meant = local(
                "mine", "20Gi", claim=claim, claim_uid=with_uid, only={ZONE: ["a"]}, phase="Available"
            )
            assert judged(LOCAL, claim, free, meant) == {"n": OPEN, "m": NO_VOLUME, "o": NO_VOLUME}
        odd = make_volume("odd", "local", "20Gi", claim=claim, modes=(), phase="Released", only={ZONE: ["b"]})
        assert judged(LOCAL, claim, free, odd) == {"n": NO_VOLUME, "m": OPEN, "o": NO_VOLUME}
        too_small = local("small", "1Gi", claim=claim, only={ZONE: ["a"]})
        assert judged(LOCAL, claim, free, too_small) == dict.fromkeys("nmo", OPEN)
        another_class = make_volume("alien", "wait", "20Gi", claim=claim, only={ZONE: ["a"]})
        assert judged(LOCAL, claim, free, another_class) == dict.fromkeys("nmo", OPEN)

    def test_small_claims_are_served_first_and_take_the_smallest_volume(self) -> None:
        claims = [make_claim("large", "local", "20Gi"), make_claim("small", "local", "5Gi")]
        names = ("large", "small")
        both = [local("v", "10Gi"), local("w", "20Gi")]
        assert judged(LOCAL, *claims, *both, claims=names)["n"] == OPEN
        assert judged(LOCAL, *claims, both[1], claims=names)["n"] == NO_VOLUME
        two_large = [local("v", "20Gi", only={ZONE: ["a"]}), local("w", "30Gi", only={ZONE: ["a"]})]
        assert judged(LOCAL, *claims, *two_large, claims=names) == {"n": OPEN, "m": NO_VOLUME, "o": NO_VOLUME}

    def test_no_cleverer_arrangement_is_tried(self) -> None:
        # The small claim takes the small volume, the only one with the label that the other wants.
        wanting = make_claim("large", "local", "6Gi", selector=LabelSelector({"disk": "ssd"}))
        claims = [make_claim("small", "local", "5Gi"), wanting]
        volumes = [local("v", "10Gi", labels={"disk": "ssd"}), local("w", "20Gi")]
        assert judged(LOCAL, *claims, *volumes, claims=("small", "large"))["n"] == NO_VOLUME

    def test_it_follows_volumes_as_they_change(self) -> None:
        handle = make_handle(*NODES, LOCAL, make_claim("c", "local"), make_claim("other", "local"))
        plugin, pod = make_plugin(handle), make_pod("c")
        assert open_nodes(plugin, handle, pod) == set()
        steps: list[tuple[Any, set[str]]] = [
            (local("v", "10Gi", only={ZONE: ["a"]}), {"n"}),
            (local("v", "10Gi", only={HOSTNAME: ["m", "o"]}), {"m", "o"}),
            (local("w", "10Gi", only={ZONE: ["a"]}), {"n", "m", "o"}),
            (local("v", "10Gi", claim=make_claim("other", "local")), {"n"}),
            (local("w", "9.5Gi", only={ZONE: ["a"]}), set()),
            (local("w", "10737418240.5", only={ZONE: ["a"]}), {"n"}),
            (local("w", "10Gi", only={ZONE: ["a"], HOSTNAME: ["o"]}), set()),
            (local("w", "10Gi", only={ZONE: ["a"], HOSTNAME: ["n"]}), {"n"}),
            (make_volume("w", "another", "10Gi"), set()),
        ]
        for volume, expected in steps:
            handle.objects.set(volume)
            assert open_nodes(plugin, handle, pod) == expected, volume
        handle.objects.set(local("w", "10Gi"))
        handle.objects.remove("PersistentVolume", "w")
        assert open_nodes(plugin, handle, pod) == set()


class TestProvisioning:
    def test_a_class_without_a_provisioner_makes_nothing(self) -> None:
        for provisioner, expected in ((NO_PROVISIONER, NO_VOLUME), ("", NO_VOLUME), ("any", OPEN)):
            assert judged(make_class(provisioner=provisioner), make_claim())["n"] == expected

    def test_a_free_volume_is_not_needed_but_taken(self) -> None:
        found = judged(make_class(topologies=[{ZONE: ["b"]}]), make_claim(), make_volume(only={ZONE: ["a"]}))
        assert found == {"n": OPEN, "m": OPEN, "o": NO_VOLUME}

    def test_one_of_the_terms_must_match_with_all_its_expressions(self) -> None:
        terms = [{ZONE: ["a", "b"], HOSTNAME: ["m", "x"]}, {ZONE: ["c"]}]
        assert judged(make_class(topologies=terms), make_claim()) == {
            "n": NO_VOLUME,
            "m": OPEN,
            "o": NO_VOLUME,
        }
        assert judged(make_class(topologies=[{}]), make_claim())["n"] == NO_VOLUME

    def test_there_must_be_capacity_where_the_driver_reports_it(self) -> None:
        storage = [
            make_class(),
            make_claim(),
            make_capacity("1", "10Gi", zone="a"),
            make_capacity("2", "9Gi", zone="b"),
        ]
        assert judged(*storage) == dict.fromkeys("nmo", OPEN)
        for says in (None, False):
            assert judged(*storage, make_driver(capacity=says)) == dict.fromkeys("nmo", OPEN)
        assert judged(*storage, make_driver()) == {"n": OPEN, "m": NO_SPACE, "o": NO_SPACE}

    @pytest.mark.parametrize(
        ("capacity", "expected"),
        [
            (make_capacity("x", "5Gi", largest="20Gi", zone="a"), OPEN),
            (make_capacity("x", "50Gi", largest="5Gi", zone="a"), NO_SPACE),
            (make_capacity("x", None, zone="a"), NO_SPACE),
            (make_capacity("x", "10Gi", "another", zone="a"), NO_SPACE),
            (make_capacity("x", "10Gi", zone="a", host="n"), OPEN),
            (make_capacity("x", "10Gi", zone="a", host="m"), NO_SPACE),
            (make_capacity("x", "10Gi"), OPEN),
            (
                make_capacity(
                    "x",
                    "10Gi",
                    topology=LabelSelector(
                        match_expressions=(LabelSelectorRequirement(ZONE, "NotIn", ("b",)),)
                    ),
                ),
                OPEN,
            ),
            (
                make_capacity(
                    "x",
                    "10Gi",
                    topology=LabelSelector(match_expressions=(LabelSelectorRequirement(ZONE, "Odd", ()),)),
                ),
                NO_SPACE,
            ),
        ],
    )
    def test_which_capacity_counts(self, capacity: Any, expected: Status) -> None:
        assert judged(make_class(), make_claim(), make_driver(), capacity)["n"] == expected

    def test_capacity_is_not_summed_up_and_not_asked_without_a_size(self) -> None:
        storage = [make_class(), make_driver(), make_capacity("1", "10Gi", zone="a")]
        claims = [make_claim("c"), make_claim("d")]
        assert judged(*storage, *claims, claims=("c", "d"))["n"] == OPEN
        assert judged(*storage, make_claim(size="")) == dict.fromkeys("nmo", OPEN)

    def test_capacities_come_and_go(self) -> None:
        handle = make_handle(*NODES, make_class(), make_claim("c"), make_driver())
        plugin, pod = make_plugin(handle), make_pod("c")
        steps = [
            (make_capacity("1", "10Gi", zone="a"), {"n"}),
            (make_capacity("2", "10Gi", host="m"), {"n", "m"}),
            (make_capacity("1", "1Gi", zone="a"), {"m"}),
            (make_capacity("3", "10Gi", zone="a"), {"n", "m"}),
            (make_capacity("3", "10Gi", zone="a", host="o"), {"m"}),
            (make_capacity("2", "10Gi", "another", host="m"), set()),
        ]
        for capacity, expected in steps:
            handle.objects.set(capacity)
            assert open_nodes(plugin, handle, pod) == expected
        handle.objects.set(make_capacity("1", "20Gi"))
        assert open_nodes(plugin, handle, pod) == {"n", "m", "o"}
        handle.objects.remove("CSIStorageCapacity", "default/1")
        assert open_nodes(plugin, handle, pod) == set()

    def test_topology_comes_before_capacity(self) -> None:
        storage = [make_class(topologies=[{ZONE: ["a"]}]), make_claim(), make_driver()]
        assert judged(*storage) == {"n": NO_SPACE, "m": NO_VOLUME, "o": NO_VOLUME}

    def test_the_first_claim_that_fails_tells_why(self) -> None:
        classes = [make_class(), make_class("picky", "other", topologies=[{ZONE: ["a"]}]), make_driver()]
        small, large = make_claim("c", "picky", "1Gi"), make_claim("d", "wait", "2Gi")
        assert judged(*classes, small, large, claims=("d", "c")) == {
            "n": NO_SPACE,
            "m": NO_VOLUME,
            "o": NO_VOLUME,
        }

    def test_a_claim_that_is_being_provisioned_stays_on_its_node(self) -> None:
        sent = make_claim("c", selected="m")
        assert judged(make_class(), sent, make_volume()) == {"n": NO_VOLUME, "m": OPEN, "o": NO_VOLUME}
        assert judged(make_class(topologies=[{ZONE: ["a"]}]), sent) == dict.fromkeys("nmo", NO_VOLUME)
        other = make_claim("d", selected="n")
        assert judged(make_class(), sent, other, claims=("c", "d")) == dict.fromkeys("nmo", NO_VOLUME)
        wishing = make_claim("d", "local")
        found = judged(LOCAL, make_class(), sent, wishing, local("v", "10Gi"), claims=("c", "d"))
        assert found == {"n": NO_VOLUME, "m": OPEN, "o": NO_VOLUME}

    def test_bound_and_unbound_reasons_add_up(self) -> None:
        bound = make_claim("b", volume="v")
        volume = make_volume("v", claim=bound, only={ZONE: ["a"]})
        storage = [bound, volume, make_class(provisioner=NO_PROVISIONER), make_claim("c")]
        both = Status.unresolvable(ERR_REASON_AFFINITY, ERR_REASON_NO_VOLUME)
        assert judged(*storage, claims=("b", "c")) == {"n": NO_VOLUME, "m": both, "o": both}


class TestScore:
    def test_it_is_skipped_unless_there_is_a_shape(self) -> None:
        plugin = make_plugin(make_handle(*NODES))
        assert plugin.pre_score(CycleState()) == Status.skip()

    def scores(self, *objects: Any, claims: tuple[str, ...] = ("c",)) -> list[int]:
        handle = make_handle(*NODES, *objects)
        shape = (UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10))
        plugin, state, pod = make_plugin(handle, shape=shape), CycleState(), make_pod(*claims)
        assert plugin.pre_filter(state, pod) is None
        assert plugin.pre_score(state) is None
        rows = handle.table.rows()
        found = per_node_scores(plugin, state, pod, rows)
        assert columnar_scores(plugin, state, pod, rows) == found
        return found

    def test_volumes_that_are_used_well_are_preferred(self) -> None:
        volumes = [local("v", "20Gi", only={ZONE: ["a"]}), local("w", "40Gi", only={ZONE: ["b"]})]
        assert self.scores(LOCAL, make_claim("c", "local"), *volumes, local("x", "10Ti")) == [50, 25, 0]

    def test_it_is_the_mean_over_classes(self) -> None:
        classes = [LOCAL, make_class("other", NO_PROVISIONER)]
        claims = [make_claim("c", "local"), make_claim("d", "other"), make_claim("e", "other")]
        volumes = [local("v", "10Gi"), make_volume("w", "other", "20Gi"), make_volume("x", "other", "20Gi")]
        assert self.scores(*classes, *claims, *volumes, claims=("c", "d", "e")) == [75, 75, 75]

    def test_storage_for_new_volumes_counts_where_there_are_none(self) -> None:
        capacities = [
            make_capacity("1", "20Gi", zone="a"),
            make_capacity("2", "40Gi", zone="a", host="n"),
            make_capacity("3", "10Gi", largest="50Gi", zone="b"),
        ]
        claims = [make_claim("c"), make_claim("d")]
        found = self.scores(make_class(), make_driver(), *capacities, *claims, claims=("c", "d"))
        assert found == [50, 100, 0]

    def test_nothing_to_score(self) -> None:
        claim = make_claim("c", volume="v")
        assert self.scores(claim, make_volume("v", claim=claim)) == [0, 0, 0]


def test_hints() -> None:
    plugin = make_plugin(make_handle())
    pod = make_pod("c", ephemeral=["e"], volumes=[Volume("i", csi=CSIVolumeSource("inline.example.com"))])

    def asked(kind: EventResource, old: Any, new: Any) -> bool:
        action = Action.ADD if old is None else Action.UPDATE
        return hint_of(plugin, ClusterEvent(kind, action), pod, old, new)

    here = make_class(topologies=[{ZONE: ["a"]}])
    assert asked(EventResource.STORAGE_CLASS, None, make_class())
    assert asked(EventResource.STORAGE_CLASS, make_class(), here)
    assert not asked(
        EventResource.STORAGE_CLASS, here, make_class(provisioner="x", topologies=[{ZONE: ["a"]}])
    )
    for name, expected in (("c", True), ("p-e", True), ("d", False)):
        assert asked(EventResource.PERSISTENT_VOLUME_CLAIM, None, make_claim(name)) is expected
    assert not asked(EventResource.PERSISTENT_VOLUME_CLAIM, None, make_claim("c", namespace="other"))
    assert asked(EventResource.PERSISTENT_VOLUME, make_volume(), make_volume())
    assert asked(EventResource.CSI_NODE, None, make_csi_node())
    assert asked(EventResource.CSI_NODE, make_csi_node(), make_csi_node(migrated="x"))
    assert not asked(EventResource.CSI_NODE, make_csi_node(), make_csi_node(a=1))
    on, off = make_driver("inline.example.com"), make_driver("inline.example.com", None)
    assert asked(EventResource.CSI_DRIVER, on, off)
    assert not asked(EventResource.CSI_DRIVER, off, on)
    assert not asked(EventResource.CSI_DRIVER, make_driver(), make_driver(capacity=False))
    less, more = make_capacity("1", "1Gi"), make_capacity("1", "2Gi")
    assert asked(EventResource.CSI_STORAGE_CAPACITY, None, less)
    assert asked(EventResource.CSI_STORAGE_CAPACITY, less, more)
    assert asked(EventResource.CSI_STORAGE_CAPACITY, make_capacity("1", None), less)
    assert not asked(EventResource.CSI_STORAGE_CAPACITY, more, less)
    assert not asked(EventResource.CSI_STORAGE_CAPACITY, more, make_capacity("1", None))
    assert hint_of(
        plugin, ClusterEvent(EventResource.NODE, Action.UPDATE_NODE_LABEL), pod, NODES[0], NODES[0]
    )

"""VolumeBinding: pre_filter, bound claims and static matching."""

from __future__ import annotations

from typing import Any

import pytest

from plugins_builtin.volume_binding.claims import ERR_REASON_IMMEDIATE
from schedframe import Code, CycleState, CycleStateError, Status
from schedframe.api import (
    AWSElasticBlockStore,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolumeClaim,
    Volume,
    VolumeNodeAffinity,
)
from tests.plugins.storage import (
    HOSTNAME,
    ZONE,
    make_claim,
    make_class,
    make_csi_node,
    make_handle,
    make_node,
    make_pod,
    make_volume,
    open_nodes,
    verdicts,
)
from tests.plugins.volume_filtering import (
    AFFINITY,
    LOCAL,
    MISSING,
    NO_VOLUME,
    NODES,
    OPEN,
    local,
    make_plugin,
    statuses_of,
)


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
    def test_a_claim_that_rejects_the_pod(self, claim: PersistentVolumeClaim | None, reason: str) -> None:
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

    def test_one_such_claim_is_enough(self) -> None:
        handle = make_handle(*NODES, make_class(), make_claim("c"), make_claim("d", "unknown"))
        assert verdicts(make_plugin(handle), handle, make_pod("c", "d")) == Status.unresolvable(
            ERR_REASON_IMMEDIATE
        )

    def test_filter_and_reserve_need_pre_filter(self) -> None:
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
    def test_the_node_must_match_the_affinity_of_the_volume(self) -> None:
        claim = make_claim("c", volume="v")
        assert statuses_of(claim, make_volume("v", claim=claim)) == dict.fromkeys("nmo", OPEN)
        zonal = make_volume("v", claim=claim, only={ZONE: ["a"]})
        assert statuses_of(claim, zonal) == {"n": OPEN, "m": AFFINITY, "o": AFFINITY}
        nowhere = make_volume("v", claim=claim, node_affinity=VolumeNodeAffinity(NodeSelector()))
        assert statuses_of(claim, nowhere) == dict.fromkeys("nmo", AFFINITY)

    def test_only_labels_of_nodes_are_compared(self) -> None:
        claim = make_claim("c", volume="v")
        field = NodeSelectorRequirement("metadata.name", "In", ("elsewhere",))
        label = NodeSelectorRequirement(ZONE, "In", ("a",))
        selector = VolumeNodeAffinity(NodeSelector((NodeSelectorTerm((label,), (field,)),)))
        volume = make_volume("v", claim=claim, node_affinity=selector)
        assert statuses_of(claim, volume) == {"n": OPEN, "m": AFFINITY, "o": AFFINITY}

    def test_the_first_rejecting_volume_gives_the_reason(self) -> None:
        first, second = make_claim("c", volume="v"), make_claim("d", volume="gone")
        volume = make_volume("v", claim=first, only={ZONE: ["a"]})
        assert statuses_of(first, second, volume, claims=("c", "d")) == {
            "n": MISSING,
            "m": AFFINITY,
            "o": AFFINITY,
        }
        assert statuses_of(first, second, volume, claims=("d", "c")) == dict.fromkeys("nmo", MISSING)
        assert statuses_of(first, second, volume, claims=("d",)) == dict.fromkeys("nmo", MISSING)

    def test_migrated_volumes_have_the_topology_of_their_driver(self) -> None:
        claim = make_claim("c", volume="v")
        source = AWSElasticBlockStore("vol-1")
        volume = make_volume("v", claim=claim, csi=None, aws_elastic_block_store=source, only={ZONE: ["a"]})
        migrated = [
            make_csi_node(name, migrated="kubernetes.io/gce-pd,kubernetes.io/aws-ebs") for name in ("n", "m")
        ]
        assert statuses_of(claim, volume, *migrated[1:]) == {"n": OPEN, "m": AFFINITY, "o": AFFINITY}
        assert statuses_of(claim, volume, *migrated) == dict.fromkeys("nmo", AFFINITY)
        handle = make_handle(*NODES, claim, volume, *migrated)
        plugin = make_plugin(handle)
        handle.table.set_node(make_node("n", "a", **{"topology.ebs.csi.aws.com/zone": "a"}))
        assert open_nodes(plugin, handle, make_pod("c")) == {"n"}

    def test_a_volume_that_cannot_be_translated_fails_where_it_is_migrated(self) -> None:
        claim, other = make_claim("c", volume="v"), make_claim("d", volume="gone")
        bad = AWSElasticBlockStore("aws://zone/disk")
        volume = make_volume("v", claim=claim, csi=None, aws_elastic_block_store=bad, only={ZONE: ["a", "b"]})
        found = statuses_of(claim, volume, make_csi_node("m", migrated="kubernetes.io/aws-ebs"))
        assert found["n"] == OPEN
        assert found["o"] == AFFINITY
        assert found["m"].code is Code.ERROR
        found = statuses_of(
            claim, other, volume, make_csi_node("m", migrated="kubernetes.io/aws-ebs"), claims=("c", "d")
        )
        assert (found["n"], found["m"].code) == (MISSING, Code.ERROR)


class TestStaticBinding:
    def test_any_free_volume_that_is_large_enough_matches(self) -> None:
        claim = make_claim("c", "local")
        assert statuses_of(LOCAL, claim) == dict.fromkeys("nmo", NO_VOLUME)
        small, fitting = local("v", "9Gi", only={ZONE: ["a"]}), local("w", "10Gi", only={ZONE: ["b"]})
        assert statuses_of(LOCAL, claim, small, fitting) == {"n": NO_VOLUME, "m": OPEN, "o": NO_VOLUME}
        assert statuses_of(LOCAL, claim, local("v", "10Gi")) == dict.fromkeys("nmo", OPEN)

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
    def test_a_volume_that_does_not_match(self, changes: dict[str, Any]) -> None:
        claim = make_claim("c", "local")
        volume = make_volume("v", **({"storage_class": "local", "size": "10Gi"} | changes))
        assert statuses_of(LOCAL, claim, volume) == dict.fromkeys("nmo", NO_VOLUME)

    def test_modes_and_classes_must_match(self) -> None:
        claim = make_claim(
            "c", "local", volume_mode="Block", volume_attributes_class_name="gold", modes=("A", "B")
        )
        fields = {"volume_mode": "Block", "volume_attributes_class_name": "gold"}
        assert statuses_of(LOCAL, claim, local("v", "10Gi", modes=("B", "C", "A"), **fields))["n"] == OPEN
        assert statuses_of(LOCAL, claim, local("v", "10Gi", modes=("A",), **fields))["n"] == NO_VOLUME
        assert (
            statuses_of(LOCAL, make_claim("c", "local", volume_mode="Filesystem"), local("v", "10Gi"))["n"]
            == OPEN
        )

    def test_a_claim_can_select_volumes_by_label(self) -> None:
        expression = LabelSelectorRequirement("disk", "In", ("ssd",))
        claim = make_claim("c", "local", selector=LabelSelector(match_expressions=(expression,)))
        volumes = [
            local("v", "10Gi", only={ZONE: ["a"]}, labels={"disk": "ssd"}),
            local("w", "10Gi", only={ZONE: ["b"]}, labels={"disk": "hdd"}),
            local("x", "10Gi", only={ZONE: ["b"]}, labels={"disk": "hdd"}),
        ]
        assert statuses_of(LOCAL, claim, *volumes) == {"n": OPEN, "m": NO_VOLUME, "o": NO_VOLUME}

    def test_a_pre_bound_volume_comes_first(self) -> None:
        claim = make_claim("c", "local")
        free = local("free", "10Gi")
        for with_uid in (True, False):
            pre_bound = local(
                "mine", "20Gi", claim=claim, claim_uid=with_uid, only={ZONE: ["a"]}, phase="Available"
            )
            assert statuses_of(LOCAL, claim, free, pre_bound) == {"n": OPEN, "m": NO_VOLUME, "o": NO_VOLUME}
        odd = make_volume("odd", "local", "20Gi", claim=claim, modes=(), phase="Released", only={ZONE: ["b"]})
        assert statuses_of(LOCAL, claim, free, odd) == {"n": NO_VOLUME, "m": OPEN, "o": NO_VOLUME}
        too_small = local("small", "1Gi", claim=claim, only={ZONE: ["a"]})
        assert statuses_of(LOCAL, claim, free, too_small) == dict.fromkeys("nmo", OPEN)
        another_class = make_volume("alien", "wait", "20Gi", claim=claim, only={ZONE: ["a"]})
        assert statuses_of(LOCAL, claim, free, another_class) == dict.fromkeys("nmo", OPEN)

    def test_small_claims_are_served_first_and_take_the_smallest_volume(self) -> None:
        claims = [make_claim("large", "local", "20Gi"), make_claim("small", "local", "5Gi")]
        names = ("large", "small")
        both = [local("v", "10Gi"), local("w", "20Gi")]
        assert statuses_of(LOCAL, *claims, *both, claims=names)["n"] == OPEN
        assert statuses_of(LOCAL, *claims, both[1], claims=names)["n"] == NO_VOLUME
        two_large = [local("v", "20Gi", only={ZONE: ["a"]}), local("w", "30Gi", only={ZONE: ["a"]})]
        assert statuses_of(LOCAL, *claims, *two_large, claims=names) == {
            "n": OPEN,
            "m": NO_VOLUME,
            "o": NO_VOLUME,
        }

    def test_there_is_no_backtracking(self) -> None:
        # The small claim takes the small volume, the only one with the label that the other requires.
        wanting = make_claim("large", "local", "6Gi", selector=LabelSelector({"disk": "ssd"}))
        claims = [make_claim("small", "local", "5Gi"), wanting]
        volumes = [local("v", "10Gi", labels={"disk": "ssd"}), local("w", "20Gi")]
        assert statuses_of(LOCAL, *claims, *volumes, claims=("small", "large"))["n"] == NO_VOLUME

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

"""VolumeBinding: dynamic provisioning, score by capacity, and hints."""

from __future__ import annotations

from typing import Any

import pytest

from plugins_builtin.args import UtilizationShapePoint
from plugins_builtin.volume_binding.filtering import ERR_REASON_AFFINITY, ERR_REASON_NO_VOLUME
from schedframe import Action, ClusterEvent, CycleState, EventResource, Status
from schedframe.api import CSIVolumeSource, LabelSelector, LabelSelectorRequirement, Volume
from tests.plugins.agreement import columnar_scores, per_node_scores
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
    make_pod,
    make_volume,
    open_nodes,
)
from tests.plugins.volume_filtering import (
    LOCAL,
    NO_PROVISIONER,
    NO_SPACE,
    NO_VOLUME,
    NODES,
    OPEN,
    local,
    make_plugin,
    statuses_of,
)


class TestProvisioning:
    def test_a_class_without_a_provisioner_creates_no_volume(self) -> None:
        for provisioner, expected in ((NO_PROVISIONER, NO_VOLUME), ("", NO_VOLUME), ("any", OPEN)):
            assert statuses_of(make_class(provisioner=provisioner), make_claim())["n"] == expected

    def test_a_free_volume_is_preferred_to_provisioning(self) -> None:
        found = statuses_of(
            make_class(topologies=[{ZONE: ["b"]}]), make_claim(), make_volume(only={ZONE: ["a"]})
        )
        assert found == {"n": OPEN, "m": OPEN, "o": NO_VOLUME}

    def test_one_term_must_match_in_all_its_expressions(self) -> None:
        terms = [{ZONE: ["a", "b"], HOSTNAME: ["m", "x"]}, {ZONE: ["c"]}]
        assert statuses_of(make_class(topologies=terms), make_claim()) == {
            "n": NO_VOLUME,
            "m": OPEN,
            "o": NO_VOLUME,
        }
        assert statuses_of(make_class(topologies=[{}]), make_claim())["n"] == NO_VOLUME

    def test_capacity_must_suffice_if_the_driver_publishes_it(self) -> None:
        storage = [
            make_class(),
            make_claim(),
            make_capacity("1", "10Gi", zone="a"),
            make_capacity("2", "9Gi", zone="b"),
        ]
        assert statuses_of(*storage) == dict.fromkeys("nmo", OPEN)
        for says in (None, False):
            assert statuses_of(*storage, make_driver(capacity=says)) == dict.fromkeys("nmo", OPEN)
        assert statuses_of(*storage, make_driver()) == {"n": OPEN, "m": NO_SPACE, "o": NO_SPACE}

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
        assert statuses_of(make_class(), make_claim(), make_driver(), capacity)["n"] == expected

    def test_capacity_is_checked_per_claim_and_only_with_a_size(self) -> None:
        storage = [make_class(), make_driver(), make_capacity("1", "10Gi", zone="a")]
        claims = [make_claim("c"), make_claim("d")]
        assert statuses_of(*storage, *claims, claims=("c", "d"))["n"] == OPEN
        assert statuses_of(*storage, make_claim(size="")) == dict.fromkeys("nmo", OPEN)

    def test_capacities_can_be_added_and_deleted(self) -> None:
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

    def test_topology_is_checked_before_capacity(self) -> None:
        storage = [make_class(topologies=[{ZONE: ["a"]}]), make_claim(), make_driver()]
        assert statuses_of(*storage) == {"n": NO_SPACE, "m": NO_VOLUME, "o": NO_VOLUME}

    def test_the_first_failing_claim_gives_the_reason(self) -> None:
        classes = [make_class(), make_class("picky", "other", topologies=[{ZONE: ["a"]}]), make_driver()]
        small, large = make_claim("c", "picky", "1Gi"), make_claim("d", "wait", "2Gi")
        assert statuses_of(*classes, small, large, claims=("d", "c")) == {
            "n": NO_SPACE,
            "m": NO_VOLUME,
            "o": NO_VOLUME,
        }

    def test_a_claim_that_is_being_provisioned_stays_on_its_node(self) -> None:
        sent = make_claim("c", selected="m")
        assert statuses_of(make_class(), sent, make_volume()) == {"n": NO_VOLUME, "m": OPEN, "o": NO_VOLUME}
        assert statuses_of(make_class(topologies=[{ZONE: ["a"]}]), sent) == dict.fromkeys("nmo", NO_VOLUME)
        other = make_claim("d", selected="n")
        assert statuses_of(make_class(), sent, other, claims=("c", "d")) == dict.fromkeys("nmo", NO_VOLUME)
        unbound = make_claim("d", "local")
        found = statuses_of(LOCAL, make_class(), sent, unbound, local("v", "10Gi"), claims=("c", "d"))
        assert found == {"n": NO_VOLUME, "m": OPEN, "o": NO_VOLUME}

    def test_bound_and_unbound_reasons_add_up(self) -> None:
        bound = make_claim("b", volume="v")
        volume = make_volume("v", claim=bound, only={ZONE: ["a"]})
        storage = [bound, volume, make_class(provisioner=NO_PROVISIONER), make_claim("c")]
        both = Status.unresolvable(ERR_REASON_AFFINITY, ERR_REASON_NO_VOLUME)
        assert statuses_of(*storage, claims=("b", "c")) == {"n": NO_VOLUME, "m": both, "o": both}


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

    def test_higher_utilization_scores_by_the_shape(self) -> None:
        volumes = [local("v", "20Gi", only={ZONE: ["a"]}), local("w", "40Gi", only={ZONE: ["b"]})]
        assert self.scores(LOCAL, make_claim("c", "local"), *volumes, local("x", "10Ti")) == [50, 25, 0]

    def test_it_is_the_mean_over_classes(self) -> None:
        classes = [LOCAL, make_class("other", NO_PROVISIONER)]
        claims = [make_claim("c", "local"), make_claim("d", "other"), make_claim("e", "other")]
        volumes = [local("v", "10Gi"), make_volume("w", "other", "20Gi"), make_volume("x", "other", "20Gi")]
        assert self.scores(*classes, *claims, *volumes, claims=("c", "d", "e")) == [75, 75, 75]

    def test_without_matched_volumes_the_storage_for_new_ones_counts(self) -> None:
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

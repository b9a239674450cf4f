"""What the volume plugins say of a rejected node and of the pod: names, labels, sizes and counts."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import Pod, evaluate
from schedframe.api import (
    AWSElasticBlockStore,
    GCEPersistentDisk,
    ISCSIVolume,
    LabelSelector,
    RBDVolume,
    Volume,
)
from tests.plugins.storage import (
    DRIVER,
    HOSTNAME,
    ZONE,
    make_attachment,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_node,
    make_pod,
    make_volume,
)

NO_PROVISIONER = "kubernetes.io/no-provisioner"


def explained(pod: Pod, *objects: Any) -> dict[str, str]:
    """Node → the explanation of its rejection."""
    return evaluate(objects, pod).explanations


def findings(pod: Pod, *objects: Any) -> tuple[str, ...]:
    """Return what the volume plugins say of the pod as a whole."""
    found = evaluate(objects, pod).findings
    return tuple(line for lines in found.values() for line in lines)


def bound(**fields: Any) -> tuple[Any, Any]:
    claim = make_claim("data", volume="pv")
    return claim, make_volume("pv", claim=claim, **fields)


# ---- bound claims ----------------------------------------------------------------------------------------


def test_a_bound_volume_is_named_with_the_labels_it_needs_and_those_of_the_node() -> None:
    objects = (make_node("n", "b"), make_node("bare"), *bound(only={ZONE: ["a"]}))
    line = f"volume pv of claim data needs {ZONE}=a, the node has"
    assert explained(make_pod("data"), *objects) == {
        "n": f"{line} {ZONE}=b",
        "bare": f"{line} no label {ZONE}",
    }


def test_of_several_volumes_the_one_that_rejects_is_named() -> None:
    other = make_claim("other", volume="pw")
    objects = (make_node("n", "b"), *bound(only={ZONE: ["b"]}), other)
    far = make_volume("pw", claim=other, only={HOSTNAME: ["m", "o"]})
    assert explained(make_pod("data", "other"), *objects, far) == {
        "n": f"volume pw of claim other needs {HOSTNAME} in (m,o), the node has {HOSTNAME}=n"
    }


def test_a_volume_that_does_not_exist_is_named() -> None:
    (line,) = findings(make_pod("data"), make_node(), make_claim("data", volume="pv"))
    assert line == "claim data is bound to volume pv, which does not exist"


def test_labels_of_volumes_that_no_node_has_are_compared_with_those_that_nodes_have() -> None:
    objects = (make_node("n", "eu-west-1a"), *bound(only={ZONE: ["eu-west-1c"]}))
    (line,) = findings(make_pod("data"), *objects)
    assert line == (
        f"volume pv of claim data: no node has {ZONE}=eu-west-1c, nodes have eu-west-1a; "
        "did you mean eu-west-1a?"
    )
    (line,) = findings(make_pod("data"), make_node("n", "a"), *bound(only={"topology.k8s.io/zone": ["a"]}))
    assert line.endswith(f"no node has the label topology.k8s.io/zone; did you mean {ZONE}?")
    assert findings(make_pod("data"), make_node("n", "a"), *bound(only={ZONE: ["a"]})) == ()


def test_a_zone_label_of_a_volume_is_named() -> None:
    objects = (make_node("n", "b"), *bound(labels={ZONE: "a__c"}))
    assert explained(make_pod("data"), *objects) == {
        "n": f"volume pv of claim data is in {ZONE} a or c, the node is in b"
    }


# ---- unbound claims --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("volume", "problem"),
    [
        ({"size": "5Gi"}, "has 5Gi"),
        ({"phase": "Released"}, "is Released, not Available"),
        ({"modes": ("ReadOnlyMany",)}, "has no access mode ReadWriteOnce"),
        ({"volume_mode": "Block"}, "has volume mode Block"),
        ({"claim": make_claim("other")}, "belongs to claim default/other"),
        ({"only": {HOSTNAME: ["m"]}}, f"needs {HOSTNAME}=m"),
        ({"size": "5Gi", "volume_mode": "Block"}, "has 5Gi and has volume mode Block"),
    ],
)
def test_a_volume_that_does_not_fit_is_named_with_what_it_has(volume: dict[str, Any], problem: str) -> None:
    objects = (make_class("local", NO_PROVISIONER), make_claim("data", "local"), make_node())
    found = explained(make_pod("data"), *objects, make_volume("pv", "local", **volume))
    assert found == {"n": f"claim data (10Gi, class local): volume pv {problem}"}


def test_the_labels_that_a_claim_selects_volumes_by_count() -> None:
    claim = make_claim("data", "local", selector=LabelSelector({"disk": "ssd"}))
    objects = (make_class("local", NO_PROVISIONER), claim, make_node(), make_volume("pv", "local"))
    (line,) = explained(make_pod("data"), *objects).values()
    assert line.endswith("volume pv is not selected by the labels that the claim asks for")


def test_the_nearest_volumes_come_first_and_the_others_are_counted() -> None:
    objects = [make_class("local", NO_PROVISIONER), make_claim("data", "local"), make_node()]
    objects += [make_volume(f"small-{i}", "local", "1Gi", volume_mode="Block") for i in range(4)]
    objects += [make_volume("z", "local", "9Gi"), make_volume("far", "local", only={ZONE: ["a"]})]
    (line,) = explained(make_pod("data"), *objects).values()
    assert line == (
        f"claim data (10Gi, class local): volume far needs {ZONE}=a, volume z has 9Gi, "
        "volume small-0 has 1Gi and has volume mode Block, 3 more"
    )
    (line,) = explained(make_pod("data"), *objects[:3]).values()
    assert line == "claim data (10Gi, class local): no volume has this class"


def test_a_volume_that_another_claim_of_the_pod_gets_is_named() -> None:
    objects = (make_class("local", NO_PROVISIONER), make_node(), make_volume("pv", "local"))
    (line,) = explained(
        make_pod("a", "b"), *objects, make_claim("a", "local", "1Gi"), make_claim("b", "local")
    ).values()
    assert line == "claim b (10Gi, class local): volume pv goes to claim a"


def test_the_zones_of_a_class_are_compared_with_those_of_the_nodes() -> None:
    objects = (make_class(topologies=[{ZONE: ["zone-a"]}]), make_claim("data"), make_node("n", "zone-b"))
    (line,) = explained(make_pod("data"), *objects).values()
    assert line.endswith(f"the class makes volumes where {ZONE}=zone-a, the node has {ZONE}=zone-b")
    (line,) = findings(make_pod("data"), *objects)
    assert line == (
        f"class wait of claim data: no node has {ZONE}=zone-a, nodes have zone-b; did you mean zone-b?"
    )


def test_capacity_is_given_as_asked_and_available() -> None:
    objects = (make_class(), make_driver(), make_claim("data"), make_node("n", "a"), make_node("m", "b"))
    capacity = make_capacity("c", "40Gi", largest="5Gi", zone="a")
    assert explained(make_pod("data"), *objects, capacity) == {
        "n": "claim data (10Gi, class wait): the largest volume that can be made for the node has 5Gi",
        "m": "claim data (10Gi, class wait): its driver publishes no capacity for the node",
    }


def test_a_claim_that_is_being_provisioned_elsewhere_names_the_node() -> None:
    objects = (make_class(), make_claim("data", selected="m"), make_node(), make_node("m", unready="yes"))
    assert explained(make_pod("data"), *objects) == {"n": "the volume of claim data is being made for node m"}


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        (make_claim("data", "fast"), "there is no storage class fast; did you mean fast-ssd?"),
        (make_claim("data", "fast-ssd"), f"{DRIVER} has not made its volume yet"),
        (make_claim("data", ""), "no volume has this class"),
        (make_claim("data", "wait", volume="pv", bound=False), "the binding to volume pv is not completed"),
    ],
)
def test_an_unbound_immediate_claim_says_what_it_lacks(claim: Any, line: str) -> None:
    objects = (make_node(), make_class(), make_class("fast-ssd", mode="Immediate"), claim)
    (found,) = findings(make_pod("data"), *objects)
    assert found.startswith("claim data (10Gi, ")
    assert found.endswith(f": {line}")


def test_a_claim_that_does_not_exist_is_compared_with_those_of_the_namespace() -> None:
    others = (make_claim("data-web-0"), make_claim("data-web", namespace="other"))
    assert findings(make_pod("data-web"), make_node(), make_class(), *others) == (
        "there is no claim default/data-web; did you mean data-web-0?",
    )


# ---- limits and shared disks -----------------------------------------------------------------------------


def test_limits_are_given_with_driver_and_counts() -> None:
    used, wanted = make_claim("used", volume="a"), make_claim("wanted", volume="b")
    objects = (
        make_node(),
        make_csi_node(disks_example_com=2),
        used,
        wanted,
        make_volume("a", claim=used),
        make_volume("b", claim=wanted),
        make_volume("c"),
        make_attachment("x", "n", "c"),
        make_pod("used", name="other", node="n"),
    )
    assert explained(make_pod("wanted"), *objects) == {
        "n": f"{DRIVER}: 2 of 2 volumes (1 attached without a pod)"
    }
    assert explained(make_pod("used"), *objects) == {}


def test_several_new_volumes_are_counted() -> None:
    objects = (
        make_node(),
        make_csi_node(disks_example_com=1),
        make_class(),
        make_claim("a"),
        make_claim("b"),
    )
    assert explained(make_pod("a", "b"), *objects) == {
        "n": f"{DRIVER}: 0 of 1 volumes, the pod has 2 new ones"
    }


@pytest.mark.parametrize(
    ("disk", "name"),
    [
        (Volume("d", gce_persistent_disk=GCEPersistentDisk("x")), "GCE disk x"),
        (Volume("d", aws_elastic_block_store=AWSElasticBlockStore("vol-1")), "EBS volume vol-1"),
        (Volume("d", iscsi=ISCSIVolume("10.0.0.1", "iqn.x")), "iSCSI target iqn.x"),
        (Volume("d", rbd=RBDVolume(("m1",), "image", "pool")), "RBD image pool/image"),
    ],
)
def test_a_disk_is_named_with_the_pod_that_uses_it(disk: Volume, name: str) -> None:
    other = make_pod(name="other", node="n", volumes=[disk])
    found = explained(make_pod(volumes=[disk]), make_node(), make_node("m"), other)
    assert found == {"n": f"{name} is used by default/other on n"}


def test_a_claim_for_one_pod_is_named_with_the_pod_that_uses_it() -> None:
    claim = make_claim("c", volume="pv", modes=("ReadWriteOncePod",))
    volume = make_volume("pv", claim=claim, modes=("ReadWriteOncePod",))
    other = make_pod("c", name="other", node="m")
    found = explained(make_pod("c"), make_node(), make_node("m"), claim, volume, other)
    assert found == dict.fromkeys(("n", "m"), "claim default/c is used by default/other on m")

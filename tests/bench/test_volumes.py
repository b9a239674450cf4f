"""The templates with volumes: what they create, and that limits hold."""

from __future__ import annotations

import pytest

from schedframe.bench import TEMPLATES, Options, run
from schedframe.bench.options import Size
from schedframe.bench.templates.volumes import DRIVER, IN_TREE, VOLUMES_PER_NODE

from .test_templates import run_operations


@pytest.mark.parametrize("name", ["csi-pvs", "migrated-pvs"])
def test_the_limit_of_the_driver_holds(name: str) -> None:
    # The CPU of the node has room for one more pod.
    figures = run(name, Options(nodes=1, init=0, pods=VOLUMES_PER_NODE + 1))
    assert (figures["scheduled"], figures["unschedulable"]) == (VOLUMES_PER_NODE, 1)


def test_secrets_are_not_counted() -> None:
    assert run("secrets", Options(nodes=1, init=0, pods=VOLUMES_PER_NODE + 1))["unschedulable"] == 0


@pytest.mark.parametrize(("name", "migrated"), [("csi-pvs", None), ("migrated-pvs", IN_TREE)])
def test_each_pod_has_a_volume_of_its_own(name: str, migrated: str | None) -> None:
    cluster = run_operations(TEMPLATES[name], Size(nodes=3, init=2, pods=4)).fixture.cluster
    volumes = cluster.list("PersistentVolume")
    claims = {claim.key: claim for claim in cluster.list("PersistentVolumeClaim")}
    assert len(volumes) == len(claims) == 6
    for volume in volumes:
        reference = volume.spec.claim_ref
        assert claims[f"{reference.namespace}/{reference.name}"].spec.volume_name == volume.name
        assert (volume.spec.csi is None) is (migrated is not None)
    for csi_node in cluster.list("CSINode"):
        assert [driver.name for driver in csi_node.spec.drivers] == [DRIVER]
        assert (IN_TREE in csi_node.metadata.annotations.values()) is (migrated is not None)

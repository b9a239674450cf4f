"""Claims whose volumes are provisioned: how often pre_bind looks at them."""

from __future__ import annotations

from typing import Any

import pytest

from plugins_builtin.volume_binding import binding
from schedframe.testing import node, pod

from .driven_world import DrivenWorld, node_of


def provision(world: DrivenWorld) -> None:
    """Make the volume and bind the claim, as provisioner and controller do."""
    claim = world.server.get("PersistentVolumeClaim", "default/c")
    assert claim is not None
    meta = claim["metadata"]
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "c", "uid": meta["uid"]}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "claimRef": reference}
    volume = {"spec": {**spec, "storageClassName": "late"}, "status": {"phase": "Bound"}}
    world.server.create({"kind": "PersistentVolume", "metadata": {"name": "v"}, **volume})
    annotations = {**meta["annotations"], "pv.kubernetes.io/bind-completed": "yes"}
    bound = {"spec": {**claim["spec"], "volumeName": "v"}, "status": {"phase": "Bound"}}
    world.server.apply({**claim, "metadata": {**meta, "annotations": annotations}, **bound})


def test_the_echo_of_its_own_write_does_not_wake_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    """One look after the write, one when the claim is bound."""
    looks: list[float] = []
    run = binding._Check.run

    def counting(self: Any, reservation: Any) -> str | None:
        looks.append(world.loop.time())
        return run(self, reservation)

    monkeypatch.setattr(binding._Check, "run", counting)
    world = DrivenWorld()
    world.server.create(node("n1").allocatable(cpu="2"))
    mode = {"provisioner": "example.com/disks", "volumeBindingMode": "WaitForFirstConsumer"}
    world.server.create({"kind": "StorageClass", "metadata": {"name": "late"}, **mode})
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    world.server.create(
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c"},
            "spec": {**wanted, "storageClassName": "late"},
        }
    )
    world.scheduler.start()
    world.drive(1)
    manifest = dict(pod("p"))
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    world.server.create({**manifest, "spec": {**manifest["spec"], "volumes": volumes}})
    world.drive(2)
    assert len(looks) == 1
    provision(world)
    world.drive(2)
    assert node_of(world.pods()["p"]) == "n1"
    assert len(looks) == 2
    world.check_quiet()
    world.close()

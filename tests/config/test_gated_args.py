"""Arguments that depend on feature gates: the shape of VolumeBinding."""

from __future__ import annotations

from typing import Any

import pytest

from plugins_builtin.args import UtilizationShapePoint, VolumeBindingArgs
from schedframe import Simulation
from schedframe.config import ConfigValidationError, EffectiveConfig, load_config
from tests.configurations import configuration

GATES = {"StorageCapacityScoring": True}


def document(**args: Any) -> dict[str, Any]:
    own = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "VolumeBindingArgs", **args}
    return configuration({"pluginConfig": [{"name": "VolumeBinding", "args": own}]})


def args_of(config: EffectiveConfig) -> VolumeBindingArgs:
    found = {each.name: each.args for each in config.config.profiles[0].plugin_config}
    args: VolumeBindingArgs = found["VolumeBinding"]
    return args


def test_the_gate_brings_a_shape() -> None:
    assert args_of(load_config()).shape is None
    expected = (UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0))
    assert args_of(load_config(feature_gates=GATES)).shape == expected
    assert args_of(load_config(document(shape=[]), feature_gates=GATES)).shape == expected
    again = load_config(load_config(feature_gates=GATES).to_manifest(), feature_gates=GATES)
    assert args_of(again).shape == expected


def test_a_given_shape_is_kept_with_the_gate_and_refused_without_it() -> None:
    given = document(shape=[{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}])
    expected = (UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10))
    assert args_of(load_config(given, feature_gates=GATES)).shape == expected
    with pytest.raises(ConfigValidationError, match="StorageCapacityScoring is off") as caught:
        load_config(given)
    assert [each.field for each in caught.value.errors] == ["profiles[0].pluginConfig[0].args.shape"]


def test_a_shape_out_of_order_is_refused_with_the_gate() -> None:
    wrong = document(shape=[{"utilization": 50, "score": 0}, {"utilization": 40, "score": 11}])
    with pytest.raises(ConfigValidationError) as caught:
        load_config(wrong, feature_gates=GATES)
    assert len(caught.value.errors) == 2


def storage() -> list[dict[str, Any]]:
    """Return two equal nodes with storage for the same class, one with ten times the capacity."""
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "local"},
            "provisioner": "driver",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": "driver"},
            "spec": {"storageCapacity": True},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {
                "storageClassName": "local",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "5Gi"}},
            },
        },
    ]
    for name, capacity in (("small", "10Gi"), ("large", "100Gi")):
        objects.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
            }
        )
        objects.append(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIStorageCapacity",
                "metadata": {"name": name},
                "storageClassName": "local",
                "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": name}},
                "capacity": capacity,
            }
        )
    return objects


def test_the_gate_takes_effect_on_scores() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    }
    assert Simulation(storage(), feature_gates=GATES).evaluate(pod).best == ["large"]
    assert sorted(Simulation(storage()).evaluate(pod).best) == ["large", "small"]

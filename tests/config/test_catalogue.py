"""The builtin catalogue equals the plugins recorded of the reference."""

from __future__ import annotations

import subprocess
import sys

import pytest

from plugins_builtin.catalogue import CATALOGUE
from schedframe.config import POINTS, installed_catalogue, load_config
from tests.configurations import configuration

# As in the table of tests/conformance/data/README.md, less the taint update that the queue adds.
EVENTS = {
    "SchedulingGates": "Pod: UpdatePodSchedulingGatesEliminated",
    "NodeUnschedulable": "Node: Add, UpdateNodeTaint; Pod: UpdatePodToleration",
    "TaintToleration": "Node: Add, UpdateNodeTaint; Pod: UpdatePodToleration",
    "NodeName": "Node: Add",
    "NodeAffinity": "Node: Add, UpdateNodeLabel",
    "NodePorts": "Pod: Delete; Node: Add",
    "NodeResourcesFit": (
        "Pod: Delete, UpdatePodScaleDown; Node: Add, UpdateNodeAllocatable; DeviceClass: Add, Update"
    ),
    "VolumeRestrictions": "Pod: Delete; Node: Add; PersistentVolumeClaim: Add",
    "NodeVolumeLimits": (
        "Pod: Delete; CSINode: Add, Update; PersistentVolumeClaim: Add; VolumeAttachment: Delete"
    ),
    "VolumeBinding": (
        "StorageClass, PersistentVolumeClaim, PersistentVolume, CSINode, CSIStorageCapacity: Add, Update; "
        "CSIDriver: Update; Node: Add, UpdateNodeLabel"
    ),
    "VolumeZone": (
        "StorageClass: Add; PersistentVolumeClaim, PersistentVolume: Add, Update; Node: Add, UpdateNodeLabel"
    ),
    "PodTopologySpread": (
        "Pod: Add, Delete, UpdatePodLabel, UpdatePodToleration; "
        "Node: Add, Delete, UpdateNodeLabel, UpdateNodeTaint"
    ),
    "InterPodAffinity": "Pod: Add, Delete, UpdatePodLabel; Node: Add, UpdateNodeLabel",
    "DynamicResources": (
        "ResourceClaim, DeviceClass, ResourceSlice: Add, Update; Pod: UpdatePodGeneratedResourceClaim; "
        "Node: Add, UpdateNodeAllocatable, UpdateNodeLabel"
    ),
    "DefaultPreemption": "Pod: Delete",
    "NodeDeclaredFeatures": "Node: Add, UpdateNodeDeclaredFeature; Pod: Update",
}


def table(line: str) -> set[tuple[str, str]]:
    found = set()
    for part in line.split("; "):
        resources, _, actions = part.partition(": ")
        found |= {(resource, action) for resource in resources.split(", ") for action in actions.split(", ")}
    return found


@pytest.mark.parametrize("name", [entry.name for entry in CATALOGUE.defaults()])
def test_events(name: str) -> None:
    entry = CATALOGUE.get(name)
    assert entry is not None
    registered = {
        (event.resource.rpartition("/")[2], action) for event in entry.events for action in event.actions
    }
    assert registered == (table(EVENTS[name]) if name in EVENTS else set())


def test_the_catalogue_is_an_entry_point() -> None:
    assert set(CATALOGUE.names()) <= set(installed_catalogue().names())


def test_arguments_have_defaults_that_are_valid() -> None:
    for entry in CATALOGUE.entries:
        assert bool(entry.args_class) == bool(entry.args_kind)
        if entry.args_class is not None:
            assert entry.args_kind == f"{entry.name}Args"
            assert entry.check_args is not None
            assert list(entry.check_args(entry.args_class(), "$")) == []


def test_group_plugins_can_be_enabled() -> None:
    default = load_config(None).profiles[0]
    for name, points in {
        "GangScheduling": {"preEnqueue", "permit"},
        "TopologyPlacementGenerator": {"placementGenerate"},
        "PodGroupPodsCount": {"placementScore"},
    }.items():
        assert name not in default.names
        enabled = {"multiPoint": {"enabled": [{"name": name, "weight": 3}]}}
        source = configuration({"plugins": enabled})
        found = load_config(source).profiles[0].plugins
        assert {
            point for point in POINTS if (name) in [plugin.name for plugin in found.get(point, ())]
        } == points


def test_removed_names_are_free() -> None:
    assert CATALOGUE.removed("SelectorSpread") is not None
    assert CATALOGUE.get("SelectorSpread") is None


def test_the_default_configuration_needs_no_yaml() -> None:
    code = (
        "import sys; from schedframe.config import load_config; "
        "load_config(None); sys.exit('yaml' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_config_never_imports_the_builtin_plugins() -> None:
    code = (
        "import sys; import schedframe.config; "
        "sys.exit(any(name.partition('.')[0] == 'plugins_builtin' for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

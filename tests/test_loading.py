"""What a program loads: optional parts take megabytes and time, and are loaded when something needs them."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCHEDULED = """
import sys
from schedframe import InMemoryCluster, Scheduler
from schedframe.api import Container, Node, NodeStatus, ObjectMeta, Pod, PodSpec, parse_quantity

cluster = InMemoryCluster()
with Scheduler(cluster) as scheduler:
    cluster.create(Node(ObjectMeta("a"), status=NodeStatus(allocatable={"pods": parse_quantity("9")})))
    cluster.create(Pod(ObjectMeta("p", "default"), PodSpec(containers=(Container("c"),))))
    scheduler.run_until_idle()
assert cluster.get("Pod", "default/p").spec.node_name == "a"
print(*sorted(sys.modules))
"""


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules that are loaded once a pod is placed, with no extenders configured."""
    text = subprocess.run([sys.executable, "-c", SCHEDULED], capture_output=True, text=True, check=True)
    return set(text.stdout.split())


@pytest.mark.parametrize(
    "part",
    [
        "asyncio",
        "hashlib",
        "html",
        "msgspec",
        "schedframe.cycle.pod_groups",
        "schedframe.extenders",
        "schedframe.simulate",
        "ssl",
        "yaml",
    ],
)
def test_optional_parts_are_not_loaded(loaded: set[str], part: str) -> None:
    """Their features are off, so nothing imports them."""
    assert "schedframe.cycle.scheduler" in loaded
    assert part not in loaded


IMPORTED = """
import sys
from schedframe import Simulation
from schedframe.api import JobSpec, PersistentVolumeSpec, PodSpec, ResourceSliceSpec

print(*sorted(sys.modules))
print(*(cls.__name__ for cls in (JobSpec, PersistentVolumeSpec, PodSpec, ResourceSliceSpec) if not made(cls)))
"""
MADE = """
def made(cls):
    return hasattr(vars(cls)["__attrs_attrs__"], "__len__")
"""


@pytest.fixture(scope="module")
def imported() -> tuple[set[str], set[str]]:
    """The modules that are loaded by a first import, and the classes that attrs has not made by then."""
    text = subprocess.run([sys.executable, "-c", MADE + IMPORTED], capture_output=True, text=True, check=True)
    modules, classes = text.stdout.splitlines()
    return set(modules.split()), set(classes.split())


@pytest.mark.parametrize(
    "part",
    [
        "asyncio",
        "csv",
        "decimal",
        "email",
        "gzip",
        "hashlib",
        "importlib.metadata",
        "importlib.resources",
        "sqlite3",
        "ssl",
        "statistics",
        "tempfile",
        "yaml",
        "zipfile",
    ],
)
def test_an_import_does_not_load_what_only_some_calls_need(
    imported: tuple[set[str], set[str]], part: str
) -> None:
    assert "schedframe.simulate.simulation" in imported[0]
    assert part not in imported[0]


def test_an_import_makes_no_class_for_the_default_of_a_field(imported: tuple[set[str], set[str]]) -> None:
    assert imported[1] == {"JobSpec", "PersistentVolumeSpec", "ResourceSliceSpec"}


def test_a_scheduler_of_a_real_cluster_loads_nothing_of_what_plays_one() -> None:
    pytest.importorskip("typer", reason="the extra cli is not installed")
    pytest.importorskip("msgspec", reason="the extra kubernetes is not installed")
    code = "import sys, schedframe.cli.run.command, schedframe.cli.run.run; print(*sys.modules)"
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = {name.split(".")[1] for name in text.split() if name.startswith("schedframe.")}
    assert {"cluster", "cycle"} <= loaded
    assert not {"controllers", "embed", "fork", "simulate", "why"} & loaded
    assert not {"rich", "yaml"} & set(text.split())

"""What a scheduler loads: optional parts take megabytes, and are loaded when something needs them."""

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
    ],
)
def test_optional_parts_are_not_loaded(loaded: set[str], part: str) -> None:
    """Their features are off, so nothing imports them."""
    assert "schedframe.cycle.scheduler" in loaded
    assert part not in loaded

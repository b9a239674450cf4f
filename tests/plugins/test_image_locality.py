"""ImageLocality: score by images that are present."""

from __future__ import annotations

import pytest
from hypothesis import given

from plugins_builtin.image_locality import ImageLocality, normalized
from schedframe.api import (
    Container,
    ContainerImage,
    ImageVolumeSource,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    Volume,
)
from schedframe.framework import CycleState
from schedframe.state import NodeInfo, NodeTable
from tests.plugins.agreement import StandInHandle, check_score_agreement, columnar_scores, per_node_scores
from tests.plugins.strategies import pods, tables

MIB = 1 << 20


def node(name: str, **sizes: int) -> Node:
    """Return a node with images ``<name>:latest`` of these sizes in MiB."""
    images = tuple(ContainerImage((f"{image}:latest",), size * MIB) for image, size in sizes.items())
    return Node(ObjectMeta(name=name), status=NodeStatus(images=images))


def pod(*images: str, init: tuple[str, ...] = (), volumes: tuple[str, ...] = ()) -> Pod:
    return Pod(
        ObjectMeta(name="p", uid="p"),
        PodSpec(
            tuple(Container(f"c{i}", image) for i, image in enumerate(images)),
            init_containers=tuple(Container(f"i{i}", image) for i, image in enumerate(init)),
            volumes=tuple(Volume(f"v{i}", image=ImageVolumeSource(one)) for i, one in enumerate(volumes)),
        ),
    )


def scores(pod: Pod, *nodes: Node) -> list[int]:
    """Return the scores of the nodes by both forms."""
    table = NodeTable()
    for one in nodes:
        table.set_node(one)
    plugin = ImageLocality(StandInHandle(table))
    found = columnar_scores(plugin, CycleState(), pod, table.rows())
    assert found == per_node_scores(plugin, CycleState(), pod, table.rows())
    return found


def test_the_score_grows_with_size_between_two_thresholds() -> None:
    sizes = (0, 23, 24, 500, 1000, 2000)
    assert [scores(pod("web"), node("n", web=size))[0] for size in sizes] == [0, 0, 0, 48, 100, 100]
    assert scores(pod("web", "db"), node("n", web=500)) == [24]


def test_an_image_on_few_nodes_counts_less() -> None:
    nodes = [node("a", web=800), node("b", web=800), node("c"), node("d")]
    assert scores(pod("web"), *nodes) == [38, 38, 0, 0]
    assert scores(pod("web"), *nodes[:2]) == [79, 79]


def test_every_container_counts_init_containers_too() -> None:
    both = node("n", web=500, db=500)
    assert scores(pod("web", init=("db",)), both) == scores(pod("web", "db"), both) == [49]
    assert scores(pod("web", "web"), both) == [49]


def test_image_volumes_add_but_do_not_raise_the_threshold() -> None:
    assert scores(pod("web", volumes=("db",)), node("n", web=300, db=200)) == [48]
    assert scores(pod("web", volumes=("db",)), node("n", web=900, db=900)) == [100]


def test_nodes_outside_of_the_table_have_no_images() -> None:
    table = NodeTable()
    table.set_node(node("n", web=500))
    assert ImageLocality(StandInHandle(table)).score(pod("web"), NodeInfo.of(node("n", web=500))) == 0


def test_images_can_be_added_and_removed() -> None:
    table = NodeTable()
    plugin = ImageLocality(StandInHandle(table))
    for name in "ab":
        table.set_node(node(name, web=1000))
    assert columnar_scores(plugin, CycleState(), pod("web"), table.rows()) == [100, 100]
    table.set_node(node("a"))
    assert columnar_scores(plugin, CycleState(), pod("web"), table.rows()) == [0, 48]
    table.remove_node("b")
    assert columnar_scores(plugin, CycleState(), pod("web"), table.rows()) == [0]


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("web", "web:latest"),
        ("web:v1", "web:v1"),
        ("registry:5000/web", "registry:5000/web:latest"),
        ("registry:5000/web:v1", "registry:5000/web:v1"),
        ("registry/web@sha256:0a", "registry/web@sha256:0a"),
    ],
)
def test_names_without_a_tag_get_latest(image: str, name: str) -> None:
    assert normalized(image) == name


def test_the_signature_is_the_images() -> None:
    plugin = ImageLocality(StandInHandle())
    assert plugin.pod_signature(pod("web")) == plugin.pod_signature(pod("web:latest"))
    assert plugin.pod_signature(pod("web")) != plugin.pod_signature(pod("web", volumes=("web",)))
    # The second has one container less, so fewer bytes suffice for the full score.
    assert plugin.pod_signature(pod("web", "db")) != plugin.pod_signature(pod("web", volumes=("db",)))


@given(tables(), pods())
def test_both_forms_agree(table: NodeTable, pod: Pod) -> None:
    check_score_agreement(ImageLocality(StandInHandle(table)), table, pod)

"""The plugin keeps the contract."""

from __future__ import annotations

from attrs import evolve
from gpus import TASKS
from hypothesis import strategies as st
from schedframe_fgd import FGD
from schedframe_fgd.trace import MODEL_LABEL, RESOURCE

from schedframe import Container, Node, Pod, parse_quantity
from schedframe.api import ResourceRequirements
from schedframe.testing import check_plugin, strategies


def with_gpus(node: Node, gpus: int) -> Node:
    room = {**node.status.allocatable, RESOURCE: parse_quantity(1000 * gpus)}
    return evolve(node, status=evolve(node.status, allocatable=room))


def asking(pod: Pod, gpu: int) -> Pod:
    part = Container(
        name="gpu", resources=ResourceRequirements(requests={RESOURCE: parse_quantity(gpu)} if gpu else {})
    )
    return evolve(pod, spec=evolve(pod.spec, containers=(*pod.spec.containers, part)))


nodes = st.builds(
    with_gpus, strategies.nodes(labels={MODEL_LABEL: ["T4", "G2"]}), st.sampled_from([0, 1, 2, 4])
)
pods = st.builds(
    asking,
    strategies.pods(annotations={"fgd.schedframe.example/devices": ["0", "1", "0-1", "9", "none"]}),
    st.sampled_from([0, 100, 500, 900, 1000, 1500, 2000]),
)


def test_contract() -> None:
    check_plugin(FGD, {"tasks": TASKS}, nodes=nodes, pods=pods, max_examples=8)

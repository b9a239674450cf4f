"""Hypothesis strategies for single pods and nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from attrs import evolve
from hypothesis import strategies as st

from ...api import (
    BINARY_SI,
    LABEL_HOSTNAME,
    Container,
    ContainerPort,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    Quantity,
)
from . import vocabulary
from .vocabulary import NO_WORDS, Words

Strategy = st.SearchStrategy

_CPU: Final = (4000, 1000, 250, 0)
_MEMORY: Final = (4096, 1024, 0)
_ROOM: Final = (110, 2, 1, 0)


def labels(*vocabularies: Words) -> Strategy[dict[str, str]]:
    """Dictionaries of labels (or annotations): each key with one of its values, or left out."""
    return _labels(tuple(tuple((k, tuple(v)) for k, v in one.items()) for one in vocabularies))


@lru_cache(maxsize=256)
def _labels(vocabularies: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]) -> Strategy[dict[str, str]]:
    merged = {key: values for one in vocabularies for key, values in one}
    choices = [st.sampled_from((None, *values)) for values in merged.values()]
    keys = tuple(merged)
    return st.tuples(*choices).map(
        lambda chosen: {key: value for key, value in zip(keys, chosen, strict=True) if value is not None}
    )


def _made(prefix: str) -> Strategy[str]:
    return st.integers(0, 99).map(lambda i: f"{prefix}{i}")


def pods(
    name: str | None = None,
    *,
    labels: Words = NO_WORDS,
    annotations: Words = NO_WORDS,
    resources: Sequence[str] = vocabulary.RESOURCES,
    namespaces: Sequence[str] = vocabulary.NAMESPACES,
    node_name: str = "",
) -> Strategy[Pod]:
    """Draw pods that may ask for anything that the builtin plugins read; most ask for little.

    *labels* and *annotations* come on top of those that pods have anyway; some containers request
    *resources*. The uid is the name.
    """
    specs = st.builds(
        PodSpec,
        containers=st.lists(
            st.sampled_from(vocabulary.containers(tuple(resources))), min_size=1, max_size=2
        ).map(_side_by_side),
        init_containers=st.sampled_from(vocabulary.SIDECARS),
        node_selector=st.sampled_from(vocabulary.NODE_SELECTORS),
        affinity=st.sampled_from(vocabulary.AFFINITIES),
        tolerations=st.sampled_from(vocabulary.TOLERATIONS),
        topology_spread_constraints=st.sampled_from(vocabulary.SPREADS),
        scheduling_gates=st.just(()) if node_name else st.sampled_from(vocabulary.GATES),
        priority=st.sampled_from(vocabulary.PRIORITIES),
        node_name=st.just(node_name),
    )
    metadata = st.builds(
        _metadata,
        st.just(name) if name is not None else _made("pod-"),
        st.sampled_from(tuple(namespaces)),
        _labels_of(vocabulary.POD_LABELS, labels),
        _labels_of(vocabulary.ANNOTATIONS, annotations),
    )
    return st.builds(Pod, metadata, specs)


def nodes(
    name: str | None = None,
    *,
    labels: Words = NO_WORDS,
    annotations: Words = NO_WORDS,
    resources: Sequence[str] = vocabulary.RESOURCES,
) -> Strategy[Node]:
    """Nodes, roomy or crowded, open or closed, tainted or not.

    *labels* and *annotations* come on top of those that nodes have anyway; some nodes have *resources*. The
    label ``kubernetes.io/hostname`` is the name.
    """
    metadata = st.builds(
        _metadata,
        st.just(name) if name is not None else _made("n"),
        st.just(""),
        _labels_of(vocabulary.NODE_LABELS, labels),
        _labels_of(NO_WORDS, annotations),
    ).map(_with_hostname)
    spec = st.builds(
        NodeSpec,
        unschedulable=st.sampled_from((False, False, True)),
        taints=st.sampled_from(vocabulary.TAINTS),
    )
    amounts = st.builds(
        _amounts,
        st.sampled_from(_CPU),
        st.sampled_from(_MEMORY),
        st.sampled_from(_ROOM),
        st.tuples(*(st.sampled_from((0, 1, 4)) for _ in resources)),
        st.just(tuple(resources)),
    )
    status = st.builds(NodeStatus, allocatable=amounts, images=st.sampled_from(vocabulary.IMAGES_PRESENT))
    return st.builds(Node, metadata, spec, status)


def _side_by_side(containers: Sequence[Container]) -> tuple[Container, ...]:
    """Return the containers with a name each, and without ports of the node that an earlier one takes."""
    taken: set[ContainerPort] = set()
    made = []
    for index, each in enumerate(containers):
        ports = tuple(port for port in each.ports if port not in taken)
        taken.update(ports)
        made.append(evolve(each, name=f"{each.name}{index or ''}", ports=ports))
    return tuple(made)


def _labels_of(usual: Words, given: Words) -> Strategy[dict[str, str]]:
    return labels(usual, given)


def _metadata(name: str, namespace: str, labels: dict[str, str], annotations: dict[str, str]) -> ObjectMeta:
    uid = f"{namespace}-{name}" if namespace else name
    return ObjectMeta(name=name, namespace=namespace, uid=uid, labels=labels, annotations=annotations)


def _with_hostname(metadata: ObjectMeta) -> ObjectMeta:
    return evolve(metadata, labels={**metadata.labels, LABEL_HOSTNAME: metadata.name})


def _amounts(
    cpu: int, memory: int, room: int, counts: Sequence[int], resources: Sequence[str]
) -> Mapping[str, Quantity]:
    return {
        "cpu": Quantity.of_milli(cpu),
        "memory": Quantity.of(memory * vocabulary.MIB, BINARY_SI),
        "pods": Quantity.of(room),
        **{name: Quantity.of(count) for name, count in zip(resources, counts, strict=True) if count},
    }

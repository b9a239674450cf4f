"""ImageLocality: nodes that already have the images of a pod score higher."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, frozen

from schedframe import MAX_SCORE, Depends, Handle, NodeInfo, Pod, PodSpec, Rows, hookimpl

_MIB: Final = 1024 * 1024
_MIN_BYTES: Final = 23 * _MIB
"""Bytes of present images up to which a node scores 0; as in the reference."""
_MAX_BYTES_PER_CONTAINER: Final = 1000 * _MIB
"""Bytes of present images per container from which a node scores 100; as in the reference."""
_IMAGES: Final = object()  # key in spec.memo


@define(eq=False)
class ImageLocality:
    """Score the bytes of the pod's images that the node has.

    The size of an image is scaled by the share of nodes that have it, so that pods do not pile up on the few
    nodes with a rare image.
    """

    handle: Handle

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT
    reads: ClassVar[tuple[str, ...]] = ("Image",)

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """Return the images of the pod."""
        return images_of(pod.spec)

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        """Return 0…100 by the bytes that need not be pulled; O(containers)."""
        images = images_of(pod.spec)
        nodes = self.handle.table.num_nodes
        present = 0
        for image in images.names:
            state = node_info.image_state(image)
            if state is not None:
                present += scaled_size(state.size, state.num_nodes, nodes)
        if present <= _MIN_BYTES or not images.max_bytes:
            return 0
        max_bytes = images.max_bytes
        return MAX_SCORE * (min(present, max_bytes) - _MIN_BYTES) // (max_bytes - _MIN_BYTES)

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(rows) for each image that is present somewhere."""
        images = images_of(pod.spec)
        table = rows.table
        scores = np.zeros(len(rows), np.int64)
        any_present = False
        for image in images.names if images.max_bytes else ():
            state = table.images.get(image)
            if state is not None:
                any_present = True
                size = scaled_size(state.size, state.num_nodes, table.num_nodes)
                scores += rows.take(state.present(table.capacity)) * np.int64(size)
        if any_present:
            np.clip(scores, _MIN_BYTES, images.max_bytes, out=scores)
            scores -= _MIN_BYTES
            scores *= MAX_SCORE
            scores //= images.max_bytes - _MIN_BYTES
        return scores


@frozen
class Images:
    """The images that a pod needs on its node."""

    names: tuple[str, ...]
    """One entry for each init container, container and image volume, in the form that nodes report."""
    containers: int
    """Number of containers and init containers; image volumes do not raise ``max_bytes``."""

    @property
    def max_bytes(self) -> int:
        """Bytes that score 100."""
        return _MAX_BYTES_PER_CONTAINER * self.containers


def images_of(spec: PodSpec) -> Images:
    """Return the images of a pod; cached on the spec."""
    memo = spec.memo
    images: Images | None = memo.get(_IMAGES)
    if images is None:
        names = [container.image for container in (*spec.init_containers, *spec.containers)]
        volumes = [volume.image.reference for volume in spec.volumes if volume.image is not None]
        images = memo[_IMAGES] = Images(tuple([normalized(name) for name in names + volumes]), len(names))
    return images


def normalized(image: str) -> str:
    """Return the name with the tag ``latest`` if it has neither tag nor digest."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def scaled_size(size: int, nodes_with: int, nodes: int) -> int:
    """Return *size* times the share of nodes with the image, in the reference's order of operations."""
    return int(float(size) * (nodes_with / nodes))

"""Images that a node has already need not be pulled."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, frozen

from schedframe import MAX_SCORE, Handle, NodeInfo, Pod, PodSpec, Rows, hookimpl

_MIB: Final = 1024 * 1024
_LEAST: Final = 23 * _MIB
"""Images of less than this in all are pulled in no time: score 0."""
_MOST_PER_CONTAINER: Final = 1000 * _MIB
"""From this on for each container, the score is 100."""
_IMAGES: Final = object()  # key in spec.memo


@define(eq=False)
class ImageLocality:
    """The bytes of the pod's images on the node count, the less the fewer nodes have the image.

    The latter keeps pods from crowding on the only nodes that happen to have their image.
    """

    handle: Handle

    row_local: ClassVar[bool] = True
    node_only: ClassVar[bool] = True
    reads: ClassVar[tuple[str, ...]] = ("Image",)

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        """The images."""
        return images_of(pod.spec)

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        """How much of what the pod would have to pull is there, from 0 to 100; O(containers)."""
        images = images_of(pod.spec)
        nodes = self.handle.table.num_nodes
        present = 0
        for image in images.names:
            state = node_info.image_state(image)
            if state is not None:
                present += scaled_size(state.size, state.num_nodes, nodes)
        if present <= _LEAST or not images.most:
            return 0
        most = images.most
        return MAX_SCORE * (min(present, most) - _LEAST) // (most - _LEAST)

    @hookimpl
    def score_rows(self, pod: Pod, rows: Rows) -> npt.NDArray[np.int64]:
        """As :meth:`score`; O(rows) for each image that is present somewhere."""
        images = images_of(pod.spec)
        table = rows.table
        scores = np.zeros(len(rows), np.int64)
        found = False
        for image in images.names if images.most else ():
            state = table.images.get(image)
            if state is not None:
                found = True
                size = scaled_size(state.size, state.num_nodes, table.num_nodes)
                scores += rows.take(state.present(table.capacity)) * np.int64(size)
        if found:
            np.clip(scores, _LEAST, images.most, out=scores)
            scores -= _LEAST
            scores *= MAX_SCORE
            scores //= images.most - _LEAST
        return scores


@frozen
class Images:
    """What a pod has to have on its node before it can start."""

    names: tuple[str, ...]
    """As nodes name them: of init containers, containers and image volumes, one entry each."""
    containers: int
    """How many of them are containers' or init containers'; volumes do not raise the sum that scores 100."""

    @property
    def most(self) -> int:
        """Bytes that score 100."""
        return _MOST_PER_CONTAINER * self.containers


def images_of(spec: PodSpec) -> Images:
    """The images of a pod; computed once a spec."""
    memo = spec.memo
    images: Images | None = memo.get(_IMAGES)
    if images is None:
        names = [container.image for container in (*spec.init_containers, *spec.containers)]
        volumes = [volume.image.reference for volume in spec.volumes if volume.image is not None]
        images = memo[_IMAGES] = Images(tuple([normalized(name) for name in names + volumes]), len(names))
    return images


def normalized(image: str) -> str:
    """With the tag ``latest`` if there is neither tag nor digest."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def scaled_size(size: int, nodes_with: int, nodes: int) -> int:
    """*size* times the share of nodes that have the image, in the reference's order of operations."""
    return int(float(size) * (nodes_with / nodes))

"""Explanations: the drivers whose limits a pod would exceed on a node, with counts and limits."""

from __future__ import annotations

from collections.abc import Mapping

from schedframe import NodeInfo, Pod

from .volume_counts import VolumeCounts, counts_by_driver, numbers_by_driver


def explain_node(counts: VolumeCounts, limits: Mapping[str, int], pod: Pod, info: NodeInfo) -> str | None:
    """Return ``ebs.csi.aws.com: 39 of 39 volumes``; ``None`` if no limit is exceeded.

    Needs *counts* up to date.
    """
    resolver = counts.resolver
    incoming, present = resolver.volumes_of_incoming(pod), resolver.volumes_of_pods(info.pods.values())
    if incoming.problem is not None or present.problem is not None:
        return None
    new = {name: driver for name, driver in incoming.volumes.items() if name not in present.volumes}
    attached = counts.attachments.on_node(info.node.name)
    used = counts_by_driver(present, attached)
    lines = []
    for driver, wanted in numbers_by_driver(new).items():
        has, limit = used.get(driver, 0), limits.get(driver)
        if limit is not None and has + wanted > limit:
            lines.append(
                f"{driver}: {has} of {limit} volumes{_attached_text(driver, attached, present.volumes)}"
            )
            lines[-1] += f", the pod has {wanted} new ones" if wanted > 1 else ""
    return "; ".join(lines) or None


def _attached_text(driver: str, attached: Mapping[str, str], present: Mapping[str, str]) -> str:
    """Return how many of the counted volumes belong to no pod of the node."""
    others = sum(of == driver and name not in present for name, of in attached.items())
    return f" ({others} attached without a pod)" if others else ""

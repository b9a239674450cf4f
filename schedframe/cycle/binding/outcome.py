"""Outcome of a bind that had no answer: only the cluster knows."""

from __future__ import annotations

import logging
from typing import Final

from ...api import Pod
from ...cluster import ClusterPort, RemoteCluster
from ...framework import Code, Status

logger = logging.getLogger("schedframe")

UNKNOWN_OUTCOME: Final = Status(Code.ERROR, ("the cluster does not say whether the pod was bound",))
"""Stands for an outcome that stays unknown: the assumption is kept until the truth is known."""


def read_outcome(cluster: ClusterPort, assumed: Pod, node_name: str) -> Status | None:
    """Return ``None`` if the cluster has the pod on that node, else why the bind failed.

    :data:`UNKNOWN_OUTCOME` if it does not answer. Off the core: it may block.
    """
    try:
        read = cluster.get_latest if isinstance(cluster, RemoteCluster) else cluster.get
        pod = read("Pod", assumed.key)
    except Exception as error:  # noqa: BLE001 - not answering is an answer here
        logger.info("cannot find out whether pod %s was bound: %s", assumed.key, error)
        return UNKNOWN_OUTCOME
    if pod is None or pod.uid != assumed.uid:
        where = "is gone"
    elif pod.spec.node_name == node_name:
        return None
    else:
        where = f"is on {pod.spec.node_name or 'no node'}"
    return Status.from_error(f"binding to {node_name} had no answer, and the pod {where}")

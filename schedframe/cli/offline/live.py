"""The objects of a real cluster, read once, for the commands that change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from ..._base.value import record
from ...api import ADMISSION_KINDS, KINDS, ClusterObject
from ...errors import InputError
from ..output.terminal import note

if TYPE_CHECKING:
    from ...cluster.kubernetes import KubernetesCluster

EXTRA: Final = ("httptools", "msgspec")
"""Packages that the extra ``kubernetes`` brings."""
_UNLISTED: Final = (403, 404)
"""HTTP codes of kinds that this user may not list, or this cluster does not serve."""


@record(frozen=True)
class LiveSource:
    """A real cluster to read: kubeconfig files (none: those of kubectl) and a context of them."""

    kubeconfig: Sequence[str] = ()
    context: str | None = None

    def read(self, command: str) -> list[ClusterObject]:
        """Return all objects that scheduling and admission read, for *command*.

        Raises :class:`ClusterError`.
        """
        check_extra(command)
        from ...cluster.kubernetes import KubernetesCluster

        files = self.kubeconfig or None
        with KubernetesCluster.from_kubeconfig(files, context=self.context, kinds=ADMISSION_KINDS) as cluster:
            return objects_of(cluster)


def objects_of(cluster: KubernetesCluster) -> list[ClusterObject]:
    """Return all objects that scheduling and admission read; a note names kinds that cannot be listed."""
    from ...cluster.kubernetes import ApiError

    objects: list[ClusterObject] = []
    for kind in (*KINDS, *(cls.KIND for cls in ADMISSION_KINDS)):
        try:
            objects += cluster.list(kind)
        except ApiError as error:
            if error.status not in _UNLISTED:
                raise
            note(f"{kind} is left out: {error.message or error.reason}")
    return objects


def check_extra(command: str) -> None:
    """Raise :class:`InputError` with the fix unless the extra ``kubernetes`` is installed."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        needed = f"{command} needs {' and '.join(missing)}"
        raise InputError("", needed, "pip install 'schedframe[cli,kubernetes]'")

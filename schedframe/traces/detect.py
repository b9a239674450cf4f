"""Traces by what their files are: the format is seen from the name and the first line."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from .._base.checked import checked_except
from ..api.documents import read_documents
from ..errors import InputError
from .alibaba import read_alibaba_2020
from .azure import read_azure_2020
from .manifests import read_manifests
from .mapped import read_trace
from .openb import read_openb
from .reading import OnFault, Paths, opened
from .swf import read_swf
from .trace import Trace

_SQLITE: Final = b"SQLite format 3\0"
_OPENB: Final = frozenset({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"})
_FIX: Final = "write a mapping file that says what its columns are, and give that"


@checked_except("path", "nodes")
def open_trace(
    path: Paths,
    nodes: Paths | None = None,
    *,
    cores_per_node: int | None = None,
    machines: int = 0,
    on_fault: OnFault = "error",
) -> Trace:
    """Read a trace of any format that :mod:`schedframe.traces` knows.

    *path* is a list of pods of openb, a file of the Standard Workload Format (needs *cores_per_node*), the
    folder of Alibaba 2020, the file of Azure 2020 (*machines* of them), manifests, or a mapping file.
    *nodes* is the list of nodes of openb or of a mapping. Raises :class:`InputError`.
    """
    import csv

    file = Path(path)
    if file.is_dir():
        is_alibaba = any(file.glob("pai_task_table.csv*"))
        return (read_alibaba_2020 if is_alibaba else read_manifests)(path, on_fault=on_fault)
    if _begins_with(file, _SQLITE):
        return read_azure_2020(path, machines=machines, on_fault=on_fault)
    with opened(path) as stream:
        first = stream.readline()
    if ".swf" in file.suffixes or first.startswith(";"):
        if cores_per_node is None:
            raise InputError(
                "cores_per_node", "is not given", "say how many cores a node has", location=str(path)
            )
        return read_swf(path, cores_per_node=cores_per_node, on_fault=on_fault)
    if {each.strip() for row in csv.reader([first]) for each in row} >= _OPENB:
        return read_openb(path, nodes, on_fault=on_fault)
    if {".yaml", ".yml", ".json"} & set(file.suffixes):
        return _of_documents(path, nodes, on_fault)
    raise InputError("", "is a trace of no format that is known", _FIX, location=str(path))


def _of_documents(path: Paths, nodes: Paths | None, on_fault: OnFault) -> Trace:
    with opened(path) as stream:
        first = next(read_documents(stream.read(), str(path)), None)
    if (
        first is not None
        and isinstance(first.value, dict)
        and "pods" in first.value
        and "kind" not in first.value
    ):
        return read_trace(path, nodes=nodes, on_fault=on_fault)
    return read_manifests(path, on_fault=on_fault)


def _begins_with(file: Path, mark: bytes) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(len(mark)) == mark
    except OSError as error:
        fix = "give the path of a trace"
        raise InputError("", error.strerror or str(error), fix, location=str(file)) from None

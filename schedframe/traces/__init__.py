"""Traces of pods and nodes as columns: read, generated and reshaped."""

from __future__ import annotations

from .alibaba import read_alibaba_2020
from .azure import read_azure_2020
from .building import PodPart, TraceBuilder
from .columns import ColumnTable
from .describe import Description
from .detect import open_trace
from .draws import Draws
from .figures import Figures
from .fit import fit
from .generate import Kind, RunTimes, Workload, generate
from .manifests import read_manifests
from .mapped import read_trace
from .node_events import NodeEvent
from .openb import read_openb
from .swf import read_swf
from .template import NodeTemplate, PodTemplate
from .trace import FOREVER, Trace

__all__ = [
    "FOREVER",
    "ColumnTable",
    "Description",
    "Draws",
    "Figures",
    "Kind",
    "NodeEvent",
    "NodeTemplate",
    "PodPart",
    "PodTemplate",
    "RunTimes",
    "Trace",
    "TraceBuilder",
    "Workload",
    "fit",
    "generate",
    "open_trace",
    "read_alibaba_2020",
    "read_azure_2020",
    "read_manifests",
    "read_openb",
    "read_swf",
    "read_trace",
]

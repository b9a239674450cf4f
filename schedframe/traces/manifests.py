"""Pods and nodes of manifests with times, such as ``kubectl get pods,nodes -A -o yaml`` writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from .._base.checked import checked_except
from .._base.value import record
from ..api import Node, Pod, PodGroup, from_manifest
from ..api.documents import read_documents
from ..api.loading import flattened
from ..api.paths import located
from ..api.resources import pod_requests, whole_amount
from ..api.times import parse_time
from ..errors import InputError, InputErrors
from .building import PodPart, TraceBuilder
from .columns import NONE, texts
from .reading import OnFault, Paths, Treated, opened
from .template import NodeTemplate, PodTemplate
from .times import SECOND, micros
from .trace import FOREVER, Trace

ARRIVES: Final = "schedframe/arrives"
"""Annotation of a pod: its arrival, as a span from the start of the trace (``90s``) or a date."""
RUNS: Final = "schedframe/runs"
"""Annotation of a pod: its run time, such as ``10m``."""
_SUFFIXES: Final = (".yaml", ".yml", ".json")


@record
class _Found:
    """A pod of a manifest with its times in microseconds; dates are from 1970."""

    pod: Pod
    key: str
    """Pods with equal ones are of one template."""
    date: int | None
    span: int | None
    run: int
    location: str


@checked_except("path")
def read_manifests(path: Paths, *, on_fault: OnFault = "error") -> Trace:
    """Read pods, nodes and PodGroups from a file or folder of manifests.

    A pod arrives at its ``creationTimestamp`` and runs from ``status.startTime`` to the last ``finishedAt``
    of its containers. The annotations ``schedframe/arrives`` and ``schedframe/runs`` come first. The epoch is
    the whole second of the first date of a pod; nodes that are older join at 0. The namespace is the owner.
    Treated and counted: a pod without an arrival arrives at 0, one without an end never ends. Raises
    :class:`InputError`.
    """
    treated = Treated()
    builder, pods, nodes, groups = TraceBuilder(treated), list[_Found](), list[tuple[Node, int | None]](), {}
    for item, location in _items(Path(path)):
        try:
            value = from_manifest(item, kinds=(Pod, Node, PodGroup))
            if isinstance(value, Pod):
                pods.append(_found(value, item, location))
            elif isinstance(value, Node):
                nodes.append((value, _date(item, ("metadata", "creationTimestamp"))))
            elif isinstance(value, PodGroup):
                groups[value.key] = value
        except InputError as error:
            if on_fault == "error":
                raise InputErrors.of(_placed(each, location) for each in error.errors) from None
            treated[f"left out: {error.problem}"] += 1
    epoch = min((each.date for each in pods if each.date is not None), default=0) // SECOND
    _add_pods(builder, pods, epoch * SECOND, groups)
    for node, date in nodes:
        amounts = {name: whole_amount(name, q) for name, q in node.status.allocatable.items()}
        time = max(0, (date or 0) - epoch * SECOND)
        builder.add_nodes([node.name], NodeTemplate(amounts, node=node), time)
    return builder.build(epoch=epoch)


def _placed(error: InputError, location: str) -> InputError:
    return error.in_location(": ".join(filter(None, (location, error.location))))


def _add_pods(builder: TraceBuilder, pods: list[_Found], epoch: int, groups: Mapping[str, PodGroup]) -> None:
    if not pods:
        return
    without = sum(each.date is None and each.span is None for each in pods)
    endless = sum(each.run == FOREVER for each in pods)
    builder.treated += Treated(
        {"without an arrival: arrive at 0": without, "without an end: never end": endless}
    )
    names: dict[str, list[int]] = {}
    for index, each in enumerate(pods):
        group = each.pod.spec.scheduling_group
        if group is not None and group.pod_group_name:
            names.setdefault(f"{each.pod.namespace}/{group.pod_group_name}", []).append(index)
    counts = [_min_count(groups.get(key), len(members)) for key, members in names.items()]
    ids, column = builder.new_groups(np.array(counts, np.int64)), np.full(len(pods), NONE, np.int32)
    for members, number in zip(names.values(), ids, strict=True):
        column[members] = number
    arrivals = [each.span if each.span is not None else max(0, (each.date or epoch) - epoch) for each in pods]
    part = PodPart(
        np.array(arrivals, np.int64),
        np.array([each.run for each in pods], np.int64),
        {},
        name=texts([each.pod.name for each in pods]),
        owner=builder.owners.ids(each.pod.namespace for each in pods),
        group=column,
        template=np.array([builder.template(_template(each.pod), each.key) for each in pods], np.int32),
    )
    builder.add(part)


def _min_count(group: PodGroup | None, members: int) -> int:
    gang = group.spec.scheduling_policy.gang if group is not None else None
    return members if group is None else gang.min_count if gang is not None else 1


def _template(pod: Pod) -> PodTemplate:
    amounts = {name: whole_amount(name, q) for name, q in pod_requests(pod).items()}
    requests = {name: amount for name, amount in amounts.items() if amount and name != "pods"}
    return PodTemplate(requests, pod.priority, pod.namespace, pod=pod)


def _found(pod: Pod, item: Mapping[str, Any], location: str) -> _Found:
    annotations = pod.metadata.annotations
    date, span = _date(item, ("metadata", "creationTimestamp")), None
    arrives = annotations.get(ARRIVES)
    if arrives is not None and "T" in arrives:
        date = round(parse_time(arrives) * SECOND)
    elif arrives is not None:
        span = micros(arrives, f"metadata.annotations[{ARRIVES}]")
    runs = annotations.get(RUNS)
    run = _run(item) if runs is None else micros(runs, f"metadata.annotations[{RUNS}]")
    spec = {key: value for key, value in (item.get("spec") or {}).items() if key != "nodeName"}
    key = json.dumps([pod.namespace, dict(pod.labels), spec], sort_keys=True, default=str)
    return _Found(pod, key, date, span, run, location)


def _run(item: Mapping[str, Any]) -> int:
    """Return the time from the start of a pod to its end, −1 if it has none."""
    statuses = (item.get("status") or {}).get("containerStatuses") or ()
    ends = [_date(each, ("state", "terminated", "finishedAt")) for each in statuses]
    start = _date(item, ("status", "startTime"))
    if start is None or not ends or None in ends:
        return FOREVER
    last = max(each for each in ends if each is not None)
    if last < start:
        raise InputError("status.containerStatuses", "end before status.startTime", "correct the times")
    return last - start


def _date(item: Any, path: tuple[str, ...]) -> int | None:
    for key in path:
        item = item.get(key) if isinstance(item, Mapping) else None
    if item is None:
        return None
    try:
        return round(parse_time(item) * SECOND)
    except InputError as error:
        raise error.at(".".join(path)) from None


def _items(path: Path) -> Iterator[tuple[Any, str]]:
    """Yield each manifest and its location."""
    files = sorted(each for each in path.iterdir() if each.suffix in _SUFFIXES) if path.is_dir() else [path]
    for file in files:
        with opened(file) as stream:
            text = stream.read()
        for document in read_documents(text, str(file)):
            for number, item in enumerate(flattened(document.value)):
                place = located(str(file), document.line_of(()))
                if item is not None:
                    yield item, f"{place}: item {number}" if number else place

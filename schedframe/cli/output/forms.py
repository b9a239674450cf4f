"""An outcome on stdout: as a table, as JSON or YAML, as Bindings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from ..._base.visible import visible_json
from ...api import CPU, MEMORY, Pod
from ...api.yaml_writer import to_yaml
from ...fork.bindings import RESULT_KIND, RESULT_VERSION
from ...simulate.amounts import amount_text, share_text
from ..offline.outcome import Fate, Outcome
from .terminal import colourful, columns, heading, success, warning

NOWHERE = "-"


class Form(StrEnum):
    """Values of ``-o``."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    BINDINGS = "bindings"


class ExplainForm(StrEnum):
    """Values of ``-o`` for one pod."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


class AnswerForm(StrEnum):
    """Values of ``-o`` for answers about a whole cluster."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def render(outcome: Outcome, form: Form) -> list[str]:
    """Return the lines of the whole answer."""
    return _FORMS[form](outcome)


# ---- for people --------------------------------------------------------------------------------------------


def table(outcome: Outcome) -> list[str]:
    """Return a line for each pod, explanations, the summary, which has the reasons without a cut."""
    rows = [(fate.pod.key, fate.node_name or NOWHERE, fate.message) for fate in outcome.fates]
    return _sections(outcome, columns(rows, ("POD", "NODE", "WHY NOT"), cut=True))


def wide(outcome: Outcome) -> list[str]:
    """As :func:`table`, with what each pod asks for and who scheduled it."""
    head = ("POD", "NODE", "PRIORITY", "CPU", "MEMORY", "OTHER", "SCHEDULER", "ATTEMPTS", "WHY NOT")
    return _sections(outcome, columns(map(_wide_row, outcome.fates), head, right=(2, 3, 4, 7)))


def _wide_row(fate: Fate) -> tuple[str, ...]:
    pod = fate.pod
    requests = pod.requests
    return (
        pod.key,
        fate.node_name or NOWHERE,
        str(pod.priority),
        amount_text(CPU, requests.get(CPU, 0)),
        amount_text(MEMORY, requests.get(MEMORY, 0)),
        _others(requests),
        pod.spec.scheduler_name,
        str(fate.attempts),
        fate.message,
    )


def _others(requests: Mapping[str, int]) -> str:
    others = (f"{name}={amount_text(name, n)}" for name, n in requests.items() if name not in (CPU, MEMORY))
    return ",".join(others)


def _sections(outcome: Outcome, lines: list[str]) -> list[str]:
    found = [*_coloured(outcome, lines), ""] if outcome.fates else []
    for evaluation in outcome.explanations:
        proposals = outcome.proposals.get(evaluation.pod.key)
        for text in filter(None, (str(evaluation), str(proposals or ""))):
            found += text.split("\n")  # whose lines are visible already
        found.append("")
    return [*found, *_summary(outcome)]


def _coloured(outcome: Outcome, lines: list[str]) -> Iterator[str]:
    """Highlight pods that stay pending; the first line is the head."""
    if not colourful():
        yield from lines
        return
    yield lines[0]
    for fate, line in zip(outcome.fates, lines[1:], strict=True):
        yield line if fate.node_name is not None else warning(line)


def _summary(outcome: Outcome) -> Iterator[str]:
    total, placed = len(outcome.fates), len(outcome.placed)
    place = f"on {_count(outcome.nodes, 'node')}, {_count(outcome.running, 'pod')} there before"
    if not total:
        yield f"no pending pods ({place})"
    elif placed == total:
        yield success(f"placed all {_count(total, 'pending pod')} ({place})")
    else:
        yield warning(f"placed {placed} of {_count(total, 'pending pod')} ({place})")
    if outcome.preempted:
        yield ""
        yield heading("PREEMPTED")
        yield from (f"{pod.key} on {pod.node_name}" for pod in outcome.preempted)
    if placed < total:
        yield ""
        reasons = [(str(count), reason) for reason, count in outcome.pending_by_reason()]
        yield from columns(reasons, ("PENDING", "REASON"), right=(0,))
    if outcome.nodes:
        yield ""
        yield from columns(
            _usage_rows(outcome), ("RESOURCE", "REQUESTED", "ALLOCATABLE", "SHARE"), right=(1, 2, 3)
        )


def _usage_rows(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    for use in outcome.usage:
        name, asked, whole = use.resource, use.requested, use.allocatable
        yield name, amount_text(name, asked), amount_text(name, whole), share_text(asked, whole)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# ---- for programs ------------------------------------------------------------------------------------------


def document(outcome: Outcome) -> dict[str, Any]:
    """Everything, in plain types; amounts in milli-CPU, bytes and counts."""
    data: dict[str, Any] = {
        "apiVersion": RESULT_VERSION,
        "kind": RESULT_KIND,
        "pods": [_pod_document(fate) for fate in outcome.fates],
        "summary": {
            "nodes": outcome.nodes,
            "running": outcome.running,
            "pending_before": len(outcome.fates),
            "placed": len(outcome.placed),
            "pending": len(outcome.pending),
            "pending_by_reason": [
                {"reason": reason, "pods": count} for reason, count in outcome.pending_by_reason()
            ],
            "preempted": [{"pod": pod.key, "node": pod.node_name} for pod in outcome.preempted],
            "utilisation": {
                use.resource: {"requested": use.requested, "allocatable": use.allocatable, "unit": use.unit}
                for use in outcome.usage
            },
            "skipped_kinds": dict(outcome.skipped),
        },
    }
    if outcome.explanations:
        data["explanations"] = _explanations(outcome)
    return data


def _explanations(outcome: Outcome) -> dict[str, Any]:
    """By pod; of one that preempted before, also how it chose its victims."""
    found: dict[str, Any] = {}
    for each in outcome.explanations:
        document = each.to_dict()
        earlier = found.get(each.pod.key)
        if earlier is not None:
            document["preempted_before"] = earlier["post_filter"]
        proposals = outcome.proposals.get(each.pod.key)
        if proposals is not None:
            document["proposals"] = proposals.to_dict()
        found[each.pod.key] = document
    return found


def _pod_document(fate: Fate) -> dict[str, Any]:
    pod = fate.pod
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "scheduler": pod.spec.scheduler_name,
        "node": fate.node_name,
        "attempts": fate.attempts,
        "message": fate.message,
        "reasons": list(fate.reasons),
    }


def as_json(outcome: Outcome) -> list[str]:
    """:func:`document` as JSON."""
    return visible_json(json.dumps(document(outcome), indent=2, ensure_ascii=False)).split("\n")


def as_yaml(outcome: Outcome) -> list[str]:
    """:func:`document` as YAML."""
    return to_yaml(document(outcome)).split("\n")


def bindings(outcome: Outcome) -> list[str]:
    """Return a ``v1`` Binding for each placed pod, as YAML documents: what a scheduler would have posted."""
    documents = [to_yaml(_binding(fate.pod, fate.node_name)) for fate in outcome.placed]
    return "\n---\n".join(documents).split("\n") if documents else []


def _binding(pod: Pod, node_name: str | None) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": pod.namespace, "name": pod.name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node_name},
    }


_FORMS: Final[Mapping[Form, Callable[[Outcome], list[str]]]] = {
    Form.TABLE: table,
    Form.WIDE: wide,
    Form.JSON: as_json,
    Form.YAML: as_yaml,
    Form.BINDINGS: bindings,
}

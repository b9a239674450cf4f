"""Conversion of a plugin's failure into a fault of that plugin, and nothing else."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from .._base.plugin_faults import fault_text, message_of, place_of, shown
from ..api import Pod
from ..errors import PluginError
from ..queue import ClusterEvent, EventRegistration
from .status import REJECTIONS, Code, Status

REJECTING = "None or a rejecting Status"

_WORDING = {
    "pre_filter": 'running PreFilter plugin "{}": {}',
    "add_pod": 'running AddPod on PreFilter plugin "{}": {}',
    "remove_pod": 'running RemovePod on PreFilter plugin "{}": {}',
    "filter": 'running "{}" filter plugin: {}',
    "filter_rows": 'running "{}" filter plugin: {}',
    "post_filter": "{1}",
    "pre_score": 'running PreScore plugin "{}": {}',
    "score": 'running Score plugins: plugin "{}" failed with: {}',
    "score_rows": 'running Score plugins: plugin "{}" failed with: {}',
    "normalize_scores": 'running Normalize on Score plugins: plugin "{}" failed with: {}',
    "pre_bind_pre_flight": 'running PreBindPreFlight "{}": {}',
    "queueing": "{1}",
    "call_later": "{1}",
}
"""As the reference words it (pkg/scheduler/framework/runtime/framework.go)."""


def from_exception(
    plugin: str,
    point: str,
    error: BaseException,
    pod: Pod | None = None,
    node: str = "",
    group: str = "",
) -> Status:
    """Return the ERROR status for an exception that *plugin* raised at *point* about a pod, or a pod group.

    The exception is kept, and what is known of it as ``details``. O(frames of its traceback).
    """
    key = pod.key if pod is not None else ""
    subjects = {"pod": key, "pod group": group, "node": node}
    about = ", ".join(f"{kind} {name}" for kind, name in subjects.items() if name)
    data = {"exception": type(error).__name__, "message": message_of(error), "point": point}
    data |= {kind: name for kind, name in subjects.items() if name}
    place = place_of(error)
    data |= {"alike": _reason(plugin, point, fault_text(error))} | (place._asdict() if place else {})
    return _worded(plugin, point, fault_text(error, about), error, data)


def from_status(plugin: str, point: str, status: Status) -> Status:
    """Return the ERROR status for a *status* of *plugin* that ends the point with an error."""
    return _worded(plugin, point, status.message or status.code.label, status.error)


def as_error(plugin: str, point: str, status: Status) -> Status:
    """Return *status* if it is an ERROR, which is worded already, else as :func:`from_status` does."""
    return status if status.code is Code.ERROR else from_status(plugin, point, status)


def invalid_answer(plugin: str, point: str, answer: Any, wanted: str) -> Status:
    """Return the ERROR status for an answer that the contract does not allow."""
    text = f"plugin {plugin} answered {shown(answer)} at {point}; return {wanted}"
    return Status.from_error(PluginError(text), plugin)


def read_status(
    plugin: str, point: str, answer: Any, wanted: str = REJECTING, also: Container[Code] = ()
) -> Status | None:
    """Return the rejection or error that *answer* is, with *plugin* as its origin; ``None`` for success.

    *also* are further codes that the point allows. Any other answer, and a status with content that cannot
    be used, is an error of the plugin; *wanted* says what to return in its place.
    """
    if answer is None:
        return None
    if not isinstance(answer, Status):
        return invalid_answer(plugin, point, answer, wanted)
    try:
        status = answer.with_plugin(plugin)
    except TypeError as error:
        return invalid_answer(plugin, point, answer, f"{wanted} ({error})")
    if status.code in REJECTIONS:  # by far the most, so it comes first
        return status
    if status.code is Code.SUCCESS:
        return None
    if status.code is Code.ERROR:
        return from_status(plugin, point, status)
    if status.code in also:
        return status
    return invalid_answer(plugin, point, answer, wanted)


def read_pre_enqueue(plugin: str, answer: Any) -> Status | None:
    """Return the rejection or error in an answer of pre_enqueue, ``None`` if the pod may enter."""
    return read_status(plugin, "pre_enqueue", answer, "None, a rejection or an error")


def read_registrations(plugin: str, answer: Any) -> tuple[EventRegistration, ...]:
    """Return the answer of events_to_register. Raises :class:`PluginError` if it is not valid."""
    failed = f"plugin {plugin} failed in events_to_register: it answered"
    fix = "return a list of EventRegistration(ClusterEvent(resource, actions), hint)"
    try:
        registrations = tuple(answer)
    except Exception as error:
        raise PluginError(f"{failed} {shown(answer)}; {fix}") from error
    for each in registrations:
        valid = isinstance(each, EventRegistration) and isinstance(each.event, ClusterEvent)
        if not valid or not (each.hint is None or callable(each.hint)):
            raise PluginError(f"{failed} {shown(each)}; {fix}")
    return registrations


def _worded(
    plugin: str, point: str, text: str, error: BaseException | None, data: Mapping[str, Any] | None = None
) -> Status:
    reason = _reason(plugin, point, text)
    details = None if data is None else {reason: data}
    return Status(Code.ERROR, (reason,), plugin, error, details=details)


def _reason(plugin: str, point: str, text: str) -> str:
    wording = _WORDING.get(point)
    if wording is None:
        title = "".join(word.capitalize() for word in point.split("_"))
        wording = f'running {title} plugin "{{}}": {{}}'
    return wording.format(plugin, text)

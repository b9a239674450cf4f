"""Hooks do not raise, answer what the contract allows, and wait for times that pass."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ..._base.plugin_faults import place_of
from ...api import Pod
from ...framework import Code, Diagnosis, PostFilterResult, Status, Verdicts
from ...queue import QueuedPodInfo
from ..worlds.world import World
from .contract import of_class, of_hook
from .declarations import signature_of
from .form_agreement import prepared_for
from .probe import PASSES, BadTimeout, InvalidAnswer, Probe, Raised, Search, Trouble
from .subject import Subject
from .violation import FILTERS, SCORES, Check, CheckFn, Violation, having

_REJECTED = Status.unschedulable("rejected for the sake of the check")


def tour(probe: Probe, world: World) -> Iterator[Any]:
    """Every hook as the scheduler calls it, for each pod, on some feasible nodes."""
    for pod in world.pods:
        yield probe.status("pre_enqueue", pod)
        if "pod_signature" in probe.hooks:
            yield signature_of(probe, pod)
        search = probe.search(pod)
        rows = probe.table.rows()
        if search.goes_on:
            yield from _filtered(search)
        if "post_filter" in probe.hooks:
            yield _post_filter(search)
        if not (search.goes_on or search.status.is_skip):
            continue
        feasible = search.feasible(rows)
        if len(feasible) and search.pre_score(feasible):
            for form in (form for form in SCORES if form in probe.hooks):
                yield search.raw_scores(feasible, form)
            if probe.score_form is not None:
                yield search.scores(feasible)
                prepared_for([search], "prepare_score")
        for name in feasible.names()[:2]:
            yield from _placed(search, name)


def _filtered(search: Search) -> Iterator[Any]:
    probe = search.probe
    rows = probe.table.rows()
    for form in (form for form in FILTERS if form in probe.hooks):
        verdicts = search.by_name(rows, form)
        yield verdicts
        rejected = [info for info in rows if not verdicts[info.name].is_success]
        for info in rejected if "explain" in probe.hooks else ():
            line = probe.call("explain", search.state, search.pod, info)
            if not (line is None or isinstance(line, str)):
                raise InvalidAnswer("explain", line, "a line of text, or None")
    prepared_for([search], "prepare_filter")
    if "explain_pod" in probe.hooks:
        lines = probe.call("explain_pod", search.state, search.pod)
        if not isinstance(lines, Sequence) or isinstance(lines, str):
            raise InvalidAnswer("explain_pod", lines, "a sequence of lines")


def _post_filter(search: Search) -> Any:
    probe = search.probe
    rows = probe.table.rows()
    verdicts = Verdicts.passing_all(rows)
    for position in range(len(rows)):
        verdicts.reject(position, _REJECTED)
    diagnosis = Diagnosis(verdicts, len(rows), absent=_REJECTED)
    state = search.state.clone()
    answer = probe.call("post_filter", state, search.pod, diagnosis)
    result, status = answer if isinstance(answer, tuple) and len(answer) == 2 else (None, answer)
    if isinstance(answer, PostFilterResult):
        result, status = answer, None
    good = (result is None or isinstance(result, PostFilterResult)) and (
        status is None
        or (isinstance(status, Status) and status.code not in (Code.WAIT, Code.SKIP, Code.PENDING))
    )
    if not good:
        raise InvalidAnswer("post_filter", answer, "a PostFilterResult, a Status, both as a pair, or None")
    return answer


def _placed(search: Search, node: str) -> Iterator[Any]:
    """reserve, permit and the binding cycle, then back again."""
    probe, pod, state = search.probe, search.pod, search.state
    probe.handle.nominator.delete(pod)
    assumed = pod.with_node_name(node)
    status = probe.status("reserve", state, assumed, node)
    yield status
    if status.is_success:
        yield probe.status("permit", state, assumed, node)
        flight = probe.status("pre_bind_pre_flight", state, assumed, node)
        ready = flight.is_skip or _finished(probe, "pre_bind", state, assumed, node).is_success
        if ready and _finished(probe, "bind", state, assumed, node).is_success and "post_bind" in probe.hooks:
            probe.call("post_bind", state, assumed, node)
    if "unreserve" in probe.hooks:
        yield probe.call("unreserve", state, assumed, node)


def _finished(probe: Probe, hook: str, state: Any, pod: Pod, node: str) -> Status:
    """Return the final answer of a hook of the binding cycle."""
    if hook not in probe.hooks:
        return PASSES
    probe.handle.binding = True
    try:
        answer = probe.call(hook, state, pod, node)
        if inspect.isawaitable(answer):
            answer = asyncio.run(_awaited(answer))
    except Trouble:
        raise
    except Exception as error:
        raise Raised(hook, error) from error
    finally:
        probe.handle.binding = False
    return probe.checked(hook, answer)


async def _awaited(answer: Any) -> Any:
    return await answer


def off_the_core(subject: Subject, world: World) -> None:
    """pre_bind and bind leave alone what belongs to the core."""
    probe = Probe(subject, world)
    with suppress(Trouble):  # other checks report it
        for _ in tour(probe, world):
            pass
    if probe.handle.trespasses:
        used = ", ".join(f"handle.{what}" for what in dict.fromkeys(probe.handle.trespasses))
        raise Violation(
            f"pre_bind or bind uses {used}, which belongs to the core's thread; put what they need into the "
            "cycle state, in reserve for example"
        )


def _free_of(kind: type[Trouble], *others: type[Trouble]) -> CheckFn:
    def check(subject: Subject, world: World) -> None:
        try:
            for _ in tour(Probe(subject, world), world):
                pass
        except Trouble as trouble:
            if isinstance(trouble, kind) and not isinstance(trouble, others):
                raise Violation(_description(trouble)) from trouble

    return check


def _description(trouble: Trouble) -> str:
    """With the place in the plugin's code, if it raised."""
    cause = trouble.__cause__
    if not isinstance(trouble, Raised) or cause is None:
        return str(trouble)
    place = place_of(cause)
    where = f" ({place.file}:{place.line})" if place is not None else ""
    return f"{trouble}{where}"


# ---- the queue, and the end --------------------------------------------------------------------------------


def queue_order(subject: Subject, world: World) -> None:
    """Keys can be compared; less is a strict weak order."""
    probe = Probe(subject, world)
    waiting = [QueuedPodInfo(pod, float(world.choice(i))) for i, pod in enumerate(world.pods)]
    if "queue_sort_key" in probe.hooks:
        keys = [probe.call("queue_sort_key", info) for info in waiting]
        again = [probe.call("queue_sort_key", info) for info in waiting]
        try:
            sorted(keys)
            moved = [(i, a, b) for i, a, b in zip(waiting, keys, again, strict=True) if a < b or b < a]
        except TypeError as error:
            raise Violation(
                f"queue_sort_key answered {keys!r:.300}, which cannot be compared: {error}"
            ) from error
        for info, key, other in moved:
            raise Violation(f"queue_sort_key of pod {info.key} is {key!r}, and {other!r} the next time")
        return
    less = np.array([[_less(probe, one, two) for two in waiting] for one in waiting], np.bool_)
    for i, one in enumerate(waiting):
        for j, two in enumerate(waiting):
            if less[i, j] and less[j, i]:
                raise Violation(
                    f"queue_sort_less puts pod {one.key} before {two.key} and {two.key} before it"
                )
            for k, three in enumerate(waiting):
                if less[i, j] and less[j, k] and not less[i, k]:
                    keys = [one.key, two.key, three.key]
                    raise Violation(
                        f"queue_sort_less is not transitive: {' < '.join(keys)}, but not the outer two"
                    )


def _less(probe: Probe, one: QueuedPodInfo, two: QueuedPodInfo) -> bool:
    answer = probe.call("queue_sort_less", one, two)
    if not isinstance(answer, bool | np.bool_):
        raise Violation(f"queue_sort_less answered {answer!r:.200}; return a bool")
    return bool(answer)


def closing(subject: Subject, world: World) -> None:
    """close can be called twice."""
    probe = Probe(subject, world)
    for turn in ("first", "second"):
        try:
            probe.call("close")
        except Raised as error:
            raise Violation(f"{error}, when called for the {turn} time") from error


def _sorts(subject: Subject) -> bool:
    return not subject.hooks.isdisjoint({"queue_sort_key", "queue_sort_less"})


CHECKS = (
    Check("raises_nothing", of_class("common"), _free_of(Raised)),
    Check(
        "answers_are_valid",
        of_hook("pre_score", "any other status but success is an error."),
        _free_of(InvalidAnswer, BadTimeout),
    ),
    Check(
        "waits_are_valid",
        of_hook(
            "permit", "Allow (``None``), reject or delay (``Status.wait(seconds)``) the binding of the pod."
        ),
        _free_of(BadTimeout),
        lambda subject: not subject.hooks.isdisjoint({"permit", "pre_bind", "bind"}),
    ),
    Check(
        "binding_keeps_off_the_core",
        of_class("binding"),
        off_the_core,
        lambda subject: not subject.hooks.isdisjoint({"pre_bind", "bind"}),
    ),
    Check(
        "queue_order_is_strict",
        of_hook("queue_sort_less", "a strict weak order."),
        queue_order,
        _sorts,
    ),
    Check(
        "close_is_idempotent", of_hook("close", "Must be idempotent."), closing, having("close"), once=True
    ),
)

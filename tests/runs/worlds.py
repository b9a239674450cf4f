"""Random runs for tests: legal events in the order of time, and the same as plain tuples."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from hypothesis import strategies as st

from schedframe.runs import Run, RunEvent, RunRecorder
from schedframe.traces import NodeTemplate, PodPart, PodTemplate, Trace, TraceBuilder

SECOND = 1_000_000
EVICTIONS = (RunEvent.PREEMPTED, RunEvent.LOST, RunEvent.DRAINED)


@frozen
class World:
    """A run, and its events as (time, event, pod, node, kept)."""

    run: Run
    events: list[tuple[int, RunEvent, int, int, int]]
    waited_for: dict[int, str]


def make_trace(pods: int, nodes: int = 3, seed: int = 0) -> Trace:
    """Return a trace of pods of four templates and two owners; every fifth pod never ends."""
    builder = TraceBuilder()
    requests = [
        {"cpu": 1000},
        {"cpu": 3000, "gpu": 1},
        {"memory": 2**31, "cpu": 500},
        {"gpu": 2, "cpu": 2500},
    ]
    only = [{}, {}, {"zone": ("a",)}, {}]
    ids = [
        builder.template(PodTemplate(each, only_on=labels), index)
        for index, (each, labels) in enumerate(zip(requests, only, strict=True))
    ]
    number = np.arange(pods) + seed
    part = PodPart(
        np.arange(pods) * SECOND,
        np.where(number % 5 == 4, -1, number * 7 % 40 * SECOND),
        {},
        name=np.array([f"p{each}" for each in range(pods)] or [b""], np.bytes_)[:pods],
        owner=builder.owners.ids(["ann", "bob"][each % 2] if each % 7 else "" for each in range(pods)),
        template=np.array(ids, np.int32)[number % 4],
    )
    builder.add(part)
    for index in range(nodes):
        zone = {"zone": "ab"[index % 2]}
        builder.add_nodes(
            [f"n{index}"], NodeTemplate({"cpu": 8000, "gpu": 4, "memory": 2**34}, zone, 0.5 + index)
        )
    return builder.build()


@st.composite
def worlds(draw: st.DrawFn, most: int = 40) -> World:
    """Draw a run of up to 8 pods on 3 nodes."""
    pods, nodes = draw(st.integers(0, 8)), 3
    recorder = RunRecorder(make_trace(pods, nodes, draw(st.integers(0, 3))))
    events: list[tuple[int, RunEvent, int, int, int]] = []
    waited_for: dict[int, str] = {}
    state: dict[int, str | int] = {}
    up: dict[int, bool] = {}
    now = 0
    for _ in range(draw(st.integers(0, most))):
        now += draw(st.sampled_from([0, 0, 1, SECOND, 17 * SECOND]))
        choices: list[tuple[RunEvent, int, int]] = [
            (RunEvent.NODE_JOINED if node not in up else RunEvent.NODE_REPAIRED, -1, node)
            for node in range(nodes)
            if not up.get(node)
        ]
        busy = {node for node in state.values() if isinstance(node, int)}
        choices += [
            (how, -1, n)
            for n in up
            if up[n] and n not in busy
            for how in (RunEvent.NODE_FAILED, RunEvent.NODE_DRAINED)
        ]
        if len(state) < pods:
            choices.append((RunEvent.SUBMITTED, len(state), -1))
        for pod, where in state.items():
            if where == "waiting":
                choices += [(RunEvent.STARTED, pod, node) for node in up if up[node]]
                choices.append((RunEvent.REJECTED, pod, -1))
            elif isinstance(where, int):
                choices += [(RunEvent.ENDED, pod, -1)] * 2 + [(how, pod, -1) for how in EVICTIONS]
        event, pod, node = draw(st.sampled_from(choices))
        kept = _apply(draw, recorder, (now, event, pod, node), state, up)
        events.append((now, event, pod, node, kept))
        if event is RunEvent.SUBMITTED and draw(st.booleans()):
            waited_for[pod] = draw(st.sampled_from(["Fit", "Taint"]))
            recorder.waited_for(pod, waited_for[pod])
    end = now + draw(st.sampled_from([0, 1, 5 * SECOND]))
    return World(recorder.finish(end), events, waited_for)


def _apply(
    draw: st.DrawFn,
    recorder: RunRecorder,
    happened: tuple[int, RunEvent, int, int],
    state: dict[int, str | int],
    up: dict[int, bool],
) -> int:
    now, event, pod, node = happened
    if event is RunEvent.SUBMITTED:
        recorder.submitted(now, pod)
        state[pod] = "waiting"
    elif event is RunEvent.STARTED:
        recorder.started(now, pod, node)
        state[pod] = node
    elif event is RunEvent.ENDED:
        recorder.ended(now, pod)
        state[pod] = "ended"
    elif event is RunEvent.REJECTED:
        recorder.rejected(now, pod)
        state[pod] = "rejected"
    elif event in EVICTIONS:
        kept = draw(st.sampled_from([0, 1]))
        recorder.evicted(now, pod, event, kept=kept)
        state[pod] = "waiting"
        return kept
    else:
        recorder.node(now, node, event)
        up[node] = event in (RunEvent.NODE_JOINED, RunEvent.NODE_REPAIRED)
    return 0

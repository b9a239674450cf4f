"""Events for people: their form, series of equal ones, and what is dropped."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from attrs import evolve

from schedframe.cluster.event_log import SERIES_SECONDS
from schedframe.cluster.kubernetes import events as events_module
from schedframe.cluster.kubernetes.errors import Unreachable
from schedframe.cluster.kubernetes.events import EventRecorder, Occurrence
from schedframe.cluster.kubernetes.lanes import Lanes

from .scripted import ScriptedClient, refusal, run

REGARDING = {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web", "uid": "u1"}
OCCURRENCE = Occurrence(
    REGARDING, "Warning", "FailedScheduling", "why", "Scheduling", "python", 1_700_000_000.0
)


def recorded(client: ScriptedClient, *occurrences: Occurrence) -> EventRecorder:
    recorder = EventRecorder(client, Lanes(0, 1))  # type: ignore[arg-type]  # it stands in for the client

    async def record() -> None:
        for each in occurrences:
            recorder.record(each)
            await recorder.flush(5.0)

    run(record)
    return recorder


def test_the_form_of_an_event() -> None:
    client = ScriptedClient([{}])
    recorder = recorded(client, OCCURRENCE)
    body: dict[str, Any] = client.sent[0].body
    assert client.sent[0].path == "/apis/events.k8s.io/v1/namespaces/shop/events"
    assert body["metadata"]["name"].startswith("web.")
    assert body["reportingInstance"].startswith("python-")
    del body["metadata"], body["reportingInstance"]
    assert body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "eventTime": "2023-11-14T22:13:20.000000Z",
        "reportingController": "python",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "regarding": REGARDING,
        "note": "why",
        "type": "Warning",
    }
    assert recorder.dropped == 0


def test_events_are_written_a_moment_later_without_being_asked_for() -> None:
    """Those of one moment together, those of the next as well."""
    client = ScriptedClient([{}])
    recorder = EventRecorder(client, Lanes(0, 1))  # type: ignore[arg-type]  # it stands in for the client
    written: list[int] = []

    async def record() -> None:
        for number in range(4):
            recorder.record(evolve(OCCURRENCE, reason=f"R{number}"))
            recorder.record(evolve(OCCURRENCE, reason=f"S{number}"))
            await asyncio.sleep(events_module.GATHER_SECONDS / 2)
            written.append(len(client.sent))
            await asyncio.sleep(events_module.GATHER_SECONDS)
            written.append(len(client.sent))
        assert not recorder._tasks

    run(record)
    assert written == [0, 2, 2, 4, 4, 6, 6, 8]


def test_events_that_wait_at_the_end_are_dropped_and_counted() -> None:
    client, lanes = ScriptedClient([{}]), Lanes(0, 1)
    recorder = EventRecorder(client, lanes)  # type: ignore[arg-type]  # it stands in for the client

    async def end() -> None:
        for number in range(100):
            recorder.record(evolve(OCCURRENCE, reason=f"R{number}"))
        lanes.close()
        await recorder.flush(5.0)

    run(end)
    assert (recorder.dropped, client.sent) == (100, [])


def test_equal_events_are_one_series() -> None:
    client = ScriptedClient([{}])
    again = [evolve(OCCURRENCE, moment=OCCURRENCE.moment + each) for each in (1.0, 2.0, 3.0)]
    recorded(client, OCCURRENCE, *again, evolve(OCCURRENCE, reason="Preempted"))
    assert client.methods() == ["POST", "PATCH", "POST"]
    name = client.sent[0].body["metadata"]["name"]
    assert client.sent[1].path.endswith(f"/events/{name}")
    assert client.sent[1].body == {"series": {"count": 2, "lastObservedTime": "2023-11-14T22:13:21.000000Z"}}


def test_another_version_of_the_object_begins_another_series() -> None:
    client = ScriptedClient([{}])
    recorded(client, OCCURRENCE, evolve(OCCURRENCE, regarding=REGARDING | {"resourceVersion": "8"}))
    assert client.methods() == ["POST", "POST"]


def test_a_series_ends_when_nothing_is_seen_for_a_while() -> None:
    client = ScriptedClient([{}])
    later = evolve(OCCURRENCE, moment=OCCURRENCE.moment + SERIES_SECONDS)
    recorded(client, OCCURRENCE, later)
    assert client.methods() == ["POST", "POST"]


@pytest.mark.parametrize(("error", "requests"), [(refusal(403), 1), (refusal(409), 1)])
def test_an_event_that_is_refused_is_dropped(error: Exception, requests: int) -> None:
    client = ScriptedClient([error])
    assert recorded(client, OCCURRENCE).dropped == 1
    assert len(client.sent) == requests


def test_an_event_is_tried_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedframe.cluster.kubernetes.backoff.LONGEST_SECONDS", 0.001)
    client = ScriptedClient([Unreachable("x"), refusal(500), {}])
    assert recorded(client, OCCURRENCE).dropped == 0
    assert len(client.sent) == 3


def test_too_many_events_drop_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "WAITING_EVENTS", 2)
    client = ScriptedClient([{}])
    recorder = EventRecorder(client, Lanes(0, 1))  # type: ignore[arg-type]  # it stands in for the client

    async def flood() -> None:
        for number in range(5):
            recorder.record(evolve(OCCURRENCE, reason=f"R{number}"))
        await recorder.flush(5.0)

    run(flood)
    assert recorder.dropped == 3
    assert [each.body["reason"] for each in client.sent] == ["R3", "R4"]


def test_the_count_is_written_when_the_series_ends() -> None:
    client = ScriptedClient([{}])
    recorder = EventRecorder(client, Lanes(0, 1))  # type: ignore[arg-type]  # it stands in for the client
    start = OCCURRENCE.moment
    recorder.clock = lambda: start + SERIES_SECONDS + 4.0

    async def record() -> None:
        for second in range(5):
            recorder.record(evolve(OCCURRENCE, moment=start + second))
        for reason, count in (("Once", 1), ("Twice", 2)):
            for _ in range(count):
                recorder.record(evolve(OCCURRENCE, reason=reason))
        await recorder.flush(5.0)
        assert recorder._ending is not None
        recorder._ending.cancel()
        recorder._end_series()
        await recorder.flush(5.0)

    run(record)
    *_, last = client.sent
    assert client.methods().count("PATCH") == 3, "those with one or two events are complete"
    assert last.body == {"series": {"count": 5, "lastObservedTime": "2023-11-14T22:13:24.000000Z"}}
    assert (recorder._ending, recorder._stored) == (None, {})


def test_the_count_of_a_long_series_is_refreshed() -> None:
    client = ScriptedClient([{}])
    step = SERIES_SECONDS / 2
    moments = [OCCURRENCE.moment + number * step for number in range(14)]
    recorded(client, *(evolve(OCCURRENCE, moment=moment) for moment in moments))
    counts = [each.body["series"]["count"] for each in client.sent if each.method == "PATCH"]
    assert counts == [2, 12], "the second event, and 1800 s later"


def test_an_event_that_has_expired_is_created_again_with_its_count() -> None:
    client = ScriptedClient([{}, refusal(404), {}])
    recorder = recorded(client, OCCURRENCE, evolve(OCCURRENCE, note="again"))
    assert client.methods() == ["POST", "PATCH", "POST"]
    assert client.sent[2].body["metadata"] == client.sent[0].body["metadata"]
    assert client.sent[2].body["series"] == client.sent[1].body["series"]
    assert recorder.dropped == 0


def test_an_event_that_is_only_just_created_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request that creates it may be under way when its count is written."""
    monkeypatch.setattr("schedframe.cluster.kubernetes.backoff.LONGEST_SECONDS", 0.001)
    client = ScriptedClient([{}, refusal(404), refusal(409), {}])
    recorder = recorded(client, OCCURRENCE, OCCURRENCE)
    assert client.methods() == ["POST", "PATCH", "POST", "PATCH"]
    assert recorder.dropped == 0

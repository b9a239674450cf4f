"""What a scheduler said of each pod, but for what differs from run to run: times, uids, versions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Obj = dict[str, Any]

_TIMES = ("lastProbeTime", "lastTransitionTime")


def said(pods: Iterable[Obj], events: Iterable[Obj]) -> dict[str, Obj]:
    """Return by name of the pod: its node, the nominated one, its conditions, and the events about it."""
    pods = list(pods)
    names = {each["metadata"]["uid"]: each["metadata"]["name"] for each in pods}
    by_name = {each["metadata"]["name"]: _of_pod(each) for each in pods}
    for event in events:
        if event["regarding"].get("kind") == "Pod":
            about = by_name.setdefault(event["regarding"]["name"], {})
            about.setdefault("events", []).append(_of_event(event, names))
    for about in by_name.values():
        about.get("events", []).sort(key=_text)
    return by_name


def _of_pod(pod: Obj) -> Obj:
    status = pod.get("status") or {}
    conditions = [
        {name: "T" if name in _TIMES else value for name, value in sorted(_given(condition).items())}
        for condition in status.get("conditions") or ()
    ]
    return {
        "node": pod["spec"].get("nodeName"),
        "nominated": status.get("nominatedNodeName"),
        "is ending": "deletionTimestamp" in pod["metadata"],
        "conditions": conditions,
    }


def _of_event(event: Obj, names: dict[str, str]) -> Obj:
    kept = {k: v for k, v in _given(event).items() if k not in ("metadata", "kind", "apiVersion")}
    kept["eventTime"] = "T"
    kept["note"] = " ".join(names.get(word, word) for word in kept["note"].split(" "))
    kept["namespace"] = event["metadata"]["namespace"]
    # The name of the machine.
    kept["reportingInstance"] = kept["reportingInstance"].partition("-")[0]
    for name in ("regarding", "related"):
        if name in kept:
            reference = {**kept[name]}
            for each in ("uid", "resourceVersion"):
                reference[each] = bool(reference.get(each))
            kept[name] = reference
    if "series" in kept:
        kept["series"] = {**kept["series"], "lastObservedTime": "T"}
    return dict(sorted(kept.items()))


def _given(obj: Obj) -> Obj:
    """Return the fields with a value; which of the others are written is the server's choice."""
    return {name: value for name, value in obj.items() if value not in (None, {})}


def _text(value: Obj) -> str:
    return json.dumps(value, sort_keys=True)


def changes(recorded: dict[str, dict[str, Obj]]) -> dict[str, dict[str, Obj]]:
    """Return by wave what was said of the pods for which that changed."""
    before: dict[str, Obj] = {}
    changed = {}
    for wave, by_name in recorded.items():
        changed[wave] = {name: about for name, about in by_name.items() if before.get(name) != about}
        before = by_name
    return changed


def write(path: Path, recorded: dict[str, dict[str, Obj]]) -> None:
    """Write :func:`changes`: one line for each pod."""
    lines = [
        _text({"wave": wave, "pod": name, **about})
        for wave, by_name in changes(recorded).items()
        for name, about in sorted(by_name.items())
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", mtime=0))


def read(path: Path) -> dict[str, dict[str, Obj]]:
    """Return by wave, then by pod, what :func:`write` wrote."""
    by_wave: dict[str, dict[str, Obj]] = {}
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        about = json.loads(line)
        by_wave.setdefault(about.pop("wave"), {})[about.pop("pod")] = about
    return by_wave

"""Record what the scheduler of a cluster says of the pods of the comparison.

``python -m tests.cluster.kubernetes.comparison.record KUBECONFIG FILE``: the cluster must be empty, have a
scheduler and neither kubelets nor controllers.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from attrs import define, field

from schedframe.cluster.kubernetes import ApiError, load_access
from schedframe.cluster.kubernetes.client import MERGE_PATCH, ApiClient
from schedframe.cluster.kubernetes.loop_thread import LoopThread
from schedframe.testing.api_server.kinds import BUILT_IN

from .cluster import Obj
from .manifests import Wave, waves
from .said import said, write

QUIET_SECONDS = 4.0
"""Seconds without a change of pods or events after which a wave is over."""
KINDS = {kind.kind: kind for kind in BUILT_IN}


@define(eq=False)
class Recorder:
    """Creates waves, and reads what came of them."""

    client: ApiClient
    thread: LoopThread = field(factory=LoopThread)

    def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Obj:
        """Return the answer to one request. Raises :class:`ApiError`."""
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self.thread.run(self.client.request(method, path, data, content_type=content_type)))  # type: ignore[no-any-return]

    def do(self, wave: Wave) -> dict[str, Obj]:
        """Do what the wave says; return what the scheduler said until it fell silent."""
        for obj in wave.objects:
            self.create(obj)
        for kind, key, patch in wave.patches:
            self.ask("PATCH", path_of(kind, key), patch, MERGE_PATCH)
        if wave.ends_pods:
            for pod in self.list("Pod"):
                if "deletionTimestamp" in pod["metadata"]:
                    path = path_of("Pod", f"default/{pod['metadata']['name']}")
                    self.ask("DELETE", path, {"gracePeriodSeconds": 0})
        seen, since = self.versions(), time.monotonic()
        while time.monotonic() - since < QUIET_SECONDS:
            time.sleep(0.5)
            if (now := self.versions()) != seen:
                seen, since = now, time.monotonic()
        return said(self.list("Pod"), self.list("Event"))

    def create(self, obj: Obj) -> None:
        """Create an object, and give it its status."""
        metadata = obj["metadata"]
        path = path_of(obj["kind"], f"{metadata.get('namespace', '')}/".lstrip("/"))
        for _ in range(20):
            try:
                self.ask("POST", path.rstrip("/"), obj)
                break
            except ApiError as error:
                if error.status != 403:
                    raise
                time.sleep(0.2)  # the server's admission learns of a new class from its own watch
        if "status" in obj and obj["kind"] != "Node":
            status = {"status": obj["status"]}
            self.ask("PATCH", f"{path.rstrip('/')}/{metadata['name']}/status", status, MERGE_PATCH)

    def list(self, kind: str) -> list[Obj]:
        """Return all objects of a kind."""
        items: list[Obj] = self.ask("GET", path_of(kind, ""))["items"]
        return items

    def versions(self) -> set[str]:
        """Return what changes with each pod and event."""
        return {each["metadata"]["resourceVersion"] for kind in ("Pod", "Event") for each in self.list(kind)}


def path_of(kind: str, key: str) -> str:
    """Return the path of an object, or of a collection (*key* ends with a slash, or is empty)."""
    served = KINDS[kind]
    namespace, _, name = key.rpartition("/")
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{served.base}{place}/{served.plural}" + (f"/{name}" if name else "")


def main(kubeconfig: str, file: str) -> None:
    """Record all waves."""
    thread = LoopThread()
    thread.start()
    recorder = Recorder(ApiClient(load_access(kubeconfig)), thread)
    recorded = {}
    for wave in waves():
        recorded[wave.name] = recorder.do(wave)
        print(wave.name, len(recorded[wave.name]), file=sys.stderr)
    write(Path(file), recorded)
    thread.run(recorder.client.close())
    thread.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])

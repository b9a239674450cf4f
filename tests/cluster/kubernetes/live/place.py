"""A place on an API server for one test: a namespace of its own, and what it creates outside of it."""

from __future__ import annotations

import json
import uuid
from typing import Any

from attrs import define, field

from schedframe.cluster.kubernetes import Access, ApiError, KubernetesCluster
from schedframe.cluster.kubernetes.client import MERGE_PATCH, STRATEGIC_PATCH, ApiClient
from schedframe.cluster.kubernetes.loop_thread import LoopThread
from tests.configurations import configuration

Obj = dict[str, Any]
FORMS = {"merge": MERGE_PATCH, "strategic": STRATEGIC_PATCH}
NODE_LABEL = "schedframe.test/place"


@define(eq=False)
class Place:
    """Sends plain requests; closes with what it created deleted, as far as the server lets it."""

    access: Access
    name: str = field(factory=lambda: f"schedframe-test-{uuid.uuid4().hex[:8]}")
    """Namespace, prefix of other names, and name of the scheduler of its pods."""
    _thread: LoopThread = field(factory=LoopThread, init=False)
    _client: ApiClient = field(init=False)
    _made: list[str] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._thread.start()
        self._client = ApiClient(self.access)
        namespace = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": self.name}}
        self.make("/api/v1/namespaces", namespace)

    @property
    def pods(self) -> str:
        """Path of the pods."""
        return f"/api/v1/namespaces/{self.name}/pods"

    def ask(
        self, method: str, path: str, body: Any = None, form: str = "", accept: str = "application/json"
    ) -> tuple[int, Obj]:
        """Return 200 and the document, or the code and the reason of a refusal as ``{"reason": …}``."""
        data = None if body is None else json.dumps(body).encode()
        content_type = FORMS.get(form, "application/json")
        request = self._client.request(method, path, data, content_type=content_type, accept=accept)
        try:
            return 200, json.loads(self._thread.run(request))
        except ApiError as error:
            return error.status, {"reason": error.reason, "message": error.message}

    def watch(self, path: str, count: int) -> list[Obj]:
        """Return the first *count* events of a watch, or all if it ends before."""

        async def read() -> list[Obj]:
            events: list[Obj] = []
            async with self._client.stream(path, quiet_seconds=10.0) as batches:
                async for lines in batches:
                    events += [json.loads(line) for line in lines if line]
                    if len(events) >= count:
                        break
            return events[:count]

        return self._thread.run(read())

    def make(self, collection: str, obj: Obj) -> Obj:
        """Create an object, and return it; it is deleted at the end."""
        status, made = self.ask("POST", collection, obj)
        assert status == 200, made
        self._made.append(f"{collection}/{made['metadata']['name']}")
        return made

    def make_pod(self, name: str, *, cpu: str = "", **spec: Any) -> Obj:
        """Create a pod that waits for the scheduler of this place."""
        container: Obj = {"name": "c", "image": "registry.invalid/none"}
        if cpu:
            container["resources"] = {"requests": {"cpu": cpu}}
        selector = {"nodeSelector": {NODE_LABEL: self.name}, "schedulerName": self.name}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 0, **selector, **spec}
        return self.make(
            self.pods, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec}
        )

    def make_node(self, name: str, *, cpu: str = "4") -> Obj:
        """Create a node that only pods of this place may use."""
        amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
        node = {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {"name": f"{self.name}-{name}", "labels": {NODE_LABEL: self.name}},
            "spec": {"taints": [{"key": NODE_LABEL, "value": self.name, "effect": "PreferNoSchedule"}]},
            "status": {"allocatable": amounts, "capacity": amounts},
        }
        return self.make("/api/v1/nodes", node)

    def bind(self, pod: str, node: str, uid: str = "") -> tuple[int, Obj]:
        """Send a bind."""
        binding = {
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"name": pod, **({"uid": uid} if uid else {})},
            "target": {"kind": "Node", "name": node},
        }
        return self.ask("POST", f"{self.pods}/{pod}/binding", binding)

    def get_pod(self, name: str) -> Obj:
        """Return a pod, empty if it is gone."""
        status, pod = self.ask("GET", f"{self.pods}/{name}")
        return pod if status == 200 else {}

    def cluster(self) -> KubernetesCluster:
        """Return the cluster as a scheduler sees it."""
        return KubernetesCluster(access=self.access, qps=-1)

    def config(self) -> Obj:
        """Return the configuration of a scheduler of this place alone."""
        return configuration({"schedulerName": self.name})

    def close(self) -> None:
        """Delete what was created, last things first."""
        for path in reversed(self._made):
            self.ask("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        self._thread.run(self._client.close())
        self._thread.stop()

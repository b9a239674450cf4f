"""Operations of scheduler_perf that change the cluster at a rate while pods are scheduled."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

from ..bench_run import BenchRun
from ..interference import Interference, Unit
from ..pod_tracker import PodSelection
from .files import Manifest, into_namespace
from .step import Step
from .updating import updated

DEFAULT_CHURN_MS: Final = 500
CLUSTER_SCOPED: Final = frozenset({"Node", "Namespace", "PersistentVolume", "PriorityClass", "StorageClass"})


def update_any(bench: BenchRun, step: Step) -> None:
    """Update objects from a template, at a rate or all at once; wait for the last update."""
    cluster, fields, template = bench.fixture.cluster, step.fields, step.template("templatePath")
    number, per_second = fields.number("count", 1), fields.number("updatePerSecond")
    change, resized = into_namespace(fields.text("namespace")), "resize" in fields.texts("subresources")
    indices = iter(range(number))

    def update() -> bool:
        index = next(indices, None)
        if index is None:
            return False
        new = template.make(index, number, change)
        cluster.update(updated(cluster.get(new.KIND, new.key), new, resized=resized))
        return index + 1 < number

    if not per_second:
        while update():
            pass
        return
    interference = Interference(1 / per_second, Unit.SECONDS, update)
    bench.start(interference)
    bench.finish(interference)


def delete_pods(bench: BenchRun, step: Step) -> None:
    """Delete the pods of a namespace, at a rate or all at once."""
    cluster, fields = bench.fixture.cluster, step.fields
    per_second = fields.number("deletePodsPerSecond")
    selection = PodSelection(frozenset([fields.required("namespace")]), fields.mapping("labelSelector"))
    keys = iter([pod.key for pod in cluster.list("Pod") if selection.matches(pod)])

    def delete() -> bool:
        key = next(keys, None)
        if key is not None and cluster.get("Pod", key) is not None:
            cluster.delete("Pod", key)
        return key is not None

    if not per_second:
        while delete():
            pass
        return
    interference = Interference(1 / per_second, Unit.SECONDS, delete)
    bench.start(interference)
    if not fields.flag("skipWaitToCompletion"):
        bench.finish(interference)


def churn(bench: BenchRun, step: Step) -> None:
    """Create objects at an interval until the workload ends; mode ``recreate`` deletes them in turn."""
    cluster, fields, namespace = bench.fixture.cluster, step.fields, step.namespace
    bench.fixture.ensure_namespace(namespace)
    templates = [step.templates.get(path) for path in fields.texts("templatePaths")]
    limit, recreate = fields.number("number"), fields.data.get("mode") == "recreate"
    slots: list[list[Any]] = [[None] * max(limit, 1) for _ in templates]
    turns = count()

    def change_all() -> bool:
        turn = next(turns)
        for template, objects in zip(templates, slots, strict=True):
            slot = turn % len(objects)
            if recreate and objects[slot] is not None:
                obj, objects[slot] = objects[slot], None
                if cluster.get(obj.KIND, obj.key) is not None:
                    cluster.delete(obj.KIND, obj.key)
                continue
            objects[slot] = cluster.create(template.make(turn, 1, put_into_namespace))
        return recreate or not limit or turn + 1 < limit

    def put_into_namespace(manifest: Manifest) -> None:
        if manifest.get("kind") not in CLUSTER_SCOPED:
            manifest["metadata"]["namespace"] = namespace

    interval = fields.number("intervalMilliseconds", DEFAULT_CHURN_MS) / 1e3
    bench.start(Interference(interval, Unit.SECONDS, change_all))

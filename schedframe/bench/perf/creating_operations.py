"""Operations of scheduler_perf that create nodes, namespaces, pods and other objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import evolve

from ...api import Namespace, ObjectMeta, Pod
from ...api.kinds import UnknownKindError
from ..bench_run import BenchRun, NotDeliveredError
from ..pod_tracker import PodSelection
from .creating import DEFAULT_NODE, DEFAULT_POD, make_nodes, make_pods, needed_plugin
from .devices import create_pods_steadily
from .files import Manifest, ObjectTemplate, into_namespace
from .step import Step


def create_nodes(bench: BenchRun, step: Step) -> None:
    """Create nodes from a template, each with its hostname as a label."""
    template = step.optional_template("nodeTemplatePath") or ObjectTemplate.of(DEFAULT_NODE)
    bench.fixture.create(make_nodes(step.fields, template, bench.fixture.next_number))
    bench.fixture.scheduler.sync()


def create_namespaces(bench: BenchRun, step: Step) -> None:
    """Create the namespaces ``prefix-0``, ``prefix-1``, …"""
    prefix, count = step.fields.required("prefix"), step.fields.number("count")
    template = step.optional_template("namespaceTemplatePath")
    for i in range(count):
        name = f"{prefix}-{i}"
        if template is None:
            bench.fixture.create([Namespace(ObjectMeta(name))])
            continue

        def set_name(manifest: Manifest, name: str = name) -> None:
            manifest["metadata"]["name"] = name

        bench.fixture.create([template.make(i, count, set_name)])


def create_pods(bench: BenchRun, step: Step) -> None:
    """Create pods from a template, and schedule them unless the operation says otherwise."""
    fields, namespace = step.fields, step.namespace
    template = (
        step.optional_template("podTemplatePath")
        or step.templates.default_pod()
        or ObjectTemplate.of(DEFAULT_POD)
    )
    bench.fixture.ensure_namespace(namespace)
    measured = fields.flag("collectMetrics")
    if measured:
        bench.start_measuring(PodSelection(frozenset([namespace])))
    if fields.flag("steadyState"):
        create_pods_steadily(bench, step, template, namespace)
    else:
        keys = bench.fixture.create(_checked(step, make_pods(step, template, namespace)))
        if not fields.flag("skipWaitToCompletion"):
            bench.schedule_pods(keys)
    if measured:
        bench.stop_measuring()


def _checked(step: Step, objects: Iterator[Any]) -> Iterator[Any]:
    """Yield *objects*. Raises :class:`NotDeliveredError` for a pod whose plugin is not installed."""
    for obj in objects:
        if isinstance(obj, Pod):
            plugin = needed_plugin(obj)
            if plugin and plugin not in step.plugins:
                raise NotDeliveredError(
                    f"its pods need the plugin {plugin}, which is not part of this release"
                )
        yield obj


def create_pod_sets(bench: BenchRun, step: Step) -> None:
    """Carry out createPods in each of several namespaces."""
    prefix, inner = step.fields.required("namespacePrefix"), step.fields.nested("createPodsOp")
    for i in range(step.fields.number("count")):
        in_namespace = evolve(inner, data={**inner.data, "namespace": f"{prefix}-{i}"})
        create_pods(bench, evolve(step, fields=in_namespace))


def create_any(bench: BenchRun, step: Step) -> None:
    """Create any objects from a template."""
    template, count = step.template("templatePath"), step.fields.number("count", 1)
    namespace = step.fields.text("namespace")
    if namespace:
        bench.fixture.ensure_namespace(namespace)
    change = into_namespace(namespace)
    try:
        bench.fixture.create(template.make(i, count, change) for i in range(count))
    except UnknownKindError as error:
        raise NotDeliveredError(str(error)) from error

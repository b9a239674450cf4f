"""The operations of scheduler_perf, by opcode. Each reads its members and changes the stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from attrs import define, field

from ...api import Namespace, ObjectMeta, Pod
from ...api.manifest import UnknownKindError
from ...errors import InputError
from .creating import DEFAULT_NODE, DEFAULT_POD, make_nodes, make_pods, needed_plugin
from .definitions import Fields, Workload
from .devices import (
    alloc_resource_claims,
    create_pods_steadily,
    create_resource_claims,
    create_resource_driver,
)
from .files import Manifest, ObjectTemplate
from .stage import NotDeliveredError, Stage, has_labels
from .updating import updated

DEFAULT_CHURN_MS: Final = 500


@define(eq=False)
class Player:
    """Carries out the operations of one workload."""

    workload: Workload
    stage: Stage
    plugins: frozenset[str]
    """Those that are there."""
    _templates: dict[str, ObjectTemplate] = field(factory=dict)

    def play(self) -> None:
        """One operation after another.

        Raises :class:`InputError` for definitions that make no sense, :class:`NotDeliveredError`, and
        :class:`StalledError`.
        """
        for number, data in enumerate(self.workload.template):
            fields = Fields(data, self.workload.params, f"workloadTemplate[{number}]")
            self.play_one(fields, number)

    def play_one(self, fields: Fields, number: int) -> None:
        """The operation *number* of the workload."""
        opcode = fields.required("opcode")
        self.stage.progress(opcode)
        operation = OPERATIONS.get(opcode)
        if operation is None:
            raise InputError(
                f"{fields.path}.opcode", f"{opcode} is unknown", f"known are {', '.join(OPERATIONS)}"
            )
        operation(self, fields, number)

    def template(self, path: str) -> ObjectTemplate:
        """A template file, read once."""
        found = self._templates.get(path)
        if found is None:
            found = self._templates[path] = ObjectTemplate.read(self.workload.folder / path)
        return found

    def optional(self, path: str | None) -> ObjectTemplate | None:
        """A template file, if one is named."""
        return None if path is None else self.template(path)


def home(fields: Fields, number: int) -> str:
    """The namespace of an operation: its own unless it names one."""
    return fields.text("namespace") or f"namespace-{number}"


# ---- creating ----------------------------------------------------------------------------------------------


def create_nodes(player: Player, fields: Fields, number: int) -> None:
    """Nodes from a template, each with its hostname as a label."""
    template = player.optional(fields.text("nodeTemplatePath"))
    player.stage.create(make_nodes(player.stage, fields, template or ObjectTemplate.of(DEFAULT_NODE)))
    player.stage.scheduler.sync()


def create_namespaces(player: Player, fields: Fields, number: int) -> None:
    """``prefix-0`` and so on."""
    prefix, count = fields.required("prefix"), fields.number("count")
    template = player.optional(fields.text("namespaceTemplatePath"))
    for i in range(count):
        name = f"{prefix}-{i}"
        if template is None:
            player.stage.create([Namespace(ObjectMeta(name))])
            continue

        def named(manifest: Manifest, name: str = name) -> None:
            manifest["metadata"]["name"] = name

        player.stage.create([template.make(i, count, named)])


def create_pods(player: Player, fields: Fields, number: int, namespace: str | None = None) -> None:
    """Pods from a template; unless told otherwise the next operation waits until they are scheduled."""
    stage = player.stage
    namespace = namespace or home(fields, number)
    path = fields.text("podTemplatePath") or player.workload.default_pod_template
    template = player.optional(path) or ObjectTemplate.of(DEFAULT_POD)
    stage.ensure_namespace(namespace)
    measured = fields.flag("collectMetrics")
    if measured:
        stage.collect([namespace], {})
    if fields.flag("steadyState"):
        seconds = seconds_of(fields.parameter("duration"), f"{fields.path}.duration")
        create_pods_steadily(player, fields, template, namespace, seconds)
    else:
        keys = stage.create(_checked(player, make_pods(player, fields, template, namespace)))
        if not fields.flag("skipWaitToCompletion"):
            stage.await_pods(keys)
    if measured:
        stage.stop_collecting()


def _checked(player: Player, objects: Iterator[Any]) -> Iterator[Any]:
    """*objects*, unless one is a pod that needs a plugin that is not there."""
    for obj in objects:
        if isinstance(obj, Pod):
            plugin = needed_plugin(obj)
            if plugin and plugin not in player.plugins:
                raise NotDeliveredError(
                    f"its pods need the plugin {plugin}, which is not part of this release"
                )
        yield obj


def create_pod_sets(player: Player, fields: Fields, number: int) -> None:
    """createPods in each of several namespaces."""
    prefix, inner = fields.required("namespacePrefix"), fields.nested("createPodsOp")
    for i in range(fields.number("count")):
        create_pods(player, inner, number, f"{prefix}-{i}")


def create_any(player: Player, fields: Fields, number: int) -> None:
    """Any objects from a template."""
    template, count = player.template(fields.required("templatePath")), fields.number("count", 1)
    namespace = fields.text("namespace")
    if namespace:
        player.stage.ensure_namespace(namespace)
    try:
        player.stage.create(template.make(i, count, _into(namespace)) for i in range(count))
    except UnknownKindError as error:
        raise NotDeliveredError(str(error)) from error


def _into(namespace: str | None) -> Callable[[Manifest], None]:
    def change(manifest: Manifest) -> None:
        if namespace:
            manifest["metadata"]["namespace"] = namespace

    return change


# ---- what goes on in time ----------------------------------------------------------------------------------


def update_any(player: Player, fields: Fields, number: int) -> None:
    """Objects become what a template says, so many a second."""
    stage, template = player.stage, player.template(fields.required("templatePath"))
    count, rate = fields.number("count", 1), fields.number("updatePerSecond")
    into, resized = _into(fields.text("namespace")), "resize" in fields.texts("subresources")
    indices = iter(range(count))

    def update() -> bool:
        index = next(indices, None)
        if index is None:
            return False
        new = template.make(index, count, into)
        stage.cluster.update(updated(stage.cluster.get(new.KIND, new.key), new, resized=resized))
        return index + 1 < count

    if rate:
        stage.finish(stage.begin(1 / rate, update))
    else:
        while update():
            pass


def delete_pods(player: Player, fields: Fields, number: int) -> None:
    """Pods of a namespace go, so many a second; others are scheduled meanwhile if so wished."""
    stage, rate = player.stage, fields.number("deletePodsPerSecond")
    namespace, labels = fields.required("namespace"), fields.mapping("labelSelector")
    pods = stage.cluster.list("Pod")
    keys = iter([pod.key for pod in pods if pod.namespace == namespace and has_labels(pod, labels)])

    def delete() -> bool:
        key = next(keys, None)
        if key is not None and stage.cluster.get("Pod", key) is not None:
            stage.cluster.delete("Pod", key)
        return key is not None

    if not rate:
        while delete():
            pass
        return
    pace = stage.begin(1 / rate, delete)
    if not fields.flag("skipWaitToCompletion"):
        stage.finish(pace)


def churn(player: Player, fields: Fields, number: int) -> None:
    """Until the workload ends, objects are created, or created and deleted again, at an interval."""
    stage, namespace = player.stage, home(fields, number)
    stage.ensure_namespace(namespace)
    templates = [player.template(path) for path in fields.texts("templatePaths")]
    interval = fields.number("intervalMilliseconds", DEFAULT_CHURN_MS) / 1e3
    limit, recreate = fields.number("number"), fields.data.get("mode") == "recreate"
    slots: list[list[Any]] = [[None] * max(limit, 1) for _ in templates]
    turn = iter(range(1 << 62))

    def once() -> bool:
        index = next(turn)
        for template, there in zip(templates, slots, strict=True):
            slot = index % len(there)
            if recreate and there[slot] is not None:
                obj, there[slot] = there[slot], None
                if stage.cluster.get(obj.KIND, obj.key) is not None:
                    stage.cluster.delete(obj.KIND, obj.key)
                continue
            there[slot] = stage.cluster.create(template.make(index, 1, _namespaced(namespace)))
        return recreate or not limit or index + 1 < limit

    stage.begin(interval, once)


def _namespaced(namespace: str) -> Callable[[Manifest], None]:
    """Into the namespace, unless it is of a kind that has none."""

    def change(manifest: Manifest) -> None:
        if manifest.get("kind") not in CLUSTER_SCOPED:
            manifest["metadata"]["namespace"] = namespace

    return change


# ---- waiting and measuring ---------------------------------------------------------------------------------


def barrier(player: Player, fields: Fields, number: int) -> None:
    """Wait until pods are scheduled, or attempted."""
    stage = player.stage
    if fields.text("stageRequirement") == "Attempted":
        stage.attempt_all()
        return
    namespaces, labels = fields.texts("namespaces"), fields.mapping("labelSelector")
    stage.await_pods(
        [
            key
            for key, pod in stage.pending.items()
            if (not namespaces or pod.namespace in namespaces) and has_labels(pod, labels)
        ]
    )


def sleep(player: Player, fields: Fields, number: int) -> None:
    """Let time pass; pods are scheduled meanwhile."""
    player.stage.pass_time(seconds_of(fields.required("duration"), f"{fields.path}.duration"))


def seconds_of(duration: str, path: str) -> float:
    """``1m30s``, ``500ms`` as seconds. Raises :class:`InputError`."""
    from ...config import Duration

    try:
        return float(Duration.parse(duration).seconds)
    except ValueError as error:
        raise InputError(path, f"{duration!r} is no duration", "write one such as 10s or 1m30s") from error


def start_collecting(player: Player, fields: Fields, number: int) -> None:
    """From here on placements count."""
    player.stage.collect(fields.texts("namespaces"), fields.mapping("labelSelector"))


def stop_collecting(player: Player, fields: Fields, number: int) -> None:
    """Until here."""
    player.stage.stop_collecting()


OPERATIONS: Final[Mapping[str, Callable[[Player, Fields, int], None]]] = {
    "createNodes": create_nodes,
    "createNamespaces": create_namespaces,
    "createPods": create_pods,
    "createPodSets": create_pod_sets,
    "createAny": create_any,
    "updateAny": update_any,
    "deletePods": delete_pods,
    "churn": churn,
    "barrier": barrier,
    "sleep": sleep,
    "startCollectingMetrics": start_collecting,
    "stopCollectingMetrics": stop_collecting,
    "createResourceDriver": create_resource_driver,
    "createResourceClaims": create_resource_claims,
    "allocResourceClaims": alloc_resource_claims,
}
CLUSTER_SCOPED: Final = frozenset({"Node", "Namespace", "PersistentVolume", "PriorityClass", "StorageClass"})

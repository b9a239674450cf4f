"""``Any`` in public signatures: only where no union or type variable says it, each place with its reason."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any, Final, get_overloads

import schedframe

PACKAGES = ("errors", *(name for name in schedframe._PACKAGES if name != "errors"), "embed", "testing")

OF_ANY_ELEMENT: Final = re.compile(
    r"(?:dict|Mapping)\[str, Any\]"  # documents and arguments in plain types
    r"|NDArray\[Any\]|StateKey\[Any\]|type\[Any\]|DictionaryColumn\[Any\]|Embedding\[Any, Any\]"
)
"""Types for which the element makes no difference."""

DOCUMENT = "a value in a document: any plain type"
KIND = "an object whose class depends on a kind"
PLUGIN = "a plugin: no base class is required"
ANSWER = "what a plugin answered, wrong answers included"
ARGS = "arguments of a plugin, of its own class"
OPAQUE = "passed through, never read"

REASONS: Final[dict[str, str]] = {
    KIND: """
        api.ObjectLookup.get(return) api.ObjectLookup.list(return) cluster.FlakyCluster.get(return)
        cluster.FlakyWatch.told cluster.InMemoryCluster.apply(return)
        cluster.InMemoryCluster.create(return) cluster.InMemoryCluster.get(return)
        cluster.InMemoryCluster.update(return) cluster.RemoteCluster.get_latest(return)
        cluster.WatchEvent.new cluster.WatchEvent.old queue.InFlight.record(new)
        queue.InFlight.record(old) queue.ObjectEvent.new queue.ObjectEvent.old
        queue.GroupQueue.move_all(new) queue.GroupQueue.move_all(old)
        queue.PriorityQueue.move_all(new) queue.PriorityQueue.move_all(old) queue.RecordedEvent.new
        queue.RecordedEvent.old queue.derive_events(new) queue.derive_events(old)
        queue.derive_object_events(new) queue.derive_object_events(old) simulate.DryRunCluster.get(return)
        simulate.DryRunCluster.list(return) simulate.DryRunCluster.written state.ObjectStore.get(return)
        state.ObjectStore.list(return) testing.Change.new testing.Change.old
        testing.Change.subject(return) testing.CheckOptions.objects testing.World.objects
        why.Change.follows why.Change.objects
    """,
    DOCUMENT: """
        api.OpaqueDeviceConfiguration.parameters api.SelectorError.__init__(value)
        api.part_from_manifest(part) api.wire(decode) api.wire(encode) config.FieldError.value
        why.Edit.after why.Edit.before why.Operation.before why.Operation.value
    """,
    PLUGIN: """
        framework.Framework.plugin(return) framework.depends_on(plugin)
        testing.StubHandle.attach_plugin(plugin) testing.check_plugin(plugin) testing.plugin_checks(plugin)
    """,
    ANSWER: """
        cycle.SchedulerObserver.plugin_called(result) testing.CallRecorder.plugin_called(result)
        testing.PluginCall.result
    """,
    ARGS: """
        config.CatalogueEntry.with_ignored_resources config.GatedArgs.with_defaults
        config.EffectiveConfig.args_manifest(args)
        config.EffectiveConfig.args_manifest(return) config.PassedPlugin.args config.PluginConfig.args
        config.Profile.args(args) config.Profile.args(fields) config.structure_args(args)
        config.structure_args(return) framework.Enabled.args testing.check_plugin(args)
        testing.plugin_checks(args)
    """,
    OPAQUE: """
        queue.Heap.rank(return) queue.Heap.first_rank(return)
        api.PodSpec.memo(return) framework.PostFilterResult.details cycle.SchedulerObserver.attach(core)
        state.DictionaryColumn.answers(absent)
        state.DictionaryColumn.answers(answer) state.NodeTable.distinct(value_of) state.ObjectStore.memo
        state.RowsByState.numbers state.TermClass.memo
    """,
    "a value with an order": """
        queue.Heap.__init__(sort_key) queue.QueueOptions.sort_key why.Change.order(return) why.Change.rank
        why.NearMiss.order(return)
    """,
    "checked here: any value may be passed": """
        api.check_kind(cls)
    """,
    "fields of PodStatus": """
        api.Pod.with_status(changes)
    """,
}
"""Why → the annotations with ``Any`` that this justifies."""


def uses() -> Iterator[str]:
    """Yield ``package.Name.member`` for each public annotation with an ``Any`` that counts."""
    seen: set[object] = set()
    for package in PACKAGES:
        module = importlib.import_module(f"schedframe.{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and value not in seen:
                seen.add(value)
                yield from (f"{package}.{name}.{member}" for member in _of_class(value))
            elif inspect.isfunction(inspect.unwrap(value)):
                yield from (f"{package}.{name}({each})" for each in _of_annotations(value))


def _of_class(cls: type) -> Iterator[str]:
    yield from (name for name in _of_annotations(cls) if not name.startswith("_"))
    for name, member in vars(cls).items():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        made = name == "__init__" and "__attrs_attrs__" in vars(cls)
        if inspect.isfunction(function) and not made and (name[0] != "_" or name == "__init__"):
            # Of an overloaded method callers see the overloads, not the implementation.
            for shown in get_overloads(function) or [function]:
                yield from (f"{name}({each})" for each in _of_annotations(shown))


def _of_annotations(value: Any) -> Iterator[str]:
    annotations = vars(value).get("__annotations__") if inspect.isclass(value) else value.__annotations__
    for name, annotation in (annotations or {}).items():
        if re.search(r"\bAny\b", OF_ANY_ELEMENT.sub("", str(annotation))):
            yield name


def test_any_stands_only_where_it_is_justified() -> None:
    justified = {name for names in REASONS.values() for name in names.split()}
    found = set(uses())
    assert not sorted(found - justified), "say it with a union or a type variable, or give the reason here"
    assert not sorted(justified - found), "there is no Any any more: remove the entry"

"""A compiled profile: for each extension point the calls to make, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._base.value import record
from ..errors import PluginError
from .declarations import BoolDeclaration, declares, normalization_of
from .hook_calls import Call, ForNodes, Guard, collected
from .normalization import Normalization
from .points import HOOKS, HOOKS_OF_POINT


@record(frozen=True)
class Entry:
    """One plugin at one extension point."""

    name: str
    call: Call


@record(frozen=True)
class FilterEntry:
    """One plugin at filter: by node, by rows, or both."""

    name: str
    filter: Call | None
    filter_rows: Call | None
    filter_groups: Call | None = None
    """Returns which groups of rows pass."""
    prepare_filter: Call | None = None
    """Prepares the filter for a batch of pods as a function of a row number."""
    for_nodes: ForNodes | None = None
    """What to call in place of ``filter`` for each of many nodes, where that differs."""

    def for_each_of(self, count: int) -> Call:
        """Return what to call in place of ``filter`` for each of *count* nodes."""
        assert self.filter is not None, "a plugin at filter has one form or the other"
        return self.filter if self.for_nodes is None else self.for_nodes(count)


@record(frozen=True)
class ScoreEntry:
    """One plugin at score: by node, by rows, or both, then normalised."""

    name: str
    weight: int
    score: Call | None
    score_rows: Call | None
    normalize: Call | None
    normalization: Normalization | None = None
    """What ``normalize`` does, where the plugin declares it as data."""
    score_groups: Call | None = None
    """Scores the rows by group."""
    prepare_score: Call | None = None
    """Prepares the score for a batch of pods as a function of a row number."""
    for_nodes: ForNodes | None = None
    """What to call in place of ``score`` for each of many nodes, where that differs."""

    def for_each_of(self, count: int) -> Call:
        """Return what to call in place of ``score`` for each of *count* nodes."""
        assert self.score is not None, "a plugin at score has one form or the other"
        return self.score if self.for_nodes is None else self.for_nodes(count)


@record(frozen=True)
class PlacementScoreEntry:
    """One plugin at placementScore."""

    name: str
    weight: int
    score: Call
    normalize: Call | None


@record(frozen=True)
class PodHooks:
    """add_pod and remove_pod of one plugin at pre_filter."""

    name: str
    add_pod: Call | None
    remove_pod: Call | None


@record(eq=False)
class Plan:
    """The calls of one profile. Made once; read by every cycle."""

    plugins: dict[str, Any]
    """Every plugin of the profile by name."""
    pre_enqueue: tuple[Entry, ...] = ()
    queue_sort_key: Call | None = None
    queue_sort_less: Call | None = None
    pre_filter: tuple[Entry, ...] = ()
    pod_hooks: tuple[PodHooks, ...] = ()
    filter: tuple[FilterEntry, ...] = ()
    runs_all_filters: bool = False
    """Whether a node that one filter rejects is passed to the others, too, for the sake of their reasons."""
    post_filter: tuple[Entry, ...] = ()
    pre_score: tuple[Entry, ...] = ()
    score: tuple[ScoreEntry, ...] = ()
    reserve: tuple[Entry, ...] = ()
    unreserve: tuple[Entry, ...] = ()
    """In reverse order of the profile."""
    permit: tuple[Entry, ...] = ()
    placement_generate: tuple[Entry, ...] = ()
    placement_score: tuple[PlacementScoreEntry, ...] = ()
    placement_feasible: tuple[Entry, ...] = ()
    post_filter_group: tuple[Entry, ...] = ()
    pre_flight: Mapping[str, Entry] = {}
    """Plugin → its pre_bind_pre_flight."""
    pre_bind: tuple[Entry, ...] = ()
    pre_binds_at_once: frozenset[str] = frozenset()
    """Names of the pre_bind plugins that declare (``returns_at_once = True``) to need no thread."""
    bind: tuple[Entry, ...] = ()
    binds_at_once: bool = False
    """Whether the only bind plugin declares (``returns_at_once = True``) that it needs no thread."""
    post_bind: tuple[Entry, ...] = ()
    close: tuple[Entry, ...] = ()
    events: tuple[tuple[str, Call | None], ...] = ()
    """Every plugin with its events_to_register, if it has one."""
    explain: Mapping[str, Call] = {}
    """Plugin → its explanation of a node that it rejected; called by evaluations only."""
    explain_pod: Mapping[str, Call] = {}
    """Plugin → its explanation of a pod."""
    skip_reads: Mapping[str, Call] = {}
    """Plugin → what its skips depend on."""
    signatures: tuple[tuple[str, Call | None], ...] = ()
    """The plugins at pre_filter, filter, pre_score or score with their pod_signature, if they have one."""


@record(eq=False)
class _Compiler:
    plugins: Mapping[str, Any]
    enabled: Mapping[str, Sequence[tuple[str, int]]]
    implementations: dict[tuple[str, str], Call]
    for_nodes: dict[tuple[str, str], ForNodes]

    def call(self, hook: str, plugin: str) -> Call | None:
        return self.implementations.get((plugin, hook))

    def names(self, point: str) -> list[str]:
        return [name for name, _ in self.enabled.get(point, ()) if name in self.plugins]

    def by_plugin(self, hook: str) -> dict[str, Call]:
        return {name: call for name in self.plugins if (call := self.call(hook, name)) is not None}

    def entries(self, point: str, hook: str) -> tuple[Entry, ...]:
        calls = ((name, self.call(hook, name)) for name in self.names(point))
        return tuple(Entry(name, call) for name, call in calls if call is not None)


def compile_plan(
    plugins: Mapping[str, Any],
    enabled: Mapping[str, Sequence[tuple[str, int]]],
    guards: Sequence[Guard] = (),
    *,
    all_filters: bool = False,
) -> Plan:
    """Compile *plugins* (name → instance) in the order and with the weights of *enabled* (point → entries).

    *guards* wrap the hooks, the first one innermost.
    *all_filters*: run all filters for a node, also after one that rejects it. Names
    in *enabled* that have no instance are left out: plugins that are known but not installed. Raises
    :class:`PluginError` for a plugin that breaks the contract, and unless exactly one plugin sorts the queue.
    """
    compiler = _Compiler(plugins, enabled, *collected(plugins, guards))
    entries = compiler.entries
    key, less = _queue_sort(compiler)
    return Plan(
        plugins=dict(plugins),
        pre_enqueue=entries("preEnqueue", "pre_enqueue"),
        queue_sort_key=key,
        queue_sort_less=less,
        pre_filter=entries("preFilter", "pre_filter"),
        pod_hooks=_pod_hooks(compiler),
        filter=_filters(compiler),
        runs_all_filters=all_filters,
        post_filter=entries("postFilter", "post_filter"),
        pre_score=entries("preScore", "pre_score"),
        score=_scores(compiler),
        reserve=entries("reserve", "reserve"),
        unreserve=entries("reserve", "unreserve")[::-1],
        permit=entries("permit", "permit"),
        **_of_groups(compiler),
        pre_flight={entry.name: entry for entry in entries("preBind", "pre_bind_pre_flight")},
        pre_bind=(pre_binders := entries("preBind", "pre_bind")),
        pre_binds_at_once=_that_declare("returns_at_once", plugins, pre_binders),
        bind=(binders := entries("bind", "bind")),
        binds_at_once=[declares(plugins[each.name], "returns_at_once") for each in binders] == [True],
        post_bind=entries("postBind", "post_bind"),
        close=tuple(Entry(name, call) for name, call in compiler.by_plugin("close").items()),
        events=tuple((name, compiler.call("events_to_register", name)) for name in plugins),
        explain=compiler.by_plugin("explain"),
        explain_pod=compiler.by_plugin("explain_pod"),
        skip_reads=compiler.by_plugin("skip_reads"),
        signatures=_signatures(compiler),
    )


def _that_declare(
    declaration: BoolDeclaration, plugins: Mapping[str, Any], entries: Sequence[Entry]
) -> frozenset[str]:
    return frozenset(each.name for each in entries if declares(plugins[each.name], declaration))


def _signatures(compiler: _Compiler) -> tuple[tuple[str, Call | None], ...]:
    enabled = {name for point in HOOKS["pod_signature"].spec.points for name in compiler.names(point)}
    names = [name for name in compiler.plugins if name in enabled]
    return tuple((name, compiler.call("pod_signature", name)) for name in names)


def _queue_sort(compiler: _Compiler) -> tuple[Call | None, Call | None]:
    names = compiler.names("queueSort")
    if len(names) != 1:
        raise PluginError(
            f"a profile needs exactly one queueSort plugin, this one has {names or 'none'}; enable one, such "
            "as the default, under plugins.queueSort.enabled"
        )
    key, less = (compiler.call(hook, names[0]) for hook in HOOKS_OF_POINT["queueSort"])
    if key is None and less is None:
        raise PluginError(
            f"plugin {names[0]} is to sort the queue and has neither queue_sort_key nor queue_sort_less; "
            "implement one of them, or enable another plugin under plugins.queueSort.enabled"
        )
    return key, None if key is not None else less


def _pod_hooks(compiler: _Compiler) -> tuple[PodHooks, ...]:
    hooks = (
        PodHooks(name, compiler.call("add_pod", name), compiler.call("remove_pod", name))
        for name in compiler.names("preFilter")
    )
    return tuple(hook for hook in hooks if hook.add_pod is not None or hook.remove_pod is not None)


def _filters(compiler: _Compiler) -> tuple[FilterEntry, ...]:
    entries = (
        FilterEntry(
            name,
            for_nodes=compiler.for_nodes.get((name, "filter")),
            **{hook: compiler.call(hook, name) for hook in HOOKS_OF_POINT["filter"]},
        )
        for name in compiler.names("filter")
    )
    return tuple(entry for entry in entries if entry.filter is not None or entry.filter_rows is not None)


def _scores(compiler: _Compiler) -> tuple[ScoreEntry, ...]:
    forms = [hook for hook in HOOKS_OF_POINT["score"] if hook != "normalize_scores"]
    entries = (
        ScoreEntry(
            name,
            weight,
            normalize=_normalize(compiler, name),
            normalization=normalization_of(compiler.plugins[name]),
            for_nodes=compiler.for_nodes.get((name, "score")),
            **{hook: compiler.call(hook, name) for hook in forms},
        )
        for name, weight in compiler.enabled.get("score", ())
        if name in compiler.plugins
    )
    return tuple(entry for entry in entries if entry.score is not None or entry.score_rows is not None)


def _of_groups(compiler: _Compiler) -> dict[str, Any]:
    """Return the fields for groups of pods."""
    return {
        "placement_generate": compiler.entries("placementGenerate", "placement_generate"),
        "placement_score": _placement_scores(compiler),
        "placement_feasible": _of_all(compiler, "placement_feasible"),
        "post_filter_group": _of_all(compiler, "post_filter_group"),
    }


def _of_all(compiler: _Compiler, hook: str) -> tuple[Entry, ...]:
    """Return the plugins that have *hook*, in the order in which they were made."""
    return tuple(Entry(name, call) for name, call in compiler.by_plugin(hook).items())


def _placement_scores(compiler: _Compiler) -> tuple[PlacementScoreEntry, ...]:
    entries = []
    for name, weight in compiler.enabled.get("placementScore", ()):
        call = compiler.call("placement_score", name) if name in compiler.plugins else None
        if call is not None:
            normalize = compiler.call("normalize_placement_scores", name)
            entries.append(PlacementScoreEntry(name, weight, call, normalize))
    return tuple(entries)


def _normalize(compiler: _Compiler, name: str) -> Call | None:
    declared = normalization_of(compiler.plugins[name])
    hook = compiler.call("normalize_scores", name)
    if declared is None:
        return hook
    if not isinstance(declared, Normalization) or hook is not None:
        raise PluginError(
            f"plugin {name}: normalization must be a Normalization, and then there is no normalize_scores; "
            f"found {declared!r}{' and the hook' if hook is not None else ''}"
        )
    return lambda state, pod, scores, nodes: declared.apply(scores)

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from schedframe.config import POINTS as ALL_POINTS
from schedframe.errors import PluginError
from schedframe.framework import Normalization, compile_plan, hookimpl
from schedframe.framework.points import HOOK_ARGUMENTS, HOOKS, HOOKS_OF_POINT, HOT_HOOKS

from .fakes import SORT, enable, plan_of, plugin, plugin_class

POINTS = {
    "preEnqueue": ("pre_enqueue", "pre_enqueue"),
    "preFilter": ("pre_filter", "pre_filter"),
    "postFilter": ("post_filter", "post_filter"),
    "preScore": ("pre_score", "pre_score"),
    "reserve": ("reserve", "reserve"),
    "permit": ("permit", "permit"),
    "preBind": ("pre_bind", "pre_bind"),
    "bind": ("bind", "bind"),
    "postBind": ("post_bind", "post_bind"),
    "filter": ("filter", "filter"),
    "score": ("score", "score"),
}


@pytest.mark.parametrize("point", POINTS)
def test_the_profile_sets_the_order(point: str) -> None:
    """Neither the order of registration nor pluggy's, which is the other way round."""
    hook, attribute = POINTS[point]
    plugins = {name: plugin(**{hook: lambda self: None}) for name in "ABC"} | {"Sort": SORT}
    for order in ("ABC", "CAB", "B"):
        plan = compile_plan(plugins, {"queueSort": [("Sort", 0)], point: [(name, 1) for name in order]})
        assert [entry.name for entry in getattr(plan, attribute)] == list(order)


def test_unreserve_is_in_reverse_order() -> None:
    plugins = {name: plugin(reserve=lambda self: None, unreserve=lambda self: None) for name in "ABC"}
    plan = plan_of(**plugins, NoUndo=plugin(reserve=lambda self: None))
    assert [entry.name for entry in plan.reserve] == ["A", "B", "C", "NoUndo"]
    assert [entry.name for entry in plan.unreserve] == ["C", "B", "A"]


def test_a_plugin_runs_only_at_points_where_it_is_enabled() -> None:
    both = plugin(filter=lambda self: None, score=lambda self: 1, add_pod=lambda self: None)
    plan = compile_plan({"Both": both, "Sort": SORT}, {"queueSort": [("Sort", 0)], "score": [("Both", 1)]})
    assert plan.filter == plan.pod_hooks == ()
    assert [entry.name for entry in plan.score] == ["Both"]
    assert plan.plugins == {"Both": both, "Sort": SORT}


def test_plugins_that_are_not_installed_are_left_out() -> None:
    enabled = {"queueSort": [("Sort", 0)], "filter": [("Missing", 0)], "score": [("Missing", 5)]}
    plan = compile_plan({"Sort": SORT}, enabled)
    assert plan.filter == plan.score == ()


def test_weights_come_from_the_profile() -> None:
    plan = plan_of(
        weights={"A": 3}, A=plugin(score=lambda self: 1), B=plugin(score_rows=lambda self, rows: rows)
    )
    assert [(entry.name, entry.weight) for entry in plan.score] == [("A", 3), ("B", 1)]


def test_a_hook_with_all_arguments_is_called_without_anything_between() -> None:
    cls = plugin_class(filter=lambda self, state, pod, node_info: "called")
    instance = cls()
    (entry,) = plan_of(Plain=instance).filter
    assert entry.filter == instance.filter
    assert entry.filter.__self__ is instance


def test_a_hook_that_names_fewer_arguments_gets_just_those() -> None:
    instance = plugin(filter=lambda self, node_info, state="default": (node_info, state))
    (entry,) = plan_of(Short=instance).filter
    assert entry.filter is not None
    assert entry.filter("the state", "the pod", "the node") == ("the node", "the state")


_SCORES = tuple(hook for hook in HOOKS_OF_POINT["score"] if hook != "normalize_scores")


@pytest.mark.parametrize("hook", sorted(HOOK_ARGUMENTS))
def test_every_hook_finds_its_place(hook: str) -> None:
    specified = ", ".join(("self", *HOOK_ARGUMENTS[hook]))
    function = eval(f"lambda {specified}: 'hello'")
    beside = HOOKS[hook].spec.needs or ("filter", "filter_rows")
    others = {name: lambda self: None for name in beside if name != hook}
    instance = plugin(**{hook: function, **others})
    plugins = {"P": instance} if hook.startswith("queue_sort") else {"P": instance, "Sort": SORT}
    plan = compile_plan(plugins, enable(plugins))
    attribute = {
        "queue_sort_key": lambda: plan.queue_sort_key,
        "queue_sort_less": lambda: plan.queue_sort_less,
        "events_to_register": lambda: dict(plan.events)["P"],
        "pod_signature": lambda: dict(plan.signatures)["P"],
        "add_pod": lambda: plan.pod_hooks[0].add_pod,
        "remove_pod": lambda: plan.pod_hooks[0].remove_pod,
        "filter": lambda: plan.filter[0].filter,
        "filter_rows": lambda: plan.filter[0].filter_rows,
        "filter_groups": lambda: plan.filter[0].filter_groups,
        "prepare_filter": lambda: plan.filter[0].prepare_filter,
        **{each: partial(getattr, plan.score[0], each) for each in _SCORES if plan.score},
        "normalize_scores": lambda: plan.score[0].normalize,
        "pre_bind_pre_flight": lambda: plan.pre_flight["P"].call,
        "explain": lambda: plan.explain["P"],
        "explain_pod": lambda: plan.explain_pod["P"],
        "skip_reads": lambda: plan.skip_reads["P"],
        "placement_score": lambda: plan.placement_score[0].score,
        "normalize_placement_scores": lambda: plan.placement_score[0].normalize,
    }
    call = attribute.get(hook, lambda: getattr(plan, hook)[0].call)()
    assert call is not None
    assert call(*range(len(HOOK_ARGUMENTS[hook]))) == "hello"


def test_events_and_signatures_of_plugins_without_them() -> None:
    plan = plan_of(Quiet=plugin(filter=lambda self: None), Binds=plugin(bind=lambda self: None))
    assert dict(plan.events) == {"Quiet": None, "Binds": None, "Sort": None}
    assert dict(plan.signatures) == {"Quiet": None}


def test_exactly_one_plugin_sorts_the_queue() -> None:
    other = plugin(queue_sort_less=lambda self, first, second: False)
    with pytest.raises(PluginError, match=r"exactly one queueSort plugin, this one has none; enable one"):
        compile_plan({}, {})
    with pytest.raises(PluginError, match=r"this one has \['Other', 'Sort'\]"):
        plan_of(Other=other)
    with pytest.raises(PluginError, match=r"this one has none"):
        compile_plan({}, {"queueSort": [("Missing", 0)]})


def test_a_sorter_that_cannot_sort() -> None:
    plugins = {"Odd": plugin(filter=lambda self: None)}
    with pytest.raises(PluginError, match="Odd is to sort the queue and has neither queue_sort_key nor"):
        compile_plan(plugins, {"queueSort": [("Odd", 0)]})


def test_sorting_by_key_is_preferred() -> None:
    both = plugin(queue_sort_key=lambda self, pod_info: 1, queue_sort_less=lambda self: True)
    plan = compile_plan({"Both": both}, {"queueSort": [("Both", 0)]})
    assert plan.queue_sort_key is not None
    assert plan.queue_sort_less is None
    less = plugin(queue_sort_less=lambda self, first: first)
    plan = compile_plan({"Less": less}, {"queueSort": [("Less", 0)]})
    assert plan.queue_sort_less is not None
    assert plan.queue_sort_less("a", "b") == "a"


def test_plugins_that_break_the_contract_are_refused_by_name() -> None:
    with pytest.raises(PluginError, match=r"plugin Odd: Fake\.filters is no extension point"):
        plan_of(Odd=plugin(filters=lambda self: None))


def test_one_instance_under_two_names() -> None:
    instance = plugin(filter=lambda self: None)
    with pytest.raises(PluginError, match="plugin B cannot be registered: it is the same object as plugin A"):
        plan_of(A=instance, B=instance)


@pytest.mark.parametrize("slots", [(), ("permit",)], ids=["dictionary", "slot"])
def test_instances_of_one_class_with_hooks_of_their_own(slots: tuple[str, ...]) -> None:
    """Each is called as it is, also after other plans have looked at its class."""

    class Plain:
        __slots__ = slots or ("__dict__", "__weakref__")

        @hookimpl
        def filter(self, pod: Any) -> Any:
            return f"{pod} by class"

    def called(instance: Any) -> list[Any]:
        (entry,) = plan_of(P=instance).filter
        plan = compile_plan({"P": instance, "Sort": SORT}, {"queueSort": [("Sort", 0)], "permit": [("P", 0)]})
        return [entry.filter(None, "pod", None), *(each.call(None, "pod", "n") for each in plan.permit)]

    assert called(Plain()) == ["pod by class"]
    special = Plain()
    special.permit = hookimpl(lambda pod: f"{pod} by instance")  # type: ignore[attr-defined]
    assert called(special) == ["pod by class", "pod by instance"]
    assert called(Plain()) == ["pod by class"]


def test_normalization_as_data() -> None:
    instance = plugin(score=lambda self: 1, normalization=Normalization.BY_MAX)
    (entry,) = plan_of(P=instance).score
    assert entry.normalization is Normalization.BY_MAX
    with pytest.raises(PluginError, match="there is no normalize_scores"):
        plan_of(
            P=plugin(
                score=lambda self: 1, normalize_scores=lambda self: None, normalization=Normalization.BY_MAX
            )
        )
    with pytest.raises(PluginError, match="declare a member of Normalization"):
        plan_of(P=plugin(score=lambda self: 1, normalization="by-max"))


def test_tables_are_derived_from_the_specifications() -> None:
    assert list(HOOKS) == list(HOOK_ARGUMENTS)
    assert HOOKS_OF_POINT["filter"] == ("filter", "filter_rows", "prepare_filter", "filter_groups")
    assert HOOKS_OF_POINT["preFilter"] == ("pre_filter", "add_pod", "remove_pod")
    assert tuple(HOOKS_OF_POINT) == tuple(ALL_POINTS)
    forms = {name for name, hook in HOOKS.items() if hook.spec.form_of}
    assert forms == {"prepare_filter", "filter_groups", "prepare_score", "score_groups"}
    assert forms <= HOT_HOOKS
    for name, hook in HOOKS.items():
        assert hook.spec.auxiliary is not any(name in names for names in HOOKS_OF_POINT.values())
        assert set(hook.spec.needs) <= set(HOOKS)

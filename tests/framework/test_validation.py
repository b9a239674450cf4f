"""What is refused when a plugin is registered; every message says what to do instead."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest
from attrs import define, frozen

from schedframe.errors import PluginError
from schedframe.framework import hookimpl
from schedframe.framework.hookspecs import Hookspecs
from schedframe.framework.points import HOOK_ARGUMENTS, HOOKS_OF_POINT, hooks_of, points_of
from schedframe.framework.validation import args_class_of, check_plugin, check_plugin_class

from .fakes import plugin, plugin_class

if TYPE_CHECKING:
    from schedframe.nowhere import NotThere

    from schedframe.framework import Handle


@frozen
class Args:
    limit: int = 1


@frozen
class OtherArgs:
    size: int = 1


def refusal(candidate: Any) -> str:
    with pytest.raises(PluginError) as caught:
        check_plugin("Mine", candidate)
    return str(caught.value)


def test_every_hookspec_is_known_and_belongs_to_a_point_or_to_the_plugin_itself() -> None:
    hooks = {name for name, value in vars(Hookspecs).items() if hasattr(value, "schedframe_spec")}
    assert hooks == HOOK_ARGUMENTS.keys()
    of_points = {hook for found in HOOKS_OF_POINT.values() for hook in found}
    of_plugins = {"pod_signature", "skip_reads", "events_to_register", "explain", "explain_pod", "close"}
    of_groups = {"placement_feasible", "post_filter_group"}
    assert hooks - of_points == of_plugins | of_groups
    assert HOOK_ARGUMENTS["filter"] == ("state", "pod", "node_info")
    assert HOOK_ARGUMENTS["close"] == ()


def test_points_of_a_class_and_of_its_instance() -> None:
    cls = plugin_class(score=lambda self, pod: 1, unreserve=lambda self: None, close=lambda self: None)
    assert points_of(cls) == points_of(cls()) == ("score", "reserve")
    assert set(hooks_of(cls)) == {"score", "unreserve", "close"}


def test_hooks_are_those_that_a_call_would_find() -> None:
    """Of a base class, hidden by a subclass, set on the instance; none of it runs code of the plugin."""

    class Base:
        @hookimpl
        def filter(self) -> None: ...

        @hookimpl
        def permit(self) -> None: ...

        @hookimpl
        def score(self) -> int:
            return 1

    class Derived(Base):
        permit = None  # type: ignore[assignment]

        def filter(self) -> None: ...

        @property
        def reserve(self) -> None:
            raise AssertionError("a property that was read")

        def __getattr__(self, name: str) -> None:
            raise AssertionError(name)

    class Slotted(Base):
        __slots__ = ("reserve",)

    plugin = Derived()
    assert list(hooks_of(plugin)) == list(hooks_of(Derived)) == ["score"]
    plugin.bind = hookimpl(lambda: None)  # type: ignore[attr-defined]
    assert list(hooks_of(plugin)) == ["bind", "score"]
    assert list(hooks_of(Slotted())) == ["filter", "permit", "score"]


def test_a_sound_plugin_passes() -> None:
    @define(eq=False)
    class Sound:
        args: Args
        handle: Any

        @hookimpl
        def filter(self, node_info: Any, pod: Any) -> None: ...

        @hookimpl
        def close(self) -> None: ...

        def not_a_hook(self, anything: Any, *more: Any) -> None: ...

    check_plugin_class("Sound", Sound)
    check_plugin("Sound", Sound(Args(), None))


def test_equality_by_value() -> None:
    @define
    class ByValue:
        @hookimpl
        def filter(self, pod: Any) -> None: ...

    text = "compares by value, so two instances with equal fields would count as one plugin; "
    assert text + "define it with @define(eq=False)" in refusal(ByValue)
    assert "define it with @define(eq=False)" in refusal(ByValue())


def test_equality_that_is_inherited_or_unhashable() -> None:
    class Base:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = object.__hash__

    class Derived(Base):
        @hookimpl
        def filter(self, pod: Any) -> None: ...

    assert "@define(eq=False)" in refusal(Derived)
    assert "@define(eq=False)" in refusal(plugin_class(filter=lambda self: None, __hash__=None))


def test_unknown_hook_with_the_nearest_known() -> None:
    assert "Fake.filters is no extension point; did you mean filter?" in refusal(
        plugin_class(filters=lambda self, pod: None)
    )


def test_unknown_hook_like_no_other_lists_them_all() -> None:
    text = refusal(plugin_class(xyzzy=lambda self: None))
    assert "the extension points are pre_enqueue, queue_sort_key" in text


def test_argument_that_the_point_does_not_offer_shows_both_signatures() -> None:
    text = refusal(plugin_class(filter=lambda self, pod, node: None))
    assert "filter(self, pod, node) asks for 'node', which this extension point does not offer" in text
    assert "use any of filter(self, state, pod, node_info)" in text


def test_argument_of_a_hook_without_any() -> None:
    assert "use any of close(self)" in refusal(plugin_class(close=lambda self, why: None))


@pytest.mark.parametrize(
    ("hook", "kind"),
    [
        (lambda self, *, pod: None, "keyword-only argument 'pod'"),
        (lambda self, *pods: None, "variadic positional argument 'pods'"),
        (lambda self, **rest: None, "variadic keyword argument 'rest'"),
        (lambda self, pod, /: None, "positional-only argument 'pod'"),
    ],
)
def test_arguments_that_pluggy_would_not_pass(hook: Any, kind: str) -> None:
    text = refusal(plugin_class(filter=hook))
    assert kind in text
    assert "use plain positional arguments, any of filter(self, state, pod, node_info)" in text


@pytest.mark.parametrize("options", [{"wrapper": True}, {"hookwrapper": True}])
@pytest.mark.parametrize("hook", ["filter", "filter_rows", "score", "pre_filter", "pod_signature"])
def test_wrappers_where_every_pod_passes(hook: str, options: dict[str, bool]) -> None:
    cls = type("Wrapping", (), {hook: hookimpl(**options)(lambda self: (yield))})
    assert f"Wrapping.{hook} is a wrapper" in refusal(cls)
    assert "pass an observer to the scheduler to watch it" in refusal(cls)


def test_no_hook_at_all() -> None:
    class Plain:
        def filter(self, pod: Any) -> None: ...

    assert "Plain implements no extension point; mark its methods with @hookimpl" in refusal(Plain)


@pytest.mark.parametrize("hook", ["filter", "permit", "reserve", "post_bind", "post_filter", "score"])
def test_only_hooks_off_the_core_are_async(hook: str) -> None:
    async def method(self: Any) -> None: ...

    assert f"{hook} is async, and the core waits for nothing" in refusal(plugin_class(**{hook: method}))
    check_plugin("P", plugin_class(pre_bind=method, bind=method))


def test_methods_without_self() -> None:
    class Static:
        @staticmethod
        @hookimpl
        def filter(pod: Any) -> None: ...

    assert "Static.filter is no plain method; define it with self" in refusal(Static)
    assert "Static.filter is no plain method; define it with self" in refusal(Static())


def test_a_method_without_self_is_refused() -> None:
    forgot = plugin_class(filter=lambda pod, node_info: None)
    assert "filter(pod, node_info) lacks self; use any of filter(self, state, pod, node_info)" in refusal(
        forgot
    )
    assert "filter() lacks self" in refusal(plugin_class(filter=lambda: None)())
    check_plugin("Odd", plugin_class(filter=lambda this, pod: None))


def test_what_cannot_be_called() -> None:
    with pytest.raises(
        PluginError, match=r"5 is not callable; register the plugin's class, which is called with"
    ):
        check_plugin_class("Mine", 5)


def test_functions_are_looked_at_when_they_made_a_plugin() -> None:
    check_plugin_class("Mine", functools.partial(plugin, filter=lambda self: None))
    check_plugin_class("Mine", lambda args, handle: None)


# ---- the class of the arguments ----------------------------------------------------------------------------


@define(eq=False)
class WithArgs:
    args: Args
    handle: Handle


@define(eq=False)
class WithOptionalArgs:
    args: Args | None
    handle: Handle


@define(eq=False)
class Inherits(WithArgs):
    more: int = 0


@define(eq=False)
class WithPlainArgs:
    args: dict[str, Any]


@define(eq=False)
class WithoutArgs:
    handle: Handle


@define(eq=False)
class WithHiddenArgs:
    args: NotThere


def test_args_class() -> None:
    """Though Handle is imported for type checkers only."""
    assert args_class_of(WithArgs) is Args
    assert args_class_of(WithOptionalArgs) is Args
    assert args_class_of(Inherits) is Args
    assert args_class_of(WithPlainArgs) is None
    assert args_class_of(WithoutArgs) is None
    assert args_class_of(lambda args, handle: None) is None
    assert args_class_of(plugin_class(filter=lambda self: None)) is None


def test_args_class_written_without_postponed_annotations() -> None:
    cls = define(eq=False)(type("Direct", (), {"__annotations__": {"args": OtherArgs}}))
    assert args_class_of(cls) is OtherArgs


def test_args_class_that_exists_for_type_checkers_only() -> None:
    with pytest.raises(PluginError, match="import it outside of TYPE_CHECKING"):
        args_class_of(WithHiddenArgs)

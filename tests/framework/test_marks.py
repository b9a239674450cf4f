"""The mark of hooks: options that do nothing, and methods that lack it, are refused with the fix."""

from __future__ import annotations

import functools
from typing import Any, ClassVar, Protocol

import pytest
from attrs import define, field
from pluggy import HookimplMarker

from schedframe.errors import PluginError
from schedframe.framework import PreBindPlugin, PreFilterPlugin, hookimpl
from schedframe.framework.points import HOOK_ARGUMENTS
from schedframe.framework.validation import check_plugin

from .fakes import plugin_class


def refusal(candidate: Any) -> str:
    with pytest.raises(PluginError) as caught:
        check_plugin("Mine", candidate)
    return str(caught.value)


@pytest.mark.parametrize("hook", HOOK_ARGUMENTS)
@pytest.mark.parametrize(
    ("option", "fix"),
    [
        ("wrapper", "implement the hook itself, or pass an observer"),
        ("hookwrapper", "implement the hook itself, or pass an observer"),
        ("tryfirst", "put the plugin where it belongs in the profile"),
        ("trylast", "put the plugin where it belongs in the profile"),
        ("optionalhook", "say which versions have it as a dependency of the package"),
    ],
)
def test_options_of_the_mark_without_effect(option: str, fix: str, hook: str) -> None:
    def method(self: Any) -> Any: ...

    def wrapper(self: Any) -> Any:
        return (yield)

    function = wrapper if "wrapper" in option else method
    marked = hookimpl(**{option: True})(function)  # type: ignore[call-overload]
    cls = type("Marked", (), {hook: marked})
    for text in (refusal(cls), refusal(cls())):
        assert text.startswith(f"plugin Mine: Marked.{hook} is ")
        assert fix in text
    check_plugin("Mine", plugin_class(score=hookimpl(**{option: False})(method)))  # type: ignore[call-overload]


@pytest.mark.parametrize("method", ["mine", "score"])
def test_a_hook_under_another_name(method: str) -> None:
    cls = type("Named", (), {method: hookimpl(specname="filter")(lambda self, pod: None)})
    text = f"Named.{method} is marked with specname='filter', and hooks are found by the names of their"
    assert text + " methods; name the method filter and leave the option out" in refusal(cls)


def test_an_option_of_pluggys_own_marker() -> None:
    marker = HookimplMarker("schedframe")
    cls = type("Own", (), {"post_bind": marker(trylast=True)(lambda self: None)})
    assert "Own.post_bind is marked with trylast" in refusal(cls)


class HasScore:
    @hookimpl
    def score(self) -> int:
        return 1


class Callback:
    def __call__(self, pod: Any) -> None: ...


UNMARKED: dict[str, Any] = {
    "a method": lambda self, pod: None,
    "a static method": staticmethod(lambda pod: None),
    "a class method": classmethod(lambda cls, pod: None),
    "a partial method": functools.partialmethod(lambda self, pod, more: None, more=1),
    "a method by type": functools.singledispatchmethod(lambda self, pod: None),
    "a partial": functools.partial(print, "x"),
    "an object to call": Callback(),
    "a method marked for another project": HookimplMarker("pytest")(lambda self, pod: None),
}


@pytest.mark.parametrize("kind", UNMARKED)
@pytest.mark.parametrize("hook", ["filter", "post_bind", "close", "events_to_register"])
def test_a_hook_without_the_mark_beside_one_with_it(hook: str, kind: str) -> None:
    text = (
        f"{hook} has the name of an extension point and no mark, so it would never be called; put @hookimpl "
        "above it, or give it another name"
    )
    own = type("Own", (HasScore,), {hook: UNMARKED[kind]})
    base = type("Base", (), {hook: UNMARKED[kind]})
    inherits = type("Inherits", (HasScore, base), {})
    for cls in (own, inherits):
        assert f"plugin Mine: {cls.__name__}.{text}" in refusal(cls)
        assert f"plugin Mine: {cls.__name__}.{text}" in refusal(cls())


def test_a_method_that_hides_a_marked_one() -> None:
    class Hides(HasScore):
        def score(self) -> int:
            return 2

        @hookimpl
        def filter(self) -> None: ...

    assert "Hides.score has the name of an extension point and no mark" in refusal(Hides)
    Hides.score = hookimpl(Hides.score)  # type: ignore[method-assign]
    check_plugin("Mine", Hides)


@pytest.mark.parametrize("slots", [True, False])
def test_a_field_that_holds_a_function(slots: bool) -> None:
    @define(eq=False, slots=slots)
    class Fields(HasScore):
        filter: Any
        permit: Any = field(init=False)

    assert "Fields.filter has the name of an extension point and no mark" in refusal(Fields(lambda pod: None))
    for data in (3, "x", None, [print], int):
        check_plugin("Mine", Fields(data))
    check_plugin("Mine", Fields)


def test_data_and_protocols_may_have_the_names_of_hooks() -> None:
    class Typed(PreFilterPlugin, PreBindPlugin, Protocol):
        """A protocol of an author, which the plugin implements."""

        def post_bind(self) -> None:
            """Nothing that has to be there."""

    class Mine(Typed, HasScore):
        permit = None
        bind: ClassVar[int] = 3

        @property
        def reserve(self) -> None:
            raise AssertionError("a property that was read")

        @hookimpl
        def pre_filter(self, state: Any, pod: Any, nodes: Any) -> Any: ...

        @hookimpl
        def pre_bind(self, state: Any, pod: Any, node_name: str) -> Any: ...

    check_plugin("Mine", Mine)
    check_plugin("Mine", Mine())

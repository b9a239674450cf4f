"""The decorator that checks arguments against annotations, and what it says about each kind of mistake."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Literal, Protocol

import pytest
from attrs import define, evolve, field
from typing_extensions import TypeAliasType

import schedframe
from schedframe import (
    Action,
    ClusterEvent,
    InputError,
    Node,
    ObjectMeta,
    Pod,
    PodSpec,
    Quantity,
    SchedframeError,
    api,
)
from schedframe._base.checked import checked, checked_except, unchecked
from schedframe._base.value import value

from .checked_classes import is_checked


class Colour(Enum):
    """An enumeration."""

    DARK_RED = 1
    BLUE = 2


class Named(Protocol):
    """A protocol."""

    def name_of(self) -> str:
        """Return a name."""
        ...


def _text(value: int | str) -> str:
    return str(value)


@value
class Sample:
    """A class with fields of all kinds."""

    text: str = ""
    whole: int = 0
    number: float | None = None
    flag: bool = False
    texts: tuple[str, ...] = ()
    amounts: Mapping[str, int] = field(factory=dict)
    colour: Colour = Colour.BLUE
    call: Callable[[], None] | None = None
    mode: Literal["a", "b"] = "a"
    named: Named | None = None
    meta: ObjectMeta | None = None
    anything: Any = None
    converted: str = field(default="", converter=_text)
    _private: str = field(default="", alias="private")


Amounts = TypeAliasType("Amounts", Mapping[str, int])
"""As a ``type`` statement of Python 3.12 makes it."""


@checked
def function(items: Iterable[int], /, *rest: str, wanted: str, seed: int | None = None) -> tuple[Any, ...]:
    """Return the arguments."""
    return (items, rest, wanted, seed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": 5}, "text: 5 is not a text; give a str"),
        ({"whole": "5"}, "whole: '5' is not a whole number; give an int"),
        ({"whole": True}, "whole: True is not a whole number; give an int"),
        ({"number": "5"}, "number: '5' is not a number; give a float or None"),
        ({"flag": 1}, "flag: 1 is not True or False; give True or False"),
        ({"texts": "a"}, "texts: 'a' is not a tuple; give a tuple with it: ('a',)"),
        ({"texts": ["a"]}, "texts: a list is not a tuple; give a tuple of the same items"),
        ({"texts": ("a", 5)}, "texts[1]: 5 is not a text; give a str"),
        ({"amounts": 5}, "amounts: 5 is not a mapping; give a dict"),
        ({"amounts": {"a": "b"}}, "amounts['a']: 'b' is not a whole number; give an int"),
        ({"amounts": {1: 1}}, "amounts: key: 1 is not a text; give a str"),
        ({"colour": "dark-red"}, "colour: 'dark-red' is not a Colour; give Colour.DARK_RED"),
        ({"colour": 1}, "colour: 1 is not a Colour; give Colour.DARK_RED or Colour.BLUE"),
        ({"call": 5}, "call: 5 is not a function; give a function or None"),
        ({"mode": "c"}, "mode: 'c' is not a choice; give 'a' or 'b'"),
        ({"named": "x"}, "named: 'x' is not a Named; give a Named, which has name_of, or None"),
        ({"meta": "x"}, "meta: 'x' is not an ObjectMeta; give ObjectMeta(name='x') or None"),
        ({"meta": ObjectMeta}, "meta: the class ObjectMeta is not an ObjectMeta; give an instance"),
        ({"converted": None}, "converted: None is neither a text nor a whole number; give a str or an int"),
        ({"private": 5}, "private: 5 is not a text; give a str"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named_with_what_to_give(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Sample(**arguments)
    assert str(caught.value).startswith(f"Sample: {message}")
    assert caught.value.path == message.partition(": ")[0] or "key" in message
    assert caught.value.location == "Sample"


def test_right_arguments_are_passed_on() -> None:
    meta = ObjectMeta("m")
    sample = Sample("a", 1, 2, True, ("b",), {"c": 3}, Colour.BLUE, print, "b", None, meta, 5, 6, "p")
    assert (sample.text, sample.number, sample.converted, sample._private) == ("a", 2, "6", "p")
    assert function([1], "a", wanted="b", seed=None) == ([1], ("a",), "b", None)
    assert function(iter([1]), wanted="b")[1:] == ((), "b", None)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Sample(txt="a"), "Sample has no argument 'txt'; did you mean text?"),  # type: ignore[call-arg]
        (lambda: PodSpec(nodeName="n"), "PodSpec has no argument 'nodeName'; did you mean node_name?"),  # type: ignore[call-arg]
        (lambda: Quantity(zz=1), "Quantity has no argument 'zz'; it takes nano, format"),  # type: ignore[call-arg]
        (lambda: function([1], wanted="a", sed=1), "function has no argument 'sed'; did you mean seed?"),  # type: ignore[call-arg]
    ],
)
def test_an_unknown_keyword_is_a_type_error_with_a_similar_one(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message


def test_a_function_keeps_its_signature_and_checks_what_it_is_given() -> None:
    assert str(inspect.signature(function)).startswith("(items: ")
    assert function.__name__ == "function"
    with pytest.raises(InputError, match="seed: 'x' is not a whole number; give an int or None"):
        function([1], wanted="a", seed="x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="items: 'abc' is not a collection; give a list"):
        function("abc", wanted="a")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"items\[1\]: 'b' is not a whole number"):
        function([1, "b"], wanted="a")  # type: ignore[list-item]
    with pytest.raises(TypeError, match="missing 1 required"):
        function([1])  # type: ignore[call-arg]


def test_arguments_may_be_left_out_of_the_checks() -> None:
    @checked_except("second")
    def two(first: int, second: int) -> int:
        return first

    wrong: Any = "x"
    assert two(1, wrong) == 1
    with pytest.raises(InputError):
        two(wrong, 1)


def test_signatures_of_classes_are_those_of_their_fields() -> None:
    assert [*inspect.signature(ClusterEvent).parameters] == ["resource", "actions", "name"]
    assert [*inspect.signature(Pod).parameters] == ["metadata", "spec", "status"]


def test_a_subclass_has_the_arguments_of_its_own() -> None:
    @define
    class Wider(api.Condition):
        severity: str = ""

    assert Wider("t", severity="high").severity == "high"


def test_the_unchecked_constructor_makes_equal_values() -> None:
    meta = ObjectMeta("a", labels={"b": "c"})
    assert unchecked(ObjectMeta)(name="a", labels={"b": "c"}) == meta
    assert unchecked(Node)(meta) == Node(meta)
    assert unchecked(Pod)(metadata=meta) == Pod(meta)
    assert unchecked(int) is int


@pytest.mark.parametrize("each", [ObjectMeta("a"), Node(ObjectMeta("a")), ClusterEvent("Node", Action.ADD)])
def test_checked_values_are_copied_as_before(each: Any) -> None:
    copies = (copy.deepcopy(each), copy.copy(each), pickle.loads(pickle.dumps(each)), evolve(each))
    assert all(other == each for other in copies)


def _checked_classes() -> list[type[Any]]:
    packages = ("api", "queue", "framework", "config", "cycle", "simulate", "embed", "why", "extenders")
    names = {
        each
        for package in packages
        for each in vars(__import__(f"schedframe.{package}", fromlist=["x"])).values()
        if isinstance(each, type) and is_checked(each)
    }
    return sorted(names, key=lambda cls: (cls.__module__, cls.__qualname__))


def test_every_field_of_every_checked_class_refuses_an_odd_object() -> None:
    """Also resolves the annotations of each class."""
    wrong = []
    for cls in _checked_classes():
        parameters = inspect.signature(cls).parameters.values()
        needed = {each.name: object() for each in parameters if each.default is inspect.Parameter.empty}
        for each in parameters:
            try:
                cls(**{**needed, each.name: object()})
            except InputError as error:
                if not error.fix or error.location != cls.__name__:
                    wrong.append(f"{cls.__name__}.{each.name}: {error!r}")
            except SchedframeError:
                continue  # of a converter
            except Exception as error:  # noqa: BLE001 - reported
                wrong.append(f"{cls.__name__}.{each.name}: {error!r}")
    assert not wrong


def test_classes_of_manifests_are_checked() -> None:
    assert len(_checked_classes()) > 180
    assert all(map(is_checked, api.KINDS.values()))
    assert all(is_checked(getattr(schedframe, name)) for name in ("Status", "EventRegistration", "Quantity"))


def test_an_alias_is_checked_as_what_it_stands_for() -> None:
    @checked
    def total(amounts: Amounts) -> int:
        return sum(amounts.values())

    assert total({"cpu": 2}) == 2
    with pytest.raises(InputError, match="amounts: 5 is not a mapping"):
        total(5)  # type: ignore[arg-type]  # the mistake is the subject

"""The decorators of classes with fields: attrs makes fields and methods at the first use of one of them."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import attrs
import pytest
from attrs import evolve, field

from schedframe import InputError
from schedframe._base import value as values
from schedframe._base.checked import checked, unchecked
from schedframe._base.value import default_of, record, value

defined = values._defined
T = TypeVar("T")


class Base:
    """A base without slots of its own."""

    __slots__ = ()

    def shout(self) -> str:
        return "base"


@value(weakref_slot=False)
class Point(Base):
    """A value of all simple kinds of fields."""

    KIND: ClassVar[str] = "Point"

    x: int
    y: int = 0
    labels: dict[str, str] = field(factory=dict)
    _hidden: int = field(default=7, init=False, eq=False, repr=False)

    def shout(self) -> str:
        return f"{super().shout()} of {__class__.__name__}"  # type: ignore[name-defined]


@value
class Spot(Point):
    """A value with inherited fields and a weak reference."""

    name: str = field(default="", converter=str.strip)


@record(eq=False)
class Counter(Generic[T]):
    """A record that may change."""

    count: int = 0
    held: T | None = None


@record(frozen=True)
class Pair:
    """A record that may not change and trusts its arguments."""

    first: Any
    second: Any = None


def methods_made(cls: type[Any]) -> bool:
    return inspect.isfunction(vars(cls)["__init__"])


def fresh() -> type[Any]:
    @value(weakref_slot=False)
    class Fresh:
        x: int = 0

    return Fresh


@pytest.mark.parametrize(
    "use",
    [
        lambda cls: cls(),
        attrs.fields,
        attrs.has,
        inspect.signature,
        lambda cls: cls.__match_args__,
        unchecked,
        lambda cls: cls.__hash__,
    ],
)
def test_a_class_is_completed_by_its_first_use(use: Callable[[type[Any]], Any]) -> None:
    cls = fresh()
    assert not methods_made(cls)
    use(cls)
    assert methods_made(cls)
    assert cls(x=3) == cls(3)
    assert [each.name for each in attrs.fields(cls)] == ["x"]


def test_threads_that_need_a_class_at_once_complete_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    completed: list[Any] = []
    monkeypatch.setattr(values, "_defined", lambda *body: completed.append(body) or defined(*body))
    for _ in range(20):
        cls, made, start = fresh(), [], threading.Barrier(4)

        def construct(cls: type[Any] = cls, made: list[Any] = made, start: Any = start) -> None:
            start.wait()
            made.append(cls(5))

        threads = [threading.Thread(target=construct) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert made == [cls(5)] * 4
    assert len(completed) == 20


def test_the_default_of_a_field_is_one_instance_that_is_made_with_the_fields() -> None:
    inner = fresh()
    space = {"__annotations__": {"inner": inner, "also": inner}, "__module__": __name__}
    defaults = {"inner": default_of(inner), "also": field(default=default_of(inner), kw_only=True)}
    outer = value(type("Outer", (), {**space, **defaults}))
    assert not methods_made(inner)
    made = outer()
    assert methods_made(inner)
    assert made.inner == inner()
    assert made.inner is made.also is outer().inner is attrs.fields(outer).inner.default
    assert unchecked(outer)(also=inner(3)) == outer(also=inner(3)) != made


def test_checks_of_a_class_wait_until_it_is_used() -> None:
    cls = checked(record(type("Late", (), {"__annotations__": {"x": int}, "__module__": __name__, "x": 0})))
    assert not methods_made(cls)
    with pytest.raises(InputError, match="x: "):
        cls("5")
    assert cls(3).x == 3


def test_values_are_frozen_compared_and_hashed_by_their_fields() -> None:
    point = Point(1, 2)
    assert (point.x, point.y, point.labels, point._hidden) == (1, 2, {}, 7)
    assert point == Point(1, 2) != Point(1, 3)
    assert Pair(1) == Pair(1)
    assert hash(Pair(1, 2)) == hash(Pair(1, 2))
    for frozen in (point, Spot(1), Pair(1)):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            frozen.x = 5  # type: ignore[misc]  # the mistake is the subject
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            del frozen.x  # type: ignore[union-attr]
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_each_value_has_a_default_of_its_own() -> None:
    assert Point(1).labels is not Point(1).labels
    assert unchecked(Point)(1).labels == {}


def test_arguments_of_values_are_checked_and_those_of_records_are_trusted() -> None:
    with pytest.raises(InputError, match="Point: x: 'a' is not a whole number; give an int"):
        Point("a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Point has no argument 'z'; it takes x, y, labels"):
        Point(1, z=5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        unchecked(Point)(1, z=5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'third'"):
        Pair(1, third=5)  # type: ignore[call-arg]
    assert unchecked(Point)("a").x == "a"
    assert Counter("a").count == "a"  # type: ignore[arg-type]


def test_methods_mean_the_class_that_is_seen() -> None:
    assert Point(1).shout() == "base of Point"
    assert Spot(1).shout() == "base of Point"
    assert type(Point(1)) is Point


def test_fields_are_inherited_and_slots_are_not_repeated() -> None:
    assert [each.name for each in attrs.fields(Spot)] == ["x", "y", "labels", "_hidden", "name"]
    assert Spot(1, name=" a ").name == "a"
    assert Spot.__slots__ == ("name", "__weakref__")  # type: ignore[attr-defined]
    assert not hasattr(Spot(1), "__dict__")
    spot = Spot(1)
    assert weakref.ref(spot)() is spot
    with pytest.raises(TypeError, match="weak reference"):
        weakref.ref(Point(1))


def test_records_change_and_are_equal_to_themselves_alone() -> None:
    counter: Counter[str] = Counter()
    counter.count += 1
    assert counter.count == 1
    assert Counter() != Counter()
    assert {counter: 1}[counter] == 1
    assert repr(counter) == "Counter(count=1)"


@pytest.mark.parametrize("each", [Point(1, labels={"a": "b"}), Spot(1, name="s"), Pair(1, 2)])
def test_copies_are_equal(each: Any) -> None:
    copies = (copy.copy(each), copy.deepcopy(each), pickle.loads(pickle.dumps(each)), evolve(each))
    assert all(other == each and type(other) is type(each) for other in copies)


def test_a_value_is_unpickled_by_a_class_that_was_never_used() -> None:
    state = {"x": 4}
    made = fresh()
    again = made.__new__(made)
    again.__setstate__(state)
    assert again == made(4)


def test_a_subclass_without_decorator_has_the_constructor_of_its_base() -> None:
    class Plain(Point):
        pass

    assert Plain(1, 2).y == 2
    assert type(Plain(1)) is Plain
    assert Plain(1) != Point(1)

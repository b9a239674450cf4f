"""A fault in any function of the cache changes no decision, and is reported."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import zlib
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from attrs import define, field

import schedframe.cycle.equivalence as package
from schedframe import Depends
from schedframe.errors import CacheFault, VerificationError
from tests.profiles import scaled

from .. import workload
from ..build import World, make_node, make_pod, plugin_class
from .comparison import Triplets, renamed
from .test_same_decisions import Way, catching_up

WAYS = (
    Way(48, first_visits=1, groups=24),
    Way(0, 1 << 30, 2, portion=3, draws=0),
    Way(48, first_visits=1, matrix_rows=4096, pending_rows=2),
)
OUTSIDE = {
    # Called after a fault, or not by the scheduler at all.
    "FastSearch.decide",
    "FastSearch._after_fault",
    "FastSearch.feasible_rows",
    "EquivalenceCache.drop",
    "EquivalenceCache.classes",
    "EquivalenceClass.discard",
    # Positions of lazy rows, which readers of a decision compute: one expression of NumPy.
    "ClassColumns.feasible_positions",
    "EquivalenceClass.check_invariants",
    "class_key",
}
AFTER_A_DRAW = {"GroupMax._at"}
"""It gets a number that was drawn: the full search draws again, so later draws are others."""


def functions() -> Iterator[tuple[Any, str]]:
    """(owner, name) of all methods, properties and functions of the package."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__:
                yield module, name
            elif inspect.isclass(value) and value.__module__ == module.__name__:
                for method, found in vars(value).items():
                    attrs_made = method.startswith("__") and method not in ("__init__", "__attrs_post_init__")
                    own = inspect.isfunction(found) and "attrs generated" not in found.__code__.co_filename
                    if not attrs_made and (own or isinstance(found, property)):
                        yield value, method


def title(owner: Any, name: str) -> str:
    return f"{owner.__name__}.{name}" if inspect.isclass(owner) else name


FUNCTIONS = [
    pytest.param(owner, name, id=title(owner, name))
    for owner, name in functions()
    if title(owner, name) not in OUTSIDE | AFTER_A_DRAW
    and "check_invariants" not in name
    and not getattr(owner, "_is_protocol", False)
]


@define(eq=False)
class Breaking:
    """Makes some calls of one function fail."""

    patch: pytest.MonkeyPatch
    owner: Any
    name: str
    calls: int = 0
    raised: int = 0
    at: set[int] = field(factory=lambda: {1, 5, 14, 40})

    def __attrs_post_init__(self) -> None:
        found = vars(self.owner)[self.name]
        if isinstance(found, property):
            self.patch.setattr(self.owner, self.name, property(self.around(found.fget)))
        elif inspect.isclass(self.owner):
            self.patch.setattr(self.owner, self.name, self.around(found))
        else:
            for module in [m for n, m in sys.modules.items() if n.startswith(package.__name__)]:
                if vars(module).get(self.name) is found:
                    self.patch.setattr(module, self.name, self.around(found))

    def around(self, function: Any) -> Any:
        def broken(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls in self.at:
                self.raised += 1
                raise IndexError("out of step")
            return function(*args, **kwargs)

        return broken


def run(worlds: Triplets, random: Random, steps: int) -> None:
    """A small cluster that grows, shrinks, empties and is filled again."""
    templates = [workload.template(random, f"t{i}", others=False) for i in range(3)]
    for step in range(steps):
        chance, host = random.random(), f"n{random.randrange(9)}"
        if step == steps // 2:
            for i in range(9):
                worlds.drop_node(workload.node(random, f"n{i}", images=False))
        elif chance < 0.2 or step < 4:
            worlds.put_node(workload.node(random, host, images=False))
        elif chance < 0.25:
            worlds.drop_node(workload.node(random, host, images=False))
        elif chance < 0.4:
            worlds.delete(f"p{random.randrange(12)}")
        elif chance < 0.45:
            pod = random.choice(templates)
            worlds.create(renamed(pod, f"p{next(worlds.numbers) % 12}", nominated_node_name=host))
        else:
            worlds.create(renamed(random.choice(templates), f"p{next(worlds.numbers) % 12}"))
        worlds.step()
        if step % 10 == 9:
            worlds.pass_time(30.0)


@pytest.mark.parametrize(("owner", "name"), FUNCTIONS)
def test_a_fault_changes_no_decision(owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = zlib.crc32(title(owner, name).encode())
    for i, way in enumerate(WAYS):
        with catching_up(way), pytest.MonkeyPatch.context() as patch:
            worlds = Triplets(["Groups"] if i == 0 else [], True, seed % 3)
            worlds.faulty = True
            breaking = Breaking(patch, owner, name)
            run(worlds, Random(seed + i), scaled(15))
            faults = [status.error for world in worlds.worlds for status, _ in world.faults]
            assert not any(isinstance(fault, VerificationError) for fault in faults)
            ours = [fault for fault in faults if isinstance(fault, CacheFault)]
            # What evaluators call may be a plugin: the full search reports those.
            silent = not inspect.isclass(owner) or ".evaluate." in owner.__module__
            assert len(ours) <= breaking.raised
            assert ours or silent or not breaking.raised or title(owner, name) in QUIET
            if breaking.raised:
                return


QUIET = {"StatusCodes.code_of"}
"""Called between plugins by evaluators: taken for a fault of the plugin, which the full search looks for."""


@pytest.mark.parametrize("answer", [[], {"a": 1}, ValueError("no")])
def test_a_signature_that_cannot_be_hashed_is_reported_once(answer: Any) -> None:
    """Its pods are decided by the full search; without a report only the time that it takes would show."""

    def sign(self: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    signing = plugin_class("Signing", depends_on=Depends.ROW, pod_signature=sign, filter=lambda self: None)
    world = World({"Signing": signing})
    world.create(make_node("n"), *(make_pod(f"p{i}") for i in range(5)))
    world.settle()
    assert world.node_of("p4") == "n"
    ((status, _),) = world.faults
    assert status.plugin == "Signing"
    assert status.message.startswith('running PodSignature plugin "Signing": ')


def test_a_plugin_that_cannot_sign_is_called_once_for_each_pod() -> None:
    signed: list[str] = []

    def sign(self: Any, pod: Any) -> Any:
        signed.append(pod.name)

    signing = plugin_class("Signing", depends_on=Depends.ROW, pod_signature=sign, filter=lambda self: None)
    world = World({"Signing": signing})
    world.create(make_node("n"), *(make_pod(f"p{i}") for i in range(3)))
    world.settle()
    assert world.node_of("p2") == "n"
    assert not world.faults
    assert sorted(signed) == ["p0", "p1", "p2"]

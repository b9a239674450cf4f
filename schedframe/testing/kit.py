"""``check_plugin``: does a plugin keep the contract?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, frozen

from ..errors import ConfigError, PluginError
from ..framework.caching import uncached
from .checks import CHECKS
from .contract import Clause
from .exercise import PluginNotCached, PluginNotExercised, idle
from .fingerprint import contents
from .probe import Trouble
from .subject import Subject
from .violation import Check, Violation
from .world import World, smaller

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from ..api import Node, Pod

DEFAULT_EXAMPLES = 50
DEFAULT_SHRINKS = 150
_SEEDS = 10_000
"""Runs of Hypothesis for one seed, at most."""
_FORMER_NAMES = {
    "row_local_is_true": "depends_on_row_is_true",
    "node_only_is_true": "depends_on_node_object_is_true",
    "amounts_only_is_true": "depends_on_row_resources_is_true",
}
_DELETIONS = 200
"""Worlds that are tried at most when things are left out of a counterexample."""


@frozen
class Failure:
    """A check that a plugin failed."""

    check: str
    what: str
    clause: Clause
    world: World | None = None
    """The smallest counterexample that was found; ``None`` if any world is one."""

    def __str__(self) -> str:
        lines = [f"{self.check}: {self.what}", f"  contract, {self.clause}"]
        if self.world is not None:
            lines += ["  smallest example found:", *(f"    {line}" for line in str(self.world).splitlines())]
        return "\n".join(lines)


class PluginCheckFailed(AssertionError):
    """A plugin breaks the contract; ``failures`` has one entry for each check that it failed."""

    def __init__(self, plugin: str, failures: Sequence[Failure]) -> None:
        self.plugin = plugin
        self.failures = tuple(failures)
        count = f"{len(failures)} checks" if len(failures) > 1 else "1 check"
        super().__init__(f"plugin {plugin} failed {count}\n\n" + "\n\n".join(map(str, failures)))


@frozen
class PluginCheck:
    """One named check, to be called; :class:`PluginCheckFailed` if the plugin fails it."""

    name: str
    _run: Callable[[], Failure | None]
    _plugin: str

    def __call__(self) -> None:
        """Run it."""
        __tracebackhide__ = True  # pytest shows the caller instead
        failure = self._run()
        if failure is not None:
            raise PluginCheckFailed(self._plugin, [failure])

    def __repr__(self) -> str:
        return self.name


def check_plugin(
    plugin: Any,
    args: Any = None,
    *,
    pods: SearchStrategy[Pod] | None = None,
    nodes: SearchStrategy[Node] | None = None,
    objects: SearchStrategy[Sequence[Any]] | None = None,
    max_examples: int = DEFAULT_EXAMPLES,
    max_shrinks: int = DEFAULT_SHRINKS,
    seed: int = 0,
    leave_out: Mapping[str, str] | None = None,
) -> None:
    """Raise :class:`PluginCheckFailed`, with all failures, if *plugin* breaks the contract.

    *plugin* is its class (or a function of ``(args, handle)``), *args* its arguments: an instance of the args
    class, JSON data, or ``None`` for the defaults. The plugin is tried in *max_examples* small clusters made
    up by Hypothesis, the same ones every time for the same *seed*; a counterexample is made smaller in at
    most *max_shrinks* steps.

    The clusters know the labels, taints and resources that the builtin plugins look at. A plugin that looks
    at others needs strategies of its own for *pods*, *nodes* (see :mod:`schedframe.testing.strategies`) or
    *objects* (sequences of objects of other kinds): what never occurs is never checked. A plugin
    that passes without having rejected anything, or told nodes apart, causes a :class:`PluginNotExercised`,
    and one whose answers the equivalence cache cannot keep a :class:`PluginNotCached` with reason and price.

    *leave_out* maps names of checks to the reason why they are left out. Raises ``ValueError`` for a name
    that is none, :class:`schedframe.ConfigError` for *args* that do not fit.
    """
    __tracebackhide__ = True  # pytest shows the caller instead
    inspection = _Inspection.of(plugin, args, pods, nodes, objects, max_examples, max_shrinks, seed)
    failures = []
    for check in inspection.wanted(leave_out or {}):
        failure = inspection.run(check)
        if failure is not None:
            failures.append(failure)
            if check.name == "can_be_registered":
                break
    if failures:
        raise PluginCheckFailed(inspection.subject.name, failures)
    if not_cached := uncached(inspection.subject.name, plugin):
        warnings.warn(f"plugin {not_cached}", PluginNotCached, stacklevel=2)
    for nothing in idle(inspection.subject, inspection.worlds.all()):
        warnings.warn(
            f"plugin {inspection.subject.name} {nothing} in {max_examples} clusters, and little was checked; "
            "give check_plugin pods, nodes or objects that have what the plugin looks at",
            PluginNotExercised,
            stacklevel=2,
        )


def plugin_checks(
    plugin: Any,
    args: Any = None,
    *,
    pods: SearchStrategy[Pod] | None = None,
    nodes: SearchStrategy[Node] | None = None,
    objects: SearchStrategy[Sequence[Any]] | None = None,
    max_examples: int = DEFAULT_EXAMPLES,
    max_shrinks: int = DEFAULT_SHRINKS,
    seed: int = 0,
    leave_out: Mapping[str, str] | None = None,
) -> list[PluginCheck]:
    """The checks that concern *plugin*, one by one, for ``pytest.mark.parametrize`` (with ``ids=repr``).

    See :func:`check_plugin` for the arguments.
    """
    inspection = _Inspection.of(plugin, args, pods, nodes, objects, max_examples, max_shrinks, seed)
    name = inspection.subject.name
    return [
        PluginCheck(check.name, partial(inspection.run, check), name)
        for check in inspection.wanted(leave_out or {})
    ]


@define(eq=False)
class _Inspection:
    """One plugin with the worlds that it is tried in."""

    subject: Subject
    worlds: Worlds

    @classmethod
    def of(
        cls,
        plugin: Any,
        args: Any,
        pods: SearchStrategy[Pod] | None,
        nodes: SearchStrategy[Node] | None,
        objects: SearchStrategy[Sequence[Any]] | None,
        max_examples: int,
        max_shrinks: int,
        seed: int,
    ) -> _Inspection:
        subject = Subject(plugin, args)
        return cls(subject, Worlds.of(pods, nodes, objects, max_examples, max_shrinks, seed))

    def wanted(self, leave_out: Mapping[str, str]) -> Iterator[Check]:
        """The checks that concern the plugin."""
        known = {check.name for check in CHECKS}
        leave_out = {_present_name(name): reason for name, reason in leave_out.items()}
        if unknown := sorted(set(leave_out) - known):
            raise ValueError(f"there are no checks {unknown}; the checks are {', '.join(sorted(known))}")
        checks = CHECKS if self._look() else CHECKS[:1]
        return (check for check in checks if check.name not in leave_out and check.concerns(self.subject))

    def _look(self) -> bool:
        """Find out which hooks the plugin has; if it cannot be made, that is for the first check to say."""
        from .surroundings import StandInHandle

        try:
            self.subject.calls(self.subject.make(StandInHandle(self.worlds.first)))
        except Exception:  # noqa: BLE001 - can_be_registered, the first of the checks, reports it
            return False
        return True

    def run(self, check: Check) -> Failure | None:
        """The failure, if the plugin fails *check*."""
        worlds = self.worlds
        found = None
        for world in (worlds.first,) if check.once else worlds.all():
            found = self._violation(check, world)
            if found is not None:
                break
        if found is None:
            return None
        failing = (world, found)
        if check.once:
            return Failure(check.name, str(found), check.clause)
        if check.name == "nothing_is_changed":
            worlds.forget_if_changed()

        def fails(candidate: World) -> Violation | None:
            return self._violation(check, candidate)

        world, found = worlds.shrunk(failing, fails)
        if found.world is not None and (seen := fails(found.world)) is not None:
            world, found = found.world, seen
        world, found = without_the_rest((world, found), fails)
        return Failure(check.name, str(found), check.clause, world)

    def _violation(self, check: Check, world: World) -> Violation | None:
        try:
            check.run(self.subject, world)
        except Violation as violation:
            return violation
        except Trouble:
            return None  # for raises_nothing, answers_are_valid and waits_are_valid to report
        except (PluginError, ConfigError) as error:
            return Violation(str(error))
        return None


def _present_name(check: str) -> str:
    """Return the name of a check that was renamed."""
    present = _FORMER_NAMES.get(check)
    if present is None:
        return check
    warnings.warn(f"the check {check} is called {present} now", DeprecationWarning, stacklevel=5)
    return present


Fails = Callable[[World], "Violation | None"]


def without_the_rest(failing: tuple[World, Violation], fails: Fails) -> tuple[World, Violation]:
    """Leave out of a counterexample whatever it does not need."""
    world, violation = failing
    tried = 0
    progress = True
    while progress:
        progress = False
        for candidate in smaller(world):
            tried += 1
            if tried > _DELETIONS:
                return world, violation
            found = fails(candidate)
            if found is not None:
                world, violation, progress = candidate, found, True
                break
    return world, violation


@define(eq=False)
class Worlds:
    """Small clusters, made up once by Hypothesis and then used for every check."""

    strategy: SearchStrategy[World]
    max_examples: int
    max_shrinks: int
    seed: int
    _drawn: tuple[World, ...] = ()
    _contents: Any = None

    @classmethod
    def of(
        cls,
        pods: SearchStrategy[Pod] | None,
        nodes: SearchStrategy[Node] | None,
        objects: SearchStrategy[Sequence[Any]] | None,
        max_examples: int,
        max_shrinks: int,
        seed: int,
    ) -> Worlds:
        """Worlds of these strategies; those of the default ones are shared by all who ask for as many."""
        from .strategies import worlds

        if pods is not None or nodes is not None or objects is not None:
            strategy = worlds(pods=pods, nodes=nodes, objects=objects)
            return cls(strategy, max_examples, max_shrinks, seed)
        known = _SHARED.get((max_examples, max_shrinks, seed))
        if known is None:
            known = cls(worlds(), max_examples, max_shrinks, seed)
            _SHARED[max_examples, max_shrinks, seed] = known
        return known

    @property
    def first(self) -> World:
        """One of them; the others need not be made up for it."""
        return self._drawn[0] if self._drawn else self._draw(0)

    def all(self) -> tuple[World, ...]:
        """All of them."""
        if not self._drawn:
            self._drawn = tuple(self._draw(number) for number in range(self.max_examples))
            self._contents = contents(self._drawn)
        return self._drawn

    def _draw(self, number: int) -> World:
        """One world. Each comes from a run of its own: within a run, they are variations of one another."""
        drawn: list[World] = []
        self._engine(drawn.append, number, shrink=False)
        return drawn[-1]

    def forget_if_changed(self) -> None:
        """A plugin that changes what it is given must not spoil the checks that follow."""
        if self._drawn and contents(self._drawn) != self._contents:
            self._drawn = ()

    def shrunk(self, failing: tuple[World, Violation], fails: Fails) -> tuple[World, Violation]:
        """A smaller world in which the plugin fails too; the same if Hypothesis finds none."""
        if not self.max_shrinks or failing[0] not in self._drawn:
            return failing
        best: list[tuple[World, Violation]] = []
        steps = 0

        def again(world: World) -> None:
            nonlocal steps
            if best:
                steps += 1
                if steps > self.max_shrinks and world != best[-1][0]:
                    return
            found = fails(world)
            if found is not None:
                best.append((world, found))
                raise found

        self._engine(again, self._drawn.index(failing[0]), shrink=True)
        return best[-1] if best else failing

    def _engine(self, test: Callable[[World], None], number: int, *, shrink: bool) -> None:
        from hypothesis import HealthCheck, Phase, Verbosity, given, settings
        from hypothesis import seed as seeded
        from hypothesis.errors import Flaky

        phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
        options = settings(
            max_examples=2,  # the first is the simplest there is
            phases=phases,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
            verbosity=Verbosity.quiet,
        )
        try:
            seeded(_SEEDS * self.seed + number)(options(given(self.strategy)(_taking_one(test))))()
        except (Violation, Flaky):
            return  # what was found has been noted by *test*


def _taking_one(test: Callable[[World], None]) -> Callable[[World], None]:
    """Hypothesis looks at the signature and name of what it runs."""

    def of_a_world(world: World) -> None:
        test(world)

    return of_a_world


_SHARED: dict[tuple[int, int, int], Worlds] = {}

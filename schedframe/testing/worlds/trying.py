"""The clusters that a plugin is tried in, and how a counterexample is made smaller."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._base.value import record
from ..checks.fingerprint import contents
from ..checks.violation import Violation
from ..options import CheckOptions
from .world import World, smaller

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_SEEDS = 10_000
"""Runs of Hypothesis for one seed, at most."""
_DELETIONS = 200
"""Worlds that are tried at most when things are left out of a counterexample."""

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


@record(eq=False)
class Worlds:
    """Small clusters, made up once by Hypothesis and then used for every check."""

    strategy: SearchStrategy[World]
    max_examples: int
    max_shrinks: int
    seed: int
    _drawn: tuple[World, ...] = ()
    _contents: Any = None

    @classmethod
    def of(cls, options: CheckOptions) -> Worlds:
        """Return the worlds of *options*; those of the default strategies are shared."""
        from ..strategies import worlds

        numbers = (options["max_examples"], options["max_shrinks"], options["seed"])
        if options["pods"] is not None or options["nodes"] is not None or options["objects"] is not None:
            strategy = worlds(pods=options["pods"], nodes=options["nodes"], objects=options["objects"])
            return cls(strategy, *numbers)
        known = _SHARED.get(numbers)
        if known is None:
            known = _SHARED[numbers] = cls(worlds(), *numbers)
        return known

    @property
    def first(self) -> World:
        """One of them; the others need not be made up for it."""
        return self._drawn[0] if self._drawn else self._draw(0)

    def all(self) -> tuple[World, ...]:
        """Return all worlds."""
        if not self._drawn:
            self._drawn = tuple(self._draw(number) for number in range(self.max_examples))
            self._contents = contents(self._drawn)
        return self._drawn

    def _draw(self, number: int) -> World:
        """Draw one world, in a run of its own: worlds of one run are variations of one another."""
        drawn: list[World] = []
        self._engine(drawn.append, number, shrink=False)
        return drawn[-1]

    def forget_if_changed(self) -> None:
        """Drop worlds that a plugin changed, so that the checks that follow get what they expect."""
        if self._drawn and contents(self._drawn) != self._contents:
            self._drawn = ()

    def shrunk(self, failing: tuple[World, Violation], fails: Fails) -> tuple[World, Violation]:
        """Return a smaller world in which the plugin fails too; the same if Hypothesis finds none."""
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

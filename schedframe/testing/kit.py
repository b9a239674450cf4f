"""``check_plugin``: does a plugin keep the contract?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Unpack

from .._base.value import record
from ..errors import ConfigError, PluginError
from ..framework.caching import uncached
from .checks import CHECKS
from .checks.contract import Clause
from .checks.exercise import PluginNotCached, PluginNotExercised, idle
from .checks.probe import Trouble
from .checks.subject import Subject
from .checks.violation import Check, Violation
from .options import CheckOptions, check_options
from .stub_handle import StubHandle
from .worlds.trying import Worlds, without_the_rest
from .worlds.world import World


@record(frozen=True)
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


@record(frozen=True)
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


def check_plugin(plugin: Any, args: Any = None, **options: Unpack[CheckOptions]) -> None:
    """Raise :class:`PluginCheckFailed`, with all failures, if *plugin* breaks the contract.

    *plugin* is its class (or a function of ``(args, handle)``), *args* its arguments: an instance of the args
    class, JSON data, or ``None`` for the defaults. *options* are those of :class:`CheckOptions`.

    A plugin that passes without having rejected anything, or given nodes different scores, causes a
    :class:`PluginNotExercised`, and one whose answers the equivalence cache cannot keep a
    :class:`PluginNotCached` with reason and price.

    Raises ``ValueError`` for a name in ``leave_out`` that is no check, :class:`schedframe.ConfigError` for
    *args* that do not fit.
    """
    __tracebackhide__ = True  # pytest shows the caller instead
    inspection = _Inspection.of(plugin, args, check_options(options))
    failures: list[Failure] = []
    for check in inspection.wanted():
        if check.last and failures:
            continue
        failure = inspection.run(check)
        if failure is not None:
            failures.append(failure)
            if check.name == "can_be_registered":
                break
    if failures:
        raise PluginCheckFailed(inspection.subject.name, failures)
    if not_cached := uncached(inspection.subject.name, plugin):
        warnings.warn(f"plugin {not_cached}", PluginNotCached, stacklevel=2)
    clusters = inspection.options["max_examples"]
    for nothing in idle(inspection.subject, inspection.worlds.all()):
        warnings.warn(
            f"plugin {inspection.subject.name} {nothing} in {clusters} clusters, and "
            "little was checked; give check_plugin pods, nodes or objects that have what the plugin looks at",
            PluginNotExercised,
            stacklevel=2,
        )


def plugin_checks(plugin: Any, args: Any = None, **options: Unpack[CheckOptions]) -> list[PluginCheck]:
    """Return the checks that concern *plugin* for ``pytest.mark.parametrize`` (with ``ids=repr``).

    See :func:`check_plugin` for the arguments.
    """
    inspection = _Inspection.of(plugin, args, check_options(options))
    name = inspection.subject.name
    return [PluginCheck(check.name, partial(inspection.run, check), name) for check in inspection.wanted()]


@record(eq=False)
class _Inspection:
    """One plugin with the worlds that it is tried in."""

    subject: Subject
    worlds: Worlds
    options: CheckOptions

    @classmethod
    def of(cls, plugin: Any, args: Any, options: CheckOptions) -> _Inspection:
        return cls(Subject(plugin, args), Worlds.of(options), options)

    def wanted(self) -> Iterator[Check]:
        """Yield the checks that concern the plugin."""
        known = {check.name for check in CHECKS}
        leave_out = self.options["leave_out"] or {}
        if unknown := sorted(set(leave_out) - known):
            raise ValueError(f"there are no checks {unknown}; the checks are {', '.join(sorted(known))}")
        checks = CHECKS if self._look() else CHECKS[:1]
        return (check for check in checks if check.name not in leave_out and check.concerns(self.subject))

    def _look(self) -> bool:
        """Find out which hooks the plugin has; if it cannot be made, that is for the first check to say."""
        try:
            self.subject.calls(self.subject.make(StubHandle(self.worlds.first)))
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

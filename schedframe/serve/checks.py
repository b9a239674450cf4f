"""Health checks by name; the answers of ``/healthz``, ``/livez`` and ``/readyz`` as Kubernetes has them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from attrs import field

from .._base.value import record


@record(frozen=True)
class Check:
    """One condition. ``problem`` returns why it is not met, ``None`` if it is; an exception is a problem."""

    name: str
    problem: Callable[[], str | None]
    note: Callable[[], str | None] | None = None
    """Text that a verbose answer adds to a condition that is met."""

    def result(self) -> str | None:
        """Return the problem, that of an exception included."""
        try:
            return self.problem()
        except Exception as error:  # noqa: BLE001 - a check that fails is a condition that is not met
            return f"{type(error).__name__}: {error}"


def _met(check: Check) -> str:
    try:
        note = None if check.note is None else check.note()
    except Exception as error:  # noqa: BLE001 - the condition is met, whatever there is to say about it
        note = f"the note failed: {type(error).__name__}: {error}"
    return f"[+]{check.name} ok{f': {note}' if note else ''}"


def _no_problem() -> str | None:
    return None


PING = Check("ping", _no_problem)
"""Met whenever the server answers."""


@record(frozen=True)
class Answer:
    """Result of an endpoint."""

    is_ok: bool
    text: str


@record(eq=False)
class HealthChecks:
    """The checks of the process. A check of life fails only for what a restart mends."""

    live: list[Check] = field(factory=lambda: [PING])
    """Checks of ``/livez`` and ``/healthz``, and of ``/readyz`` too."""
    ready: list[Check] = field(factory=list)
    """Further checks of ``/readyz``."""

    def of(self, endpoint: str) -> Sequence[Check]:
        """Return the checks of ``livez``, ``healthz`` or ``readyz``."""
        return [*self.live, *self.ready] if endpoint == "readyz" else self.live

    def answer(self, endpoint: str, *, verbose: bool = False, excluded: Collection[str] = ()) -> Answer:
        """Return the answer of *endpoint* without the checks *excluded*: in lines if *verbose* or failed."""
        lines, is_ok = [], True
        for check in self.of(endpoint):
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok")
                continue
            problem = check.result()
            is_ok = is_ok and problem is None
            lines.append(_met(check) if problem is None else f"[-]{check.name} failed: {problem}")
        if unknown := sorted(set(excluded) - {check.name for check in self.of(endpoint)}):
            names = ", ".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if is_ok and not verbose:
            return Answer(True, "ok")
        return Answer(is_ok, "\n".join([*lines, f"{endpoint} check {'passed' if is_ok else 'failed'}", ""]))

    def single(self, endpoint: str, name: str) -> Answer | None:
        """Return the answer of one check; ``None`` if *endpoint* has none of that name."""
        check = next((each for each in self.of(endpoint) if each.name == name), None)
        if check is None:
            return None
        problem = check.result()
        return Answer(problem is None, "ok" if problem is None else f"{name} failed: {problem}\n")

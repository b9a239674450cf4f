"""Errors of this library. All derive from :class:`SchedframeError`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ._base.brief import brief_of, shortened

__all__ = [
    "ClusterError",
    "ConfigError",
    "InputError",
    "InputErrors",
    "InvariantError",
    "PluginError",
    "SchedframeError",
]


_LONGEST: Final = 2000
"""Characters of a part of a message; names and values of an input have any length."""


class SchedframeError(Exception):
    """Base of all errors of this library."""

    def __repr__(self) -> str:
        return brief_of(self, str(self))


class InputError(SchedframeError, ValueError):
    """A manifest or value that cannot be used.

    ``path`` is the field (``spec.containers[0].resources.requests.cpu``), ``problem`` says what is wrong
    with which value, ``fix`` what to do about it, ``location`` the file with its line, and the object.
    """

    def __init__(self, path: str, problem: str, fix: str = "", *, location: str = "") -> None:
        self.path = path
        self.problem = shortened(problem, _LONGEST)
        self.fix = shortened(fix, _LONGEST)
        self.location = location
        where = ": ".join(shortened(part, _LONGEST) for part in (location, path) if part)
        text = f"{where}: {self.problem}" if where else self.problem
        super().__init__(f"{text}; {self.fix}" if fix else text)

    def __reduce__(self) -> tuple[Any, ...]:
        # BaseException would call the class with the text alone.
        return _restored, (type(self), self.path, self.problem, self.fix, self.location)

    @property
    def errors(self) -> tuple[InputError, ...]:
        """The single problems; this one alone, unless it is an :class:`InputErrors`."""
        return (self,)

    def at(self, prefix: str) -> InputError:
        """Return the same error one level further out, with *prefix* in front of the path."""
        if not self.path:
            path = prefix
        elif self.path.startswith("["):
            path = prefix + self.path
        else:
            path = f"{prefix}.{self.path}" if prefix else self.path
        return self.moved(path, self.location)

    def in_location(self, location: str) -> InputError:
        """Return the same error with the file and document it was found in."""
        return self.moved(self.path, location)

    def moved(self, path: str, location: str) -> InputError:
        """Return the same error with another path and location."""
        return InputError(path, self.problem, self.fix, location=location)


class InputErrors(InputError):
    """Several problems of one input, in its order. The attributes are those of the first one.

    The text has a line for each.
    """

    def __init__(self, errors: Iterable[InputError]) -> None:
        self._errors = tuple(errors)
        first = self._errors[0]
        super().__init__(first.path, first.problem, first.fix, location=first.location)

    @staticmethod
    def of(errors: Iterable[InputError]) -> InputError:
        """Return the one error that there is, or all as one."""
        every = tuple(errors)
        return every[0] if len(every) == 1 else InputErrors(every)

    @property
    def errors(self) -> tuple[InputError, ...]:
        """The single problems."""
        return self._errors

    def at(self, prefix: str) -> InputError:
        """Return the same errors one level further out."""
        return InputErrors(error.at(prefix) for error in self._errors)

    def in_location(self, location: str) -> InputError:
        """Return the same errors with the file and document they were found in."""
        return InputErrors(error.in_location(location) for error in self._errors)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._errors,)

    def __str__(self) -> str:
        return "\n".join(map(str, self._errors))


class Problems:
    """Collects the errors of several steps, to raise all of them at once."""

    def __init__(self) -> None:
        self.errors: list[InputError] = []

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keep an :class:`InputError` that is raised inside."""
        try:
            yield
        except InputError as error:
            self.errors += error.errors

    def raise_any(self) -> None:
        """Raise the error, or all as one :class:`InputErrors`; nothing if there are none."""
        if self.errors:
            raise InputErrors.of(self.errors)


def _restored(cls: type[InputError], path: str, problem: str, fix: str, location: str) -> InputError:
    return cls(path, problem, fix, location=location)


class ConfigError(SchedframeError, ValueError):
    """A configuration that is refused. The subclass names the stage, ``errors`` the fields."""


class PluginError(SchedframeError):
    """A plugin broke the contract: it cannot be registered, or its answer is invalid."""


class InvariantError(SchedframeError, AssertionError):
    """``check_invariants`` found a structure inconsistent. Always a bug of this library."""


class CacheFault(SchedframeError):
    """The equivalence cache failed: a bug of this library, without consequence for any decision.

    The message names the pod, its class and the state of the node table; the cause is the exception.
    """


class VerificationError(CacheFault):
    """The equivalence cache decided otherwise than the full search; the latter counts."""


class ClusterError(SchedframeError):
    """The cluster refused a request or did not answer it."""

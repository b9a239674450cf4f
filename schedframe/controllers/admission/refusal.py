"""The error for an object that an admission plugin refuses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import InputError
from .parts import AdmissionPart


class AdmissionRefused(InputError):
    """An object that the API server would answer with 403 Forbidden; ``part`` is the plugin that refuses.

    ``errors`` has all reasons of that plugin, this one first.
    """

    def __init__(
        self,
        part: AdmissionPart,
        path: str,
        problem: str,
        fix: str = "",
        *,
        location: str = "",
        others: Iterable[AdmissionRefused] = (),
    ) -> None:
        self.part = part
        self._others = tuple(others)
        super().__init__(path, problem, fix, location=location)

    @property
    def errors(self) -> tuple[InputError, ...]:
        """All reasons, this one first."""
        return (self, *self._others)

    @property
    def reason(self) -> str:
        """The problem, and the part that finds it."""
        return f"{self.part}: {self.problem}"

    def at(self, prefix: str) -> AdmissionRefused:
        """Return the same error one level further out."""
        return self._with(super().at(prefix), tuple(other.at(prefix) for other in self._others))

    def in_location(self, location: str) -> AdmissionRefused:
        """Return the same error with the file and object it was found in."""
        others = tuple(other.in_location(location) for other in self._others)
        return self._with(super().in_location(location), others)

    def _with(self, error: InputError, others: tuple[AdmissionRefused, ...]) -> AdmissionRefused:
        return AdmissionRefused(
            self.part, error.path, error.problem, error.fix, location=error.location, others=others
        )

    def __str__(self) -> str:
        return "\n".join((super().__str__(), *map(str, self._others)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.part, self.path, self.problem, self.fix, self.location, self._others)


def _restored(
    part: AdmissionPart,
    path: str,
    problem: str,
    fix: str,
    location: str,
    others: tuple[AdmissionRefused, ...],
) -> AdmissionRefused:
    return AdmissionRefused(part, path, problem, fix, location=location, others=others)


def raise_all(refusals: list[AdmissionRefused]) -> None:
    """Raise the first of *refusals* with the others; nothing if there are none."""
    if refusals:
        first, *others = refusals
        raise first._with(first, tuple(others))

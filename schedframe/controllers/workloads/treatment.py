"""Ways to treat workloads."""

from __future__ import annotations

from enum import StrEnum

from ...errors import InputError


class Workloads(StrEnum):
    """Treatment of workloads among the objects."""

    AUTO = "auto"
    """Make the pods of workloads that have none."""
    EXPAND = "expand"
    """Make the pods that are missing, also of workloads that have some."""
    IGNORE = "ignore"
    """Make no pods."""

    @classmethod
    def of(cls, value: Workloads | str) -> Workloads:
        """Return the member *value*. Raises :class:`InputError` if there is none."""
        if value not in tuple(cls):
            raise InputError("workloads", f"unknown value {value!r}", f"use {', '.join(cls)}")
        return cls(value)

"""The questions that ``check_plugin`` asks, in the order in which it asks them."""

from __future__ import annotations

from . import answering, claims, counting, forms, hints, making, purity, reserving, scoring

CHECKS = (
    *making.CHECKS,
    *purity.CHECKS[:1],  # before anything else, which a changed pod or node would confuse
    *reserving.CHECKS,
    *answering.CHECKS,
    *purity.CHECKS[1:],
    *forms.CHECKS,
    *claims.CHECKS,
    *counting.CHECKS,
    *scoring.CHECKS,
    *hints.CHECKS,
)

__all__ = ["CHECKS"]

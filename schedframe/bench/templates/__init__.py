"""Templates: the benchmarks of ``schedframe bench --template``, as small declarations."""

from __future__ import annotations

from .catalogue import TEMPLATES, Template

__all__ = ["TEMPLATES", "Template"]

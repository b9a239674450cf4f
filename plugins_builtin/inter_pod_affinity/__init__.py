"""InterPodAffinity: pods that want to be, or must not be, in one topology domain with others."""

from __future__ import annotations

from .plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]

"""The volume controller and the provisioner: claims get their volumes, or new ones."""

from __future__ import annotations

from .binder import ClaimBinder
from .bound_volumes import BoundVolumes

__all__ = ["BoundVolumes", "ClaimBinder"]

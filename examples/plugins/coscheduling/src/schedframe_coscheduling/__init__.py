"""Gang scheduling: pods of a group start together or not at all."""

from __future__ import annotations

from .args import CoschedulingArgs
from .groups import POD_GROUP_LABEL, PodGroup, PodGroupSpec
from .plugin import Coscheduling

__all__ = ["POD_GROUP_LABEL", "Coscheduling", "CoschedulingArgs", "PodGroup", "PodGroupSpec"]

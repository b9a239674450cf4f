"""Queue order by priority, then by quality of service class, then by age."""

from __future__ import annotations

from .plugin import QOSSort
from .qos import QOSClass, qos_class

__all__ = ["QOSClass", "QOSSort", "qos_class"]

"""Extenders over HTTP: a client for the scheduler, and a server that runs plugins for another scheduler."""

from __future__ import annotations

from .encoding import Encoding
from .http_extender import HttpExtender

__all__ = ["Encoding", "HttpExtender"]

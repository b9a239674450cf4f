"""Extenders over HTTP: a client for the scheduler. Needs the extra ``extenders``."""

from __future__ import annotations

from . import _needed as _needed
from .encoding import Encoding
from .http_extender import HttpExtender

__all__ = ["Encoding", "HttpExtender"]

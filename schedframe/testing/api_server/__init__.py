"""An API server for tests: in this process, over real HTTP, with faults by script or by chance.

Needs the extras ``kubernetes`` and ``testing``. ``docs/how-to/test-against-an-api-server.md`` shows its use.
"""

from __future__ import annotations

from . import _needed as _needed
from .access import AccessRules, Rule
from .faults import MIX, STREAM_MIX, Fault, FaultKind, Faults, RandomFaults
from .kinds import ServedKind
from .objects import Objects
from .refusals import Refusal
from .requests import Request
from .server import ApiServer
from .store import Change, Store

__all__ = [
    "MIX",
    "STREAM_MIX",
    "AccessRules",
    "ApiServer",
    "Change",
    "Fault",
    "FaultKind",
    "Faults",
    "Objects",
    "RandomFaults",
    "Refusal",
    "Request",
    "Rule",
    "ServedKind",
    "Store",
]

"""What a plugin may raise without ending the scheduler. Apart from the other errors: asyncio loads slowly."""

from __future__ import annotations

from asyncio import CancelledError
from typing import Final

PLUGIN_FAULTS: Final = (Exception, CancelledError)
"""A hook runs in a plain function, which is never cancelled: a ``CancelledError`` in it is the
plugin's own, such as that of a loop that it ran.
"""

"""Imported first: reports a missing extra with the command that installs it."""

from ..._base.extras import require

require("kubernetes", "a real cluster", "httptools", "msgspec")

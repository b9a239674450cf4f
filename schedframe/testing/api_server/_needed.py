"""Imported first: reports a missing extra with the command that installs it."""

from ..._base.extras import require

require("kubernetes,testing", "the API server for tests", "aiohttp", "httptools", "msgspec")

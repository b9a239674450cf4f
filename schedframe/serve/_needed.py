"""Imported first: reports a missing extra with the command that installs it."""

from .._base.extras import require

require("serve", "serving over HTTP", "httptools", "msgspec", "starlette", "uvicorn", "cryptography")

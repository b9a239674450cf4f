"""Imported first: reports a missing extra with the command that installs it."""

from .._base.extras import require

require("extenders", "an extender over HTTP", "httptools")

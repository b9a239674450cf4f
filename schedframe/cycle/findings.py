"""Lines of the log about a profile before its first pod."""

from __future__ import annotations

from logging import INFO

from ..framework import Framework
from ..framework.caching import uncached_of
from ..framework.unreached import unreached_binders
from .core import logger


def log_findings(framework: Framework) -> None:
    """Log which plugins of a profile are slow for want of a declaration, and which are never called."""
    if logger.isEnabledFor(INFO) and (uncached := uncached_of(framework.plan.plugins)):
        logger.info("profile %s: %s", framework.profile_name, ". ".join(map(str, uncached)))
    if unreached := unreached_binders(framework.plan):
        logger.warning("profile %s: %s", framework.profile_name, unreached)

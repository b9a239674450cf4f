"""Settings of the whole test suite."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.conformance.reporting import (  # noqa: F401 - hooks must live where pytest looks before collection
    pytest_addoption,
    pytest_report_teststatus,
    pytest_terminal_summary,
)

# Nothing here may depend on how fast the machine is today.
settings.register_profile("schedframe", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("schedframe")

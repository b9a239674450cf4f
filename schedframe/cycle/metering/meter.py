"""The meter: an observer that counts what kube-scheduler counts, and gives it as plain values."""

from __future__ import annotations

from ..._base.value import record
from ...errors import InputError
from .collect import collect
from .counts import Counts
from .families import MetricFamily
from .statistics import Statistics, statistics_of


@record(eq=False)
class Meter(Counts):
    """Counts one scheduler: ``meter = Meter()``, ``Scheduler(cluster, observers=[meter])``.

    Calls of plugins are timed in one of ``cycles_per_sample`` cycles; 1: in all, which takes some
    microseconds more for each attempt. :class:`schedframe.metrics.SchedulerMetrics` shows it to Prometheus.
    """

    def statistics(self) -> Statistics:
        """Return counts and latencies so far: plain numbers, ``to_dict()``, and a table to print.

        To be called in the scheduler's thread, or while it is stopped. Raises :class:`InputError` if no
        scheduler has this observer.
        """
        self._check_attached()
        return statistics_of(self)

    def families(self) -> list[MetricFamily]:
        """Return all metrics that have samples. Any thread. Raises as :meth:`statistics`."""
        self._check_attached()
        return collect(self)

    def _check_attached(self) -> None:
        if not self.is_attached:
            raise InputError("observers", "this meter counts for no scheduler", "pass observers=[meter]")

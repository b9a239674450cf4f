"""PodTopologySpread: bound or reduce the skew of matching pods between topology domains.

===============  ==============================================================================
``plugin``       the hooks; the pod's own constraints or the default ones
``constraints``  constraints compiled for a pod: selector, and the nodes that count
``filtering``    DoNotSchedule: matching pods per domain, and the limit that max_skew sets
``scoring``      ScheduleAnyway: weighted numbers of matching pods, and their normalization
``explain``      which domain has too many pods, and the distribution of pods
``hints``        which events may help a rejected pod
===============  ==============================================================================

*Skew* is the number of matching pods in a domain minus the smallest such number. Matching pods are counted by
columns of the node table, so no path loops over pods.
"""

from __future__ import annotations

from .plugin import ERR_REASON_CONSTRAINTS, ERR_REASON_LABEL, PodTopologySpread

__all__ = ["ERR_REASON_CONSTRAINTS", "ERR_REASON_LABEL", "PodTopologySpread"]

"""Former names of Kubernetes: what kube-scheduler had from v1.15 to v1.22, and v1 has no more.

``config`` turns policies, algorithm providers and configurations of v1alpha1 to v1beta3 into ones of v1;
``plugins`` has the plugins that these may need, as entry points; ``flags`` and ``run_flags`` are about flags.
Only commands import this package, and the registry when a configuration names one of its plugins: without
that, a configuration of v1 is read, and pods are scheduled by it, without this package.
"""

from __future__ import annotations

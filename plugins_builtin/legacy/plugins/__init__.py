"""Plugins of Kubernetes v1.15 to v1.22 that ``kubescheduler.config.k8s.io/v1`` has no more.

Each is an entry point under its name and enabled by no default. ``schedframe config migrate`` uses them where
no plugin of today makes the same decision. The catalogue does not list them: ``load_config`` alone refuses
their names, as kube-scheduler does; a scheduler, whose registry has them, accepts them.
"""

from __future__ import annotations

"""Metrics as kube-scheduler names them: definitions, what is counted, and the figures of one moment.

Nothing here needs a metrics library: :mod:`schedframe.metrics` exposes the figures to Prometheus.
"""

"""Commands that read manifests or a cluster and change nothing: ``schedule``, ``explain``, ``snapshot``."""

"""Plugins for groups of pods, behind the feature gates of Kubernetes v1.36."""

"""The scheduling cycle of a pod group. See docs/explanation/pod-groups.md."""

"""Use of nodes: whether a pod fits, how well it fits, and how evenly it leaves a node used."""

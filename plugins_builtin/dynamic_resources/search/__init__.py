"""The search for devices on one node: what claims demand, what is left, and the first solution in order."""

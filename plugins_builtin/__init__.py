"""The in-tree plugins of the reference, built on the public names of schedframe alone."""

"""The in-tree plugins of kube-scheduler v1.36, built on the public names of schedframe alone.

``catalogue`` lists them with extension points, default order and weights, ``args`` has their arguments. Each
plugin is a module or a package named after it; modules with a leading underscore are shared by several.
"""

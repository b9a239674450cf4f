"""The same 200 pods before kube-scheduler and before this scheduler: conditions and events, field by field.

``manifests`` says what is created, in waves; ``record`` creates it on an API server, whichever scheduler runs
there, and writes down what that scheduler said of each pod. The file in ``data`` is such a recording of
kube-scheduler v1.36.2. ``test_comparison`` drives the same waves through this scheduler against the API
server double, and compares.
"""

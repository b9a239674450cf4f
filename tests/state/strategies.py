"""What the state machines draw from: few names, so that things meet."""

from __future__ import annotations

from hypothesis import strategies as st

from schedframe.api import HostPort
from schedframe.state.resource_columns import LARGEST_SUM

from .build import FPGA, GPU, make_node, make_pod

NODE_NAMES = ("n0", "n1", "n2", "n3")
POD_NAMES = tuple(f"p{i}" for i in range(8))
ZONES = ("east", "west", "north")

node_names = st.sampled_from(NODE_NAMES)
pod_names = st.sampled_from(POD_NAMES)

requests = st.dictionaries(
    st.sampled_from(("cpu", "memory", "ephemeral-storage", "pods", GPU, FPGA, "hugepages-2Mi")),
    st.integers(0, 5) | st.sampled_from((2**47, 2**62, LARGEST_SUM)),
    max_size=4,
)
host_ports = st.lists(
    st.builds(
        HostPort,
        host_ip=st.sampled_from(("0.0.0.0", "10.0.0.1", "10.0.0.2")),
        protocol=st.sampled_from(("TCP", "UDP")),
        port=st.sampled_from((80, 443)),
    ),
    max_size=2,
)
pod_labels = st.dictionaries(st.just("app"), st.sampled_from(("web", "db")), max_size=1)
pods = st.builds(make_pod, pod_names, requests=requests, ports=host_ports, labels=pod_labels)

node_labels = st.dictionaries(st.sampled_from(("zone", "disk")), st.sampled_from(ZONES), max_size=2)
nodes = st.builds(
    make_node,
    node_names,
    st.dictionaries(st.sampled_from(("cpu", "memory", "pods", GPU, FPGA)), st.integers(0, 100)),
    labels=node_labels,
    images=st.dictionaries(st.sampled_from(("nginx", "redis")), st.integers(1, 5)),
    unschedulable=st.booleans(),
)

"""InterPodAffinity: required and preferred affinity and anti-affinity between pods in a topology domain.

``incoming`` is the pod that is being scheduled, ``existing`` are the pods on nodes. Every rule becomes a
number per topology domain, and the domain counters of the node table keep these numbers current; so an
answer costs O(nodes) in a few passes over arrays, and no loop over pods.

==================  ====================================================================================
``plugin``          the hooks
``terms``           affinity terms of a pod, compiled, with ``matchLabelKeys`` merged
``counters``        ``TermCounter``: which pods count, with which weight, by the values of one node label
``existing_terms``  terms of existing pods that match the incoming pod, and the counters it needs; cached
``domain_counts``   ``DomainCounts``: the counts of one counter, with the changes of a dry run
``filtering``       required terms: per node, by rows, by group
``scoring``         preferred terms: per node, by rows, by group
``explain``         which term and which pod reject a node
``hints``           which events may help a rejected pod
==================  ====================================================================================
"""

from __future__ import annotations

from .plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]

"""Admission of an object before an API server stores it: defaults, mutating and validating admission.

Rules: Kubernetes v1.36, with its default feature gates and admission plugins. ``ServiceAccount``,
``PodSecurity``, webhooks and policies are not played.
"""

from .admission import Admission, Admitted
from .changes import Change
from .parts import DEEDS, AdmissionPart
from .refusal import AdmissionRefused

__all__ = ["DEEDS", "Admission", "AdmissionPart", "AdmissionRefused", "Admitted", "Change"]

"""The status of ValidatingAdmissionPolicies: which generation has been type-checked.

Left out: the type check itself, so that there are never warnings about expressions.
Source: kubernetes pkg/controller/validatingadmissionpolicystatus.
"""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.api.server import Api
from simcluster.control.controller import Controller
from simcluster.engine import Simulation

POLICIES = "validatingadmissionpolicies.admissionregistration.k8s.io"


class ValidatingAdmissionPolicyStatusController(Controller):
    """Work-queue keys are policies."""

    name = "validatingadmissionpolicy-status-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        self.watch(POLICIES, self.enqueue_object)

    def sync(self, namespace: str, name: str) -> None:
        """Report on one policy, once for each generation."""
        policy = self.client.cache.get(POLICIES, "", name)
        if policy is None:
            return
        generation = policy["metadata"].get("generation", 1)
        if (policy.get("status") or {}).get("observedGeneration") == generation:
            return
        status: Json = {"observedGeneration": generation, "typeChecking": {}}
        self.client.patch(POLICIES, "", name, {"status": status}, kind="merge", subresource="status")

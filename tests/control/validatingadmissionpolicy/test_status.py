"""Every generation of a policy is reported as checked."""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.request import ADMIN
from simcluster.api.server import Api
from simcluster.control.validatingadmissionpolicy import ValidatingAdmissionPolicyStatusController
from simcluster.engine import SECOND, Simulation

POLICIES = "validatingadmissionpolicies.admissionregistration.k8s.io"


def test_generations() -> None:
    api = Api(Simulation(1))
    ValidatingAdmissionPolicyStatusController(api.sim, api)
    client = Client(api, ADMIN, "kubectl")
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "object.spec.replicas < 3"}]}
    client.create(POLICIES, "", {"metadata": {"name": "p"}, "spec": spec})
    api.sim.run_for(SECOND)
    assert client.get(POLICIES, "", "p")["status"] == {"observedGeneration": 1, "typeChecking": {}}
    client.patch(POLICIES, "", "p", {"spec": {"failurePolicy": "Ignore"}}, kind="merge")
    api.sim.run_for(SECOND)
    assert client.get(POLICIES, "", "p")["status"]["observedGeneration"] == 2

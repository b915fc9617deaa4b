"""Quotas that look at some pods only."""

from __future__ import annotations

from typing import Any

import pytest

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.resourcequota import ResourceQuotaController
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import pod_object

TERM = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "kubernetes.io/hostname"}


def apart(**more: Any) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [{**TERM, **more}]}
    return {"affinity": {"podAntiAffinity": required}}


PODS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sized": {"cpu": "100m"},
    "bounded": {"activeDeadlineSeconds": 100},
    "urgent": {"priorityClassName": "urgent"},
    "near": apart(),
    "far": apart(namespaces=["other"]),
    "anywhere": apart(namespaceSelector={}),
}


class Cluster:
    def __init__(self, **spec: Any) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        self.controller = ResourceQuotaController(self.sim, self.api)
        self.user.create("priorityclasses.scheduling.k8s.io", "", {"metadata": {"name": "urgent"}, "value": 10})
        body = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}, **spec}}
        self.user.create("resourcequotas", "default", body)
        self.sim.run_for(SECOND)

    def refused(self) -> set[str]:
        found = set()
        for name, spec in PODS.items():
            try:
                self.user.create("pods", "default", pod_object(name, **spec))
            except ApiError as error:
                if error.message.endswith("exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0"):
                    found.add(name)
        return found


def selecting(operator: str, *values: str) -> dict[str, Any]:
    term: dict[str, Any] = {"scopeName": "PriorityClass", "operator": operator}
    return {"scopeSelector": {"matchExpressions": [{**term, "values": list(values)} if values else term]}}


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        ({}, set(PODS)),
        ({"scopes": ["BestEffort"]}, set(PODS) - {"sized"}),
        ({"scopes": ["NotBestEffort"]}, {"sized"}),
        ({"scopes": ["Terminating"]}, {"bounded"}),
        ({"scopes": ["NotTerminating"]}, set(PODS) - {"bounded"}),
        ({"scopes": ["CrossNamespacePodAffinity"]}, {"far", "anywhere"}),
        (selecting("In", "urgent"), {"urgent"}),
        (selecting("NotIn", "urgent"), set(PODS) - {"urgent"}),
        (selecting("Exists"), {"urgent"}),
        (selecting("DoesNotExist"), set(PODS) - {"urgent"}),
        ({"scopes": ["BestEffort", "NotTerminating"]}, set(PODS) - {"sized", "bounded"}),
    ],
)
def test_which_pods_a_quota_sees(spec: dict[str, Any], refused: set[str]) -> None:
    assert Cluster(**spec).refused() == refused

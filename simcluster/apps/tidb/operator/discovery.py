"""The discovery service that the operator runs beside every cluster.

Source: tidb-operator v1.6, tidb_discovery_manager.go. PD members here find each other by
their headless Service, so nothing depends on it but the list of pods.
"""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.apps.tidb.operator.cluster import Cluster
from simcluster.apps.tidb.operator.services import metadata

_RULES: list[Json] = [
    {"apiGroups": ["pingcap.com"], "resources": ["tidbclusters", "dmclusters"], "verbs": ["get"]},
    {"apiGroups": ["pingcap.com"], "resources": ["tidbmonitors"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]},
]
_ROLES = "rbac.authorization.k8s.io"


def discovery_objects(cluster: Cluster, image: str) -> list[tuple[str, Json]]:
    """Role, account, binding, Deployment and Service, in the order in which they are made."""
    name = f"{cluster.name}-discovery"
    meta = metadata(cluster, "discovery", name)
    subject = {"kind": "ServiceAccount", "name": name, "namespace": cluster.namespace}
    reference = {"apiGroup": _ROLES, "kind": "Role", "name": name}
    ports = [{"name": "discovery", "port": 10261}, {"name": "proxy", "port": 10262}]
    container: Json = {
        "name": "discovery",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/usr/local/bin/tidb-discovery"],
        "env": [
            {"name": "MY_POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "TZ", "value": str(cluster.spec.get("timezone") or "UTC")},
            {"name": "TC_NAME", "value": cluster.name},
        ],
        "ports": [{"name": port["name"], "containerPort": port["port"]} for port in ports],
    }
    template: Json = {
        "metadata": {"labels": cluster.labels("discovery")},
        "spec": {"serviceAccountName": name, "containers": [container]},
    }
    spec: Json = {"replicas": 1, "selector": {"matchLabels": cluster.labels("discovery")}, "template": template}
    made: list[tuple[str, Json]] = [
        (f"roles.{_ROLES}", {"apiVersion": f"{_ROLES}/v1", "kind": "Role", "rules": _RULES}),
        ("serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount"}),
        (
            f"rolebindings.{_ROLES}",
            {"apiVersion": f"{_ROLES}/v1", "kind": "RoleBinding", "subjects": [subject], "roleRef": reference},
        ),
        ("deployments.apps", {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}),
        (
            "services",
            {
                "apiVersion": "v1",
                "kind": "Service",
                "spec": {"type": "ClusterIP", "ports": ports, "selector": cluster.labels("discovery")},
            },
        ),
    ]
    return [(resource, {**obj, "metadata": meta}) for resource, obj in made]

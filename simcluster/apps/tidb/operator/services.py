"""Services and ConfigMaps of a TidbCluster. Source: tidb-operator v1.6, pkg/manager/member/*_member_manager.go."""

from __future__ import annotations

import hashlib
import json

from simcluster.api.objects import Json, owner_reference
from simcluster.apps.tidb.operator.cluster import Cluster
from simcluster.apps.tidb.operator.scripts import start_script, toml

_PEERS = {
    "pd": (("tcp-peer-2380", 2380), ("tcp-peer-2379", 2379)),
    "tikv": (("peer", 20160),),
    "tidb": (("status", 10080),),
}
_CLIENTS = {"pd": (("client", 2379),), "tidb": (("mysql-client", 4000), ("status", 10080))}


def metadata(cluster: Cluster, kind: str, name: str, use: str = "") -> Json:
    """Metadata of an object that belongs to the cluster."""
    labels = cluster.labels(kind)
    if use:
        labels["app.kubernetes.io/used-by"] = use
    owner = owner_reference(cluster.object)
    return {"name": name, "namespace": cluster.namespace, "labels": labels, "ownerReferences": [owner]}


def services(cluster: Cluster, kind: str) -> list[Json]:
    """The Services of a component: for clients, and headless for its peers."""
    made = []
    if kind in _CLIENTS:
        made.append(_client_service(cluster, kind))
    made.append(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(cluster, kind, f"{cluster.set_name(kind)}-peer", "peer"),
            "spec": {
                "clusterIP": "None",
                "ports": _ports(_PEERS[kind]),
                "publishNotReadyAddresses": True,
                "selector": cluster.labels(kind),
            },
        }
    )
    return [service for service in made if service]


def _client_service(cluster: Cluster, kind: str) -> Json:
    spec = (cluster.component(kind) or {}).get("service")
    if kind == "tidb" and spec is None:
        return {}  # without spec.tidb.service the operator makes none
    spec = spec or {}
    meta = metadata(cluster, kind, cluster.set_name(kind), "end-user")
    if spec.get("annotations"):
        meta["annotations"] = dict(spec["annotations"])
    made: Json = {
        "ports": _ports(_CLIENTS[kind]),
        "selector": cluster.labels(kind),
        "type": spec.get("type", "ClusterIP"),
    }
    if kind == "tidb" and made["type"] != "ClusterIP":
        made["externalTrafficPolicy"] = spec.get("externalTrafficPolicy", "Cluster")
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": made}


def _ports(ports: tuple[tuple[str, int], ...]) -> list[Json]:
    return [{"name": name, "port": port, "protocol": "TCP", "targetPort": port} for name, port in ports]


def config_map(cluster: Cluster, kind: str) -> Json:
    """Configuration and start script of a component; with the strategy RollingUpdate its name follows its content."""
    spec = cluster.component(kind) or {}
    data = {"config-file": toml(spec.get("config") or {}), "startup-script": start_script(kind)}
    name = cluster.set_name(kind)
    strategy = cluster.inherited(kind, "configUpdateStrategy") or "InPlace"
    if strategy == "RollingUpdate":
        digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
        name = f"{name}-{digest[:7]}"
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(cluster, kind, name), "data": data}

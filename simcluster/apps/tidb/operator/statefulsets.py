"""StatefulSets of a TidbCluster. Source: tidb-operator v1.6, getNew{PD,TiKV,TiDB}SetForTidbCluster.

What the spec says of pods is copied as it stands: the operator does not check tolerations,
affinity or security contexts, the API server does when the StatefulSet is written. Left out:
TLS, host network, additional containers and volumes, storage volumes, lifecycle hooks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import Json, thaw
from simcluster.apps.tidb.operator.cluster import Cluster
from simcluster.apps.tidb.operator.services import metadata

LAST_APPLIED = "pingcap.com/last-applied-configuration"
_PORTS = {
    "pd": (("server", 2380), ("client", 2379)),
    "tikv": (("server", 20160),),
    "tidb": (("server", 4000), ("status", 10080)),
}
_METRICS = {"pd": 2379, "tikv": 20180, "tidb": 10080}
_SLOW_LOG = "/var/log/tidb/slowlog"
_POD_KEYS = ("affinity", "nodeSelector", "schedulerName", "priorityClassName", "imagePullSecrets", "hostNetwork",
             "terminationGracePeriodSeconds", "topologySpreadConstraints")  # fmt: skip


def stateful_set(cluster: Cluster, kind: str, config_map: str) -> Json:
    """The StatefulSet that a component should have, before scaling and upgrading have their say.

    Its partition is the number of replicas: nothing is upgraded until the operator says so.
    """
    spec = cluster.component(kind) or {}
    labels = cluster.labels(kind)
    annotations = {
        "prometheus.io/path": "/metrics",
        "prometheus.io/port": str(_METRICS[kind]),
        "prometheus.io/scrape": "true",
        **(cluster.inherited(kind, "annotations") or {}),
    }
    wanted: Json = {
        "podManagementPolicy": "Parallel",
        "replicas": cluster.replicas(kind),
        "selector": {"matchLabels": labels},
        "serviceName": f"{cluster.set_name(kind)}-peer",
        "template": {
            "metadata": {"labels": labels, "annotations": annotations},
            "spec": _pod(cluster, kind, config_map),
        },
        "updateStrategy": _strategy(cluster, kind),
    }
    if kind != "tidb":
        wanted["volumeClaimTemplates"] = [_claim(cluster, kind, spec)]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(cluster, kind, cluster.set_name(kind)),
        "spec": wanted,
    }


def _strategy(cluster: Cluster, kind: str) -> Json:
    """OnDelete if the spec says exactly that; any other word means RollingUpdate, steered by the operator."""
    if cluster.inherited(kind, "statefulSetUpdateStrategy") == "OnDelete":
        return {"type": "OnDelete"}
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": cluster.replicas(kind)}}


def _claim(cluster: Cluster, kind: str, spec: Mapping[str, Any]) -> Json:
    storage = (spec.get("requests") or {}).get("storage")
    claim: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    if spec.get("storageClassName") is not None:
        claim["storageClassName"] = spec["storageClassName"]
    return {"metadata": {"name": kind}, "spec": claim}


def _pod(cluster: Cluster, kind: str, config_map: str) -> Json:
    spec = cluster.component(kind) or {}
    pod: Json = {"containers": [_container(cluster, kind, spec)], "volumes": _volumes(kind, config_map)}
    if kind == "tidb":
        pod["containers"].insert(0, _slow_log(cluster))
        pod["volumes"].append({"name": "slowlog", "emptyDir": {}})
    for key in _POD_KEYS:
        value = cluster.inherited(kind, key)
        if value:
            pod[key] = thaw(value) if isinstance(value, Mapping) else value
    tolerations = cluster.inherited(kind, "tolerations")
    if tolerations:
        pod["tolerations"] = [dict(toleration) for toleration in tolerations]
    context = cluster.inherited(kind, "podSecurityContext")
    if context:
        pod["securityContext"] = thaw(context)
    account = spec.get("serviceAccount") or cluster.spec.get("serviceAccount")
    if account:
        pod["serviceAccountName"] = account
    pod["restartPolicy"] = "Always"
    return pod


def _container(cluster: Cluster, kind: str, spec: Mapping[str, Any]) -> Json:
    container: Json = {
        "name": kind,
        "image": cluster.image(kind),
        "imagePullPolicy": cluster.inherited(kind, "imagePullPolicy") or "IfNotPresent",
        "command": ["/bin/sh", f"/usr/local/bin/{kind}_start_script.sh"],
        "env": _environment(cluster, kind) + [dict(entry) for entry in cluster.inherited(kind, "env") or ()],
        "ports": [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in _PORTS[kind]],
        "resources": _resources(spec),
        "volumeMounts": [
            {"name": "annotations", "mountPath": "/etc/podinfo", "readOnly": True},
            {"name": "config", "mountPath": f"/etc/{kind}", "readOnly": True},
            {"name": "startup-script", "mountPath": "/usr/local/bin", "readOnly": True},
        ],
    }
    if kind == "tidb":
        container["volumeMounts"].append({"name": "slowlog", "mountPath": "/var/log/tidb"})
        container["readinessProbe"] = {"tcpSocket": {"port": 4000}, "initialDelaySeconds": 10}
    else:
        container["volumeMounts"].append({"name": kind, "mountPath": f"/var/lib/{kind}"})
    return container


def _resources(spec: Mapping[str, Any]) -> Json:
    """Requests and limits, without storage, which is the claim's."""
    found: Json = {}
    for key in ("requests", "limits"):
        values = {name: value for name, value in (spec.get(key) or {}).items() if name != "storage"}
        if values:
            found[key] = values
    return found


def _environment(cluster: Cluster, kind: str) -> list[Json]:
    zone = {"name": "TZ", "value": str(cluster.spec.get("timezone") or "UTC")}
    space = {"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
    name, peer = cluster.set_name(kind), f"{cluster.set_name(kind)}-peer"
    if kind == "pd":
        pairs = (("PEER_SERVICE_NAME", peer), ("SERVICE_NAME", name), ("SET_NAME", name))
        return [space, *({"name": key, "value": value} for key, value in pairs), zone]
    own = [{"name": "CLUSTER_NAME", "value": cluster.name}, {"name": "HEADLESS_SERVICE_NAME", "value": peer}]
    if kind == "tikv":
        capacity = str(((cluster.component(kind) or {}).get("limits") or {}).get("storage") or "0")
        return [space, *own, {"name": "CAPACITY", "value": capacity}, zone]
    logs = (("SLOW_LOG_FILE", _SLOW_LOG), ("BINLOG_ENABLED", "false"))
    return [space, *own, *({"name": key, "value": value} for key, value in logs), zone]


def _volumes(kind: str, config_map: str) -> list[Json]:
    fields = [{"path": "annotations", "fieldRef": {"fieldPath": "metadata.annotations"}}]
    config = [{"key": "config-file", "path": f"{kind}.toml"}]
    script = [{"key": "startup-script", "path": f"{kind}_start_script.sh"}]
    return [
        {"name": "annotations", "downwardAPI": {"items": fields}},
        {"name": "config", "configMap": {"name": config_map, "items": config}},
        {"name": "startup-script", "configMap": {"name": config_map, "items": script}},
    ]


def _slow_log(cluster: Cluster) -> Json:
    """The sidecar that prints the slow queries (`separateSlowLog`, true by default)."""
    helper = cluster.spec.get("helper") or {}
    return {
        "name": "slowlog",
        "image": str(helper.get("image") or "busybox:1.37.0"),
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", f"touch {_SLOW_LOG}; tail -n0 -F {_SLOW_LOG};"],
        "volumeMounts": [{"name": "slowlog", "mountPath": "/var/log/tidb"}],
    }


def applied(spec: Mapping[str, Any]) -> str:
    """A StatefulSet's spec as the operator notes it down on the object, to see later what it wanted."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":"))


def last_applied(existing: Mapping[str, Any]) -> Json:
    """What the operator wanted of a StatefulSet when it last wrote it."""
    text = (existing["metadata"].get("annotations") or {}).get(LAST_APPLIED, "{}")
    found: Json = json.loads(text)
    return found


def same_template(wanted: Mapping[str, Any], existing: Mapping[str, Any]) -> bool:
    """Whether the pods should be as they were when the StatefulSet was last written."""
    before = last_applied(existing).get("template") or {}
    return applied(before) == applied(wanted["spec"]["template"])

"""Manifests of Train Ticket from one table: `python -m simcluster.apps.train_ticket.rendering [PROFILE]` prints them.

Two profiles that run on real clusters: `sregym` (which `manifests.yaml` holds) and `cloudopsbench`, which has other
images and resources and lacks the five services for administrators. Sources: SREGym's charts for Train Ticket
(quickstart-k8s) and the manifests recorded in Cloud-OpsBench.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import yaml

Json = dict[str, Any]

#: Who has a database, by the first part of its Secret's keys; who talks to RabbitMQ; whom no Service leads to.
RABBIT = ("delivery", "food", "notification", "order-other", "order", "preserve-other", "preserve", "rebook")
UNREACHED = ("food-delivery", "wait-order")
ADMINISTRATION = ("admin-basic-info", "admin-order", "admin-route", "admin-travel", "admin-user")
#: Images that SREGym changed, and the releases of the others that are not 1.0.0.
CHANGED = ("cancel", "contacts", "voucher")
SECOND_RELEASE = ("admin-order", "admin-user", "consign", "order-other", "order", "rebook", "station", "user",
                  "wait-order")  # fmt: skip
RELEASES = {**dict.fromkeys(SECOND_RELEASE, "1.0.1"), "avatar": "0.2.0"}
#: Name without `ts-` and `-service`, port, and whether it has a database.
SERVICES = (
    ("admin-basic-info", 18767, False), ("admin-order", 16112, False), ("admin-route", 16113, False),
    ("admin-travel", 16114, False), ("admin-user", 16115, False), ("assurance", 18888, True), ("auth", 12340, True),
    ("avatar", 17001, False), ("basic", 15680, False), ("cancel", 18885, False), ("config", 15679, True),
    ("consign-price", 16110, True), ("consign", 16111, True), ("contacts", 12347, True), ("delivery", 18808, True),
    ("execute", 12386, False), ("food-delivery", 18957, True), ("food", 18856, True), ("gateway", 18888, False),
    ("inside-payment", 18673, True), ("news", 12862, False), ("notification", 17853, True),
    ("order-other", 12032, True), ("order", 12031, True), ("payment", 19001, True), ("preserve-other", 14569, False),
    ("preserve", 14568, False), ("price", 16579, True), ("rebook", 18886, False), ("route-plan", 14578, False),
    ("route", 11178, True), ("seat", 18898, False), ("security", 11188, True), ("station-food", 18855, True),
    ("station", 12345, True), ("ticket-office", 16108, True), ("train-food", 19999, True), ("train", 14567, True),
    ("travel-plan", 14322, False), ("travel", 12346, True), ("travel2", 16346, True), ("user", 12342, True),
    ("verification-code", 15678, False), ("voucher", 16101, True), ("wait-order", 17525, True),
)  # fmt: skip
FLAGS = [f"tt-feat-{number:02d}" for number in range(1, 23)]


class Profile(NamedTuple):
    """What differs: requests and limits of a service; the registry of SREGym for all; without administration."""

    requests: tuple[str, str]
    limits: tuple[str, str]
    own_images: bool = False
    whole: bool = True


PROFILES = {
    "sregym": Profile(("100m", "300Mi"), ("500m", "2000Mi")),
    "cloudopsbench": Profile(("200m", "350Mi"), ("500m", "512Mi"), own_images=True, whole=False),
}


class _Plain(yaml.SafeDumper):
    """Texts of several lines as blocks, and no references."""

    def ignore_aliases(self, data: Any) -> bool:
        """Every object stands by itself."""
        return True


_Plain.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else "")
)


def infrastructure() -> list[Json]:
    """What the services stand on: their own database, Nacos with its database, RabbitMQ."""
    return [*_database("tsdb", "ts", "Ts_123456"), *_registry(), *_broker()]


def door() -> Json:
    """The Service by which users come."""
    return _reached("ts-ui-dashboard", [{"name": "http", "port": 8080, "nodePort": 32677}], type="NodePort")


def rendered(profile: str = "sregym") -> str:
    """The manifests of a profile, as YAML. Raises KeyError."""
    found = PROFILES[profile]
    documents = [*infrastructure(), *_flags(found.whole)]
    for name, port, has_database in SERVICES:
        if found.whole or name not in ADMINISTRATION:
            documents += _service(name, port, has_database, found)
    documents += _dashboard(found)
    return "---\n".join(yaml.dump(one, Dumper=_Plain, sort_keys=False, width=200) for one in documents)


def _object(kind: str, name: str, group: str = "v1", labels: Json | None = None, **rest: Any) -> Json:
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": group, "kind": kind, "metadata": metadata, **rest}


def _workload(kind: str, name: str, spec: Json, labels: Json | None = None, **rest: Any) -> Json:
    own = labels or {"app": name}
    pod = {"metadata": {"labels": own}, "spec": spec}
    more = {"serviceName": rest.pop("service", name)} if kind == "StatefulSet" else {}
    replicas = rest.pop("replicas", 1)
    return _object(
        kind, name, "apps/v1", own, spec={"replicas": replicas, "selector": {"matchLabels": own}, **more,
                                          "template": pod, **rest},
    )  # fmt: skip


def _reached(name: str, ports: list[Json], selector: Json | None = None, **spec: Any) -> Json:
    return _object("Service", name, spec={**spec, "ports": ports, "selector": selector or {"app": name}})


def _resources(requests: tuple[str, str], limits: tuple[str, str] | None = None) -> Json:
    found: Json = {"requests": dict(zip(("cpu", "memory"), requests, strict=True))}
    return found | ({"limits": dict(zip(("cpu", "memory"), limits, strict=True))} if limits else {})


def _service(name: str, port: int, has_database: bool, profile: Profile) -> list[Json]:
    full = f"ts-{name}-service"
    image = f"codewisdom/{full}:{RELEASES.get(name, '1.0.0')}"
    if profile.own_images or name in CHANGED:
        image = f"ghcr.io/sregym/{full}:latest"
    sources: list[Json] = [{"secretRef": {"name": f"ts-{name}-mysql"}}] if has_database else []
    sources.append({"configMapRef": {"name": "nacos"}})
    sources += [{"configMapRef": {"name": "rabbitmq"}}] if name in RABBIT else []
    host = {"name": "NODE_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}
    container = {
        "name": full, "image": image, "imagePullPolicy": "IfNotPresent",
        "env": [{"name": "SPRING_MAIN_ALLOW_CIRCULAR_REFERENCES", "value": "true"}, host],
        "envFrom": sources, "ports": [{"containerPort": port}],
        "resources": _resources(profile.requests, profile.limits),
        "readinessProbe": {"tcpSocket": {"port": port}, "initialDelaySeconds": 60, "periodSeconds": 10,
                           "timeoutSeconds": 5},
    }  # fmt: skip
    documents = [_workload("Deployment", full, {"containers": [container]})]
    if name == "gateway":
        ports = [{"name": "http", "port": port, "nodePort": 30467}]
        documents.append(_reached(full, ports, type="NodePort"))
    elif name not in UNREACHED:
        documents.append(_reached(full, [{"name": "http", "port": port}]))
    if has_database:
        key = name.upper().replace("-", "_")
        values = {"HOST": "tsdb-mysql-leader", "PORT": "3306", "DATABASE": "ts", "USER": "ts", "PASSWORD": "Ts_123456"}
        data = {f"{key}_MYSQL_{part}": value for part, value in values.items()}
        documents.insert(0, _object("Secret", f"ts-{name}-mysql", type="Opaque", stringData=data))
    return documents


def _dashboard(profile: Profile) -> list[Json]:
    name = "ts-ui-dashboard"
    image = f"ghcr.io/sregym/{name}:latest" if profile.own_images else f"codewisdom/{name}:1.0.1"
    container: Json = {"name": name, "image": image, "imagePullPolicy": "IfNotPresent",
                       "ports": [{"containerPort": 8080}]}  # fmt: skip
    if not profile.own_images:
        container["resources"] = _resources(("50m", "100Mi"), ("500m", "500Mi"))
    return [_workload("Deployment", name, {"containers": [container]}), door()]


def _registry() -> list[Json]:
    members = [f"nacos-{n}.nacos-headless.train-ticket.svc.cluster.local:8848" for n in range(3)]
    login = {"MYSQL_SERVICE_HOST": "nacosdb-mysql-leader", "MYSQL_SERVICE_DB_NAME": "nacos",
             "MYSQL_SERVICE_PORT": "3306", "MYSQL_SERVICE_USER": "nacos",
             "MYSQL_SERVICE_PASSWORD": "Abcd1234#"}  # fmt: skip
    values = {"NACOS_REPLICAS": "3", "NACOS_SERVER_PORT": "8848", "NACOS_APPLICATION_PORT": "8848",
              "PREFER_HOST_MODE": "hostname", "MODE": "cluster", "NACOS_SERVERS": " ".join(members)}  # fmt: skip
    source = [{"secretRef": {"name": "nacos-mysql"}}]
    ports = {"server": 8848, "raft": 7848, "client-rpc": 9848, "raft-rpc": 9849}
    first = {"name": "initmysql", "image": "codewisdom/mysqlclient:0.1", "imagePullPolicy": "IfNotPresent",
             "envFrom": source}  # fmt: skip
    main = {
        "name": "k8snacos", "image": "nacos/nacos-server:2.0.1", "imagePullPolicy": "IfNotPresent",
        "env": [{"name": name, "value": value} for name, value in values.items()], "envFrom": source,
        "ports": [{"name": name, "containerPort": port} for name, port in ports.items()],
        "resources": _resources(("500m", "1Gi")),
    }  # fmt: skip
    named = [{"name": name, "port": port} for name, port in ports.items()]
    outside = [{"name": "server", "port": 8848, "nodePort": 32506}, {"name": "raft", "port": 7848, "nodePort": 32334}]
    pod = {"initContainers": [first], "containers": [main]}
    return [
        *_database("nacosdb", "nacos", "Abcd1234#"),
        _object("Secret", "nacos-mysql", type="Opaque", stringData=login),
        _object("ConfigMap", "nacos", data={"NACOS_ADDRS": ",".join(members)}),
        _reached("nacos-headless", named, {"app": "nacos"}, clusterIP="None", publishNotReadyAddresses=True),
        _reached("nacos", outside, type="NodePort"),
        _workload("StatefulSet", "nacos", pod, replicas=3, service="nacos-headless", podManagementPolicy="Parallel"),
    ]


def _broker() -> list[Json]:
    container = {"name": "rabbitmq", "image": "codewisdom/rabbitmq:3", "imagePullPolicy": "IfNotPresent",
                 "ports": [{"containerPort": 5672}], "resources": _resources(("100m", "200Mi"))}  # fmt: skip
    return [
        _object("ConfigMap", "rabbitmq", data={"rabbitmq_host": "rabbitmq"}),
        _workload("Deployment", "rabbitmq", {"containers": [container]}),
        _reached("rabbitmq", [{"name": "amqp", "port": 5672}]),
    ]


def _flags(whole: bool) -> list[Json]:
    if not whole:
        return []
    off = {"state": "ENABLED", "variants": {"on": True, "off": False}, "defaultVariant": "off"}
    text = yaml.dump({"flags": dict.fromkeys(FLAGS, off)}, Dumper=_Plain, sort_keys=False)
    container = {
        "name": "flagd", "image": "ghcr.io/open-feature/flagd:v0.11.1", "imagePullPolicy": "IfNotPresent",
        "args": ["start", "--uri", "file:./etc/flagd/flags.yaml", "--port", "8013", "--ofrep-port", "8016"],
        "ports": [{"name": "rpc", "containerPort": 8013}, {"name": "management", "containerPort": 8014},
                  {"name": "ofrep", "containerPort": 8016}],
        "volumeMounts": [{"name": "flagd-config", "mountPath": "/etc/flagd", "readOnly": True}],
        "livenessProbe": {"httpGet": {"path": "/readyz", "port": 8014}, "initialDelaySeconds": 10, "periodSeconds": 10},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8014}, "initialDelaySeconds": 5, "periodSeconds": 5},
    }  # fmt: skip
    volume = {"name": "flagd-config", "configMap": {"name": "flagd-config"}}
    ports = [{"name": "rpc", "port": 8013}, {"name": "management", "port": 8014}, {"name": "ofrep", "port": 8016}]
    return [
        _object("ServiceAccount", "flagd"),
        _object("ConfigMap", "flagd-config", data={"flags.yaml": text}),
        _workload(
            "Deployment", "flagd", {"serviceAccountName": "flagd", "containers": [container], "volumes": [volume]}
        ),
        _reached("flagd", ports),
    ]


_LABEL = """\
#!/usr/bin/env bash
curl -X PATCH -H "Authorization: Bearer $(cat /var/run/secrets/kubernetes.io/serviceaccount/token)" \
-H "Content-Type: application/json-patch+json" \
--cacert /var/run/secrets/kubernetes.io/serviceaccount/ca.crt \
https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_PORT_443_TCP_PORT/api/v1/namespaces/train-ticket/pods/$HOSTNAME \
-d '[{"op": "replace", "path": "/metadata/labels/role", "value": "ROLE"}]'
"""
_PREPARE = """\
# Generate mysql server-id from pod ordinal index.
ordinal=$(echo $(hostname) | tr -cd "[0-9]")
# Copy server-id.conf adding offset to avoid reserved server-id=0 value.
cat /mnt/config-map/server-id.cnf | sed s/@@SERVER_ID@@/$((100 + $ordinal))/g > /mnt/conf.d/server-id.cnf
# Copy appropriate conf.d files from config-map to config mount.
cp -f /mnt/config-map/node.cnf /mnt/conf.d/
cp -f /mnt/config-map/*.sh /mnt/scripts/
chmod +x /mnt/scripts/*
# remove lost+found.
rm -rf /mnt/data/lost+found
"""


def _database(release: str, user: str, password: str) -> list[Json]:
    """A cluster of three MySQL servers, one of which leads, as the chart of RadonDB makes it."""
    name = f"{release}-mysql"
    labels = {"app": name, "release": release}
    port = [{"name": "mysql", "port": 3306, "targetPort": "mysql"}]
    files = {
        "node.cnf": "[mysqld]\ndefault_storage_engine=InnoDB\nmax_connections=65535\n",
        "server-id.cnf": "[mysqld]\nserver-id=@@SERVER_ID@@\n",
        "leader-start.sh": _LABEL.replace("ROLE", "leader"),
        "leader-stop.sh": _LABEL.replace("ROLE", "follower"),
    }
    verbs = ["get", "list", "watch", "patch"]
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": "train-ticket"}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    group = "rbac.authorization.k8s.io/v1"
    secrets = {"mysql-password": password, "mysql-replication-password": "Repl_123"}
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
             "storageClassName": "openebs-hostpath", "resources": {"requests": {"storage": "1Gi"}}}}  # fmt: skip
    return [
        _object("ServiceAccount", name, labels=labels),
        _object("Role", name, group, rules=rules),
        _object("RoleBinding", name, group, roleRef=role, subjects=subjects),
        _object("Secret", name, labels=labels, type="Opaque", stringData=secrets),
        _object("ConfigMap", name, labels=labels, data=files),
        _reached(name, port, labels, clusterIP="None", publishNotReadyAddresses=True),
        _reached(f"{name}-leader", port, {**labels, "role": "leader"}),
        _reached(f"{name}-follower", port, {**labels, "role": "follower"}),
        _workload("StatefulSet", name, _members(name, user, labels), labels, replicas=3, service=name,
                  podManagementPolicy="Parallel", volumeClaimTemplates=[claim]),
    ]  # fmt: skip


def _members(name: str, user: str, labels: Json) -> Json:
    """The pod of one member: MySQL, xenon, which elects the leader, and its slow log."""

    def secret(variable: str, key: str) -> Json:
        return {"name": variable, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}

    def asked(command: list[str], delay: int, timeout: int) -> Json:
        return {"exec": {"command": command}, "initialDelaySeconds": delay, "timeoutSeconds": timeout,
                "periodSeconds": 10}  # fmt: skip

    mounts = {"conf": "/mnt/conf.d", "config-map": "/mnt/config-map", "data": "/mnt/data", "scripts": "/mnt/scripts"}
    first = {"name": "init-mysql", "image": "busybox:1.32", "command": ["sh", "-c"], "args": [_PREPARE],
             "volumeMounts": [{"name": part, "mountPath": path} for part, path in mounts.items()]}  # fmt: skip
    places = {"conf": "/etc/mysql/conf.d", "data": "/var/lib/mysql", "logs": "/var/log/mysql"}
    server = {
        "name": "mysql", "image": "radondb/percona:5.7.34", "imagePullPolicy": "IfNotPresent",
        "env": [secret("MYSQL_REPL_PASSWORD", "mysql-replication-password"), {"name": "MYSQL_DATABASE", "value": user},
                {"name": "MYSQL_USER", "value": user}, secret("MYSQL_PASSWORD", "mysql-password")],
        "ports": [{"name": "mysql", "containerPort": 3306}],
        "resources": _resources(("100m", "256Mi"), ("500m", "1Gi")),
        "livenessProbe": asked(["sh", "-c", "mysqladmin ping -uroot"], 30, 5),
        "readinessProbe": asked(["sh", "-c", 'mysql -uroot -e "SELECT 1"'], 10, 1),
        "volumeMounts": [{"name": part, "mountPath": path} for part, path in places.items()],
    }  # fmt: skip
    own = {"name": "POD_HOSTNAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    elector = {
        "name": "xenon", "image": "radondb/xenon:1.1.5-helm", "imagePullPolicy": "IfNotPresent",
        "env": [secret("MYSQL_REPL_PASSWORD", "mysql-replication-password"), own,
                {"name": "HOST", "value": f"$(POD_HOSTNAME).{name}.train-ticket"},
                {"name": "LEADER_START_CMD", "value": "/scripts/leader-start.sh"},
                {"name": "LEADER_STOP_CMD", "value": "/scripts/leader-stop.sh"}],
        "ports": [{"name": "xenon", "containerPort": 8801}],
        "resources": _resources(("50m", "128Mi"), ("100m", "256Mi")),
        "livenessProbe": asked(["pgrep", "xenon"], 30, 5),
        "readinessProbe": asked(["sh", "-c", "xenoncli xenon ping"], 10, 1),
        "volumeMounts": [{"name": "scripts", "mountPath": "/scripts"}],
    }  # fmt: skip
    slow = {"name": "slowlog", "image": "busybox:1.32", "command": ["tail", "-F", "/logs/mysql-slow.log"],
            "volumeMounts": [{"name": "logs", "mountPath": "/logs"}]}  # fmt: skip
    apart = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
    return {
        "serviceAccountName": name, "affinity": {"podAntiAffinity": terms}, "initContainers": [first],
        "containers": [server, elector, slow],
        "volumes": [{"name": part, "emptyDir": {}} for part in ("conf", "scripts", "logs")]
        + [{"name": "config-map", "configMap": {"name": name}}],
    }  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(rendered(*sys.argv[1:2]))

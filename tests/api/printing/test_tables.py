import json

import pytest

from simcluster.api import printing
from simcluster.api.printing.custom import find
from simcluster.api.resources import BUILT_IN, Resource
from simcluster.engine import SECOND, format_rfc3339, parse_rfc3339
from simcluster.testing.recordings import recordings

NOW = 100_000 * SECOND


def resource(group, version, kind):
    return BUILT_IN.by_kind.get((group, version, kind)) or Resource(group, version, kind, kind.lower(), "", True)


def cells(api_version, kind, obj):
    group, _, version = api_version.rpartition("/")
    obj = {"kind": kind, "apiVersion": api_version, **obj}
    obj["metadata"] = {"name": "x", "creationTimestamp": format_rfc3339(NOW - 60 * SECOND), **obj.get("metadata", {})}
    return printing.table(resource(group, version, kind), [obj], now_ns=NOW)["rows"][0]["cells"]


def test_rows_carry_metadata_the_object_or_nothing():
    obj = {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}, "data": {"k": "v"}}
    kind = resource("", "v1", "ConfigMap")
    table = printing.table(kind, [obj], now_ns=NOW, version="7")
    assert table["metadata"] == {"resourceVersion": "7"}
    assert table["rows"][0]["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj["metadata"],
    }
    assert printing.table(kind, [obj], now_ns=NOW, include="Object")["rows"][0]["object"] is obj
    assert printing.table(kind, [obj], now_ns=NOW, include="None")["rows"][0]["object"] is None
    assert printing.table(kind, [], now_ns=NOW)["rows"] == []


def test_kinds_without_a_printer():
    created = format_rfc3339(NOW - 60 * SECOND)
    assert cells("rbac.authorization.k8s.io/v1", "ClusterRole", {}) == ["x", created]
    assert cells("hotel.example.com/v1", "Booking", {}) == ["x", "60s"]
    assert printing.table(resource("", "v1", "LimitRange"), [], now_ns=NOW)["rows"] is None


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        (
            {"type": "ExternalName", "externalName": "db.example.com"},
            {},
            ["ExternalName", "<none>", "db.example.com", "<none>"],
        ),
        (
            {"type": "LoadBalancer", "clusterIP": "10.96.0.9", "ports": [{"port": 80, "nodePort": 30080}]},
            {},
            ["LoadBalancer", "10.96.0.9", "<pending>", "80:30080/TCP"],
        ),
        (
            {"type": "LoadBalancer", "clusterIP": "10.96.0.9", "ports": [{"port": 53, "protocol": "UDP"}]},
            {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "lb.example.com"}]}},
            ["LoadBalancer", "10.96.0.9", "1.2.3.4,lb.example.com", "53/UDP"],
        ),
        (
            {"clusterIP": "None", "externalIPs": ["9.9.9.9"], "ports": [{"port": 1}, {"port": 2}]},
            {},
            ["ClusterIP", "None", "9.9.9.9", "1/TCP,2/TCP"],
        ),
    ],
)
def test_services(spec, status, shown):
    assert cells("v1", "Service", {"spec": spec, "status": status})[1:5] == shown


def test_endpoints_show_three_addresses():
    addresses = [{"ip": f"10.0.0.{n}"} for n in range(1, 6)]
    shown = cells("v1", "Endpoints", {"subsets": [{"addresses": addresses, "ports": [{"port": 80}]}]})[1]
    assert shown == "10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 2 more..."
    assert cells("v1", "Endpoints", {})[1] == "<none>"
    assert cells("v1", "Endpoints", {"subsets": [{"notReadyAddresses": addresses, "ports": [{"port": 80}]}]})[1] == ""


def test_nodes():
    def shown(ready, labels=None, **spec):
        conditions = [{"type": "Ready", "status": ready}] if ready else []
        return cells(
            "v1", "Node", {"metadata": {"labels": labels or {}}, "spec": spec, "status": {"conditions": conditions}}
        )[1:3]

    assert shown("True") == ["Ready", "<none>"]
    assert shown("Unknown", unschedulable=True) == ["NotReady,SchedulingDisabled", "<none>"]
    assert shown("") == ["Unknown", "<none>"]
    roles = {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""}
    assert shown("False", roles) == ["NotReady", "control-plane,worker"]


def test_jobs():
    started = {"startTime": format_rfc3339(NOW - 30 * SECOND)}
    job = {"spec": {"completions": 3}, "status": {"succeeded": 1, **started}}
    assert cells("batch/v1", "Job", job)[1:4] == ["Running", "1/3", "30s"]
    assert cells("batch/v1", "Job", {"spec": {"parallelism": 2}, "status": {}})[2:4] == ["0/1 of 2", ""]
    done = {"conditions": [{"type": "Complete", "status": "True"}], "completionTime": format_rfc3339(NOW - 10 * SECOND)}
    assert cells("batch/v1", "Job", {"spec": {"completions": 1}, "status": {"succeeded": 1, **started, **done}})[
        1:4
    ] == [
        "Complete",
        "1/1",
        "20s",
    ]


def test_autoscalers():
    def metric(name, target, kind="Resource"):
        return {"type": kind, kind.lower(): {"name": name, "target": target}}

    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "d"},
        "maxReplicas": 5,
        "metrics": [
            metric("cpu", {"averageUtilization": 70}),
            metric("memory", {"averageValue": "1Gi"}),
            {"type": "Pods"},
        ],
    }
    shown = cells("autoscaling/v2", "HorizontalPodAutoscaler", {"spec": spec})
    assert shown[1:6] == ["Deployment/d", "cpu: <unknown>/70%, memory: <unknown>/1Gi + 1 more...", "<unset>", 5, 0]


def test_claims_and_volumes():
    pending = {"spec": {"storageClassName": "fast"}, "status": {"phase": "Pending"}}
    assert cells("v1", "PersistentVolumeClaim", pending)[1:7] == ["Pending", "", "", "", "fast", "<unset>"]
    volume = {
        "metadata": {"deletionTimestamp": format_rfc3339(NOW)},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]},
    }
    assert cells("v1", "PersistentVolume", volume)[1:5] == ["1Gi", "RWO,RWX", "", "Terminating"]


def test_custom_columns():
    columns = [
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "Nights", "type": "integer", "jsonPath": ".spec.nights"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Lost", "type": "string", "jsonPath": ".spec.lost", "priority": 1},
    ]
    obj = {
        "metadata": {"name": "b1", "creationTimestamp": format_rfc3339(NOW - 5 * SECOND)},
        "spec": {"nights": 3},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    table = printing.table(resource("hotel.example.com", "v1", "Booking"), [obj], now_ns=NOW, custom=columns)
    assert table["rows"][0]["cells"] == ["b1", "True", 3, "5s", None]
    assert [c["priority"] for c in table["columnDefinitions"]] == [0, 0, 0, 0, 1]


def test_json_paths():
    obj = {"a": [{"b": 1}, {"b": 2}], "labels": {"x.y/z": "v"}}
    assert find(obj, ".a[*].b") == [1, 2]
    assert find(obj, ".a[1].b") == [2]
    assert find(obj, ".labels['x.y/z']") == ["v"]
    assert find(obj, ".labels.x\\.y/z") == ["v"]
    assert find(obj, ".no.such") == []


def _tables(folder):
    for path in sorted(folder.glob("*_table_*.body")):
        listed = sorted(folder.glob(f"*_list_{path.name.split('_table_')[1]}"))
        if listed:
            yield json.loads(path.read_text()), json.loads(listed[0].read_text())


def test_tables_of_a_real_server():
    """Ages in the recording were taken within a second of one instant."""
    instants = [parse_rfc3339("2026-11-21T21:38:46Z") + n * SECOND // 4 for n in range(24)]
    seen = 0
    for real, listed in _tables(recordings() / "kubernetes-http/raw-1.32"):
        group, _, version = listed["apiVersion"].rpartition("/")
        kind = listed["kind"].removesuffix("List")
        objects = [{**obj, "kind": kind} for obj in listed["items"] or ()]
        expected = [row["cells"] for row in real["rows"] or ()]
        made = [printing.table(resource(group, version, kind), objects, now_ns=now) for now in instants]
        assert expected in [[row["cells"] for row in table["rows"] or ()] for table in made], kind
        for column, ours in zip(real["columnDefinitions"], made[0]["columnDefinitions"], strict=True):
            assert column == ours
        assert (real["rows"] is None) == (made[0]["rows"] is None)
        seen += 1
    assert seen > 25

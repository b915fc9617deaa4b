"""TiDB Operator: a TidbCluster comes up in order, serves, scales, upgrades, and breaks as the real one does."""

import json

import pytest

from simcluster.engine import SECOND
from simcluster.world import World

NAMESPACE = "tidb-cluster"
RESOURCE = "tidbclusters.pingcap.com"


@pytest.fixture(scope="module")
def booted():
    world = World(0, workers=3)
    world.deploy("tidb", NAMESPACE)
    world.run_for(100 * SECOND)
    return world


@pytest.fixture
def world(booted):
    return booted.fork()


def cluster(world):
    return world.api.store.get(RESOURCE, NAMESPACE, "basic")


def ready(world):
    (condition,) = cluster(world)["status"]["conditions"]
    return condition["status"], condition["reason"], condition["message"]


def stateful_set(world, kind):
    return world.api.store.get("statefulsets.apps", NAMESPACE, f"basic-{kind}")


def patch(world, spec):
    result = world.kubectl().run(f"patch tc basic -n {NAMESPACE} --type=merge -p '{json.dumps({'spec': spec})}'")
    assert result.exit_code == 0, result.stderr


def logs(world):
    return world.kubectl().run("logs -n tidb-operator deploy/tidb-controller-manager --tail=-1").stdout


def pods(world, kind):
    found = world.api.store.objects("pods", NAMESPACE)
    return [p for p in found if p["metadata"]["labels"]["app.kubernetes.io/component"] == kind]


def created(world, kind):
    return stateful_set(world, kind)["metadata"]["creationTimestamp"]


def test_it_starts_in_order_and_reports(world):
    assert ready(world) == ("True", "Ready", "TiDB cluster is fully up and running")
    assert created(world, "pd") < created(world, "tikv") < created(world, "tidb")
    status = cluster(world)["status"]
    assert sorted(status["pd"]["members"]) == ["basic-pd-0", "basic-pd-1", "basic-pd-2"]
    assert status["clusterID"]
    assert status["pd"]["leader"]["name"] in status["pd"]["members"]
    assert [s["state"] for s in status["tikv"]["stores"].values()] == ["Up"] * 3
    assert all(member["health"] for member in status["tidb"]["members"].values())
    assert status["tidb"]["statefulSet"]["readyReplicas"] == 2
    events = world.kubectl().run(f"get events -n {NAMESPACE}").stdout
    assert "create StatefulSet basic-pd in TidbCluster basic successful" in events
    assert "waiting for PD cluster running, requeuing" in logs(world)
    services = [s["metadata"]["name"] for s in world.api.store.objects("services", NAMESPACE)]
    assert services == [f"basic-{n}" for n in ("discovery", "pd", "pd-peer", "tidb", "tidb-peer", "tikv-peer")]
    assert cluster(world)["apiVersion"] == "pingcap.com/v1alpha1"
    assert "basic   True    pingcap/pd:v3.0.8   1Gi" in world.kubectl().run(f"get tc -n {NAMESPACE}").stdout


def test_users_query_it_and_it_needs_its_stores(world):
    users = world.add_users(NAMESPACE, "basic-tidb", 40)
    world.run_for(20 * SECOND)
    seen = users.window(world.now - 10 * SECOND, world.now)
    assert seen.sent > 300
    assert seen.success_ratio > 0.99
    world.kubectl().run("scale deployment tidb-controller-manager -n tidb-operator --replicas=0")
    world.run_for(5 * SECOND)
    world.kubectl().run(f"scale statefulset basic-tikv -n {NAMESPACE} --replicas=0")
    world.run_for(60 * SECOND)
    assert users.window(world.now - 10 * SECOND, world.now).success_ratio < 0.01
    world.kubectl().run("scale deployment tidb-controller-manager -n tidb-operator --replicas=1")
    world.run_for(90 * SECOND)  # the operator comes back and sets right what was changed meanwhile
    assert users.window(world.now - 10 * SECOND, world.now).success_ratio > 0.99


def shown(world, pod, port):
    text = world.kubectl().run(f"get --raw /api/v1/namespaces/{NAMESPACE}/pods/{pod}:{port}/proxy/metrics").stdout
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in text.splitlines())
            if not name.startswith("#")}  # fmt: skip


def test_every_program_shows_what_it_counts(world):
    world.add_users(NAMESPACE, "basic-tidb", 20.0)
    world.run_for(30 * SECOND)
    sql = [shown(world, f"basic-tidb-{number}", 10080) for number in range(2)]
    selected, written = (
        sum(each[f'tidb_executor_statement_total{{type="{kind}"}}'] for each in sql) for kind in ("Select", "Insert")
    )
    assert selected > 3 * written > 0
    assert sum(each['tidb_server_query_total{result="OK",type="Query"}'] for each in sql) == pytest.approx(600, rel=0.2)
    commits = sum(shown(world, f"basic-tikv-{n}", 20180)['tikv_storage_command_total{type="commit"}'] for n in range(3))
    assert commits > written
    pds = [shown(world, f"basic-pd-{number}", 2379) for number in range(3)]
    assert [each["etcd_server_has_leader"] for each in pds] == [1.0] * 3
    (leader,) = (each for each in pds if each["etcd_server_is_leader"])
    assert leader['pd_cluster_status{type="store_up_count"}'] == 3.0
    assert sum('pd_cluster_status{type="store_up_count"}' in each for each in pds) == 1


def test_pd_without_majority(world):
    for name in ("basic-pd-1", "basic-pd-2"):
        world.kubectl().run(f"label pod {name} -n {NAMESPACE} cut=off")
    world.apply(
        f"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: cut, namespace: {NAMESPACE}}}\n"
        "spec: {podSelector: {matchLabels: {cut: 'off'}}, policyTypes: [Ingress, Egress]}\n"
    )
    world.run_for(60 * SECOND)
    members = cluster(world)["status"]["pd"]
    assert not members["synced"]
    assert "failed to sync TidbCluster: [tidb-cluster/basic]'s status, error:" in logs(world)


def test_scaling_out_and_in(world):
    patch(world, {"tikv": {"replicas": 4}, "tidb": {"replicas": 3}})
    world.run_for(60 * SECOND)
    assert len(cluster(world)["status"]["tikv"]["stores"]) == 4
    assert ready(world)[0] == "True"
    patch(world, {"tikv": {"replicas": 3}, "pd": {"replicas": 1}})
    world.run_for(120 * SECOND)
    assert len(pods(world, "tikv")) == 3
    assert len(pods(world, "pd")) == 1
    status = cluster(world)["status"]
    assert sorted(status["pd"]["members"]) == ["basic-pd-0"]
    assert [s["podName"] for s in status["tikv"]["tombstoneStores"].values()] == ["basic-tikv-3"]
    claim = world.api.store.get("persistentvolumeclaims", NAMESPACE, "tikv-basic-tikv-3")
    assert "tidb.pingcap.com/pvc-defer-deleting" in claim["metadata"]["annotations"]
    assert "is still in cluster, state: " in logs(world)
    assert ready(world)[0] == "True"


def test_a_rolling_upgrade(world):
    users = world.add_users(NAMESPACE, "basic-tidb", 40)
    start = world.now
    patch(world, {"version": "v3.1.0"})
    world.run_for(10 * SECOND)
    assert ready(world)[1] == "StatefulSetNotUpToDate"
    tikv = stateful_set(world, "tikv")["spec"]["template"]["spec"]["containers"][0]["image"]
    assert tikv == "pingcap/tikv:v3.0.8"  # PD first
    world.run_for(280 * SECOND)
    assert ready(world)[0] == "True"
    images = {p["spec"]["containers"][-1]["image"] for kind in ("pd", "tikv", "tidb") for p in pods(world, kind)}
    assert images == {"pingcap/pd:v3.1.0", "pingcap/tikv:v3.1.0", "pingcap/tidb:v3.1.0"}
    assert users.window(start, world.now).success_ratio > 0.95
    assert "transfer pd leader to: basic-pd-" in logs(world)


def test_a_missing_image_stops_the_upgrade_at_the_first_pod(world):
    patch(world, {"tidb": {"version": "v9.9.9"}})
    world.run_for(90 * SECOND)
    waiting = [
        state["state"]["waiting"]["reason"]
        for pod in pods(world, "tidb")
        for state in pod["status"]["containerStatuses"]
        if "waiting" in state["state"]
    ]
    assert waiting in (["ImagePullBackOff"], ["ErrImagePull"])
    assert ready(world)[1] == "StatefulSetNotUpToDate"
    patch(world, {"tidb": {"version": None}})
    world.run_for(30 * SECOND)
    # A pod of a broken revision is not replaced by itself (kubernetes/kubernetes#67250).
    world.kubectl().run(f"delete pod basic-tidb-1 -n {NAMESPACE}")
    world.run_for(60 * SECOND)
    assert ready(world)[0] == "True"


def test_absurd_replicas_grow_one_after_the_other(world):
    patch(world, {"tidb": {"replicas": 100_000}})
    world.run_for(5 * SECOND)
    first = stateful_set(world, "tidb")["spec"]["replicas"]
    assert 3 < first < 30  # as fast as the operator's client may write
    world.run_for(3 * SECOND)
    assert stateful_set(world, "tidb")["spec"]["replicas"] > first
    assert ready(world)[0] == "False"


def test_storage_class_that_does_not_exist(world):
    patch(world, {"pd": {"storageClassName": "nonexistent-storage-class"}})
    world.run_for(10 * SECOND)
    assert ready(world)[0] == "True"  # claims of pods that are there do not change
    world.kubectl().run(f"delete statefulset basic-pd -n {NAMESPACE}")
    world.kubectl().run(f"delete pvc -n {NAMESPACE} pd-basic-pd-0 pd-basic-pd-1 pd-basic-pd-2")
    world.run_for(120 * SECOND)
    claims = list(world.api.store.objects("persistentvolumeclaims", NAMESPACE))
    pending = [c["metadata"]["name"] for c in claims if c["status"]["phase"] == "Pending"]
    assert pending == ["pd-basic-pd-0", "pd-basic-pd-1", "pd-basic-pd-2"]
    assert all(pod["status"]["phase"] == "Pending" for pod in pods(world, "pd"))
    assert "service tidb-cluster/basic-pd has no endpoints" in logs(world)


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    [
        (
            "pd",
            {"tolerations": [{"key": "test-keys", "operator": "Equal", "effect": "TAKE_SOME_EFFECT"}]},
            'spec.tolerations[0].effect: Unsupported value: "TAKE_SOME_EFFECT"',
        ),
        (
            "tidb",
            {"podSecurityContext": {"runAsUser": -1}},
            "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ),
    ],
)
def test_pods_that_the_api_server_refuses(world, kind, spec, said):
    """The API server does not look into a StatefulSet's template: the first upgraded pod cannot be made again."""
    before = len(pods(world, kind))
    patch(world, {kind: spec})
    world.run_for(60 * SECOND)
    assert len(pods(world, kind)) == before - 1
    events = world.kubectl().run(f"get events -n {NAMESPACE}").stdout
    assert "FailedCreate" in events
    assert said in events
    assert ready(world)[0] == "False"
    assert f'sync failed pod "basic-{kind}-{before - 1}" not found, requeuing' in logs(world)
    patch(world, {kind: dict.fromkeys(spec)})
    world.run_for(120 * SECOND)
    assert ready(world)[0] == "True"


def test_what_the_operator_refuses(world):
    before = [stateful_set(world, kind)["metadata"]["generation"] for kind in ("pd", "tikv", "tidb")]
    patch(world, {"tikv": {"requests": {"storage": None}}, "version": "v3.1.0"})
    world.run_for(20 * SECOND)
    assert "is not valid and must be fixed first" in logs(world)
    events = world.kubectl().run(f"get events -n {NAMESPACE}").stdout
    assert "FailedValidation" in events
    assert "storage request must not be empty" in events
    assert before == [stateful_set(world, kind)["metadata"]["generation"] for kind in ("pd", "tikv", "tidb")]


def test_unknown_update_strategy_is_a_rolling_update(world):
    patch(world, {"statefulSetUpdateStrategy": "SomeStrategyForUpdate"})
    world.run_for(20 * SECOND)
    assert stateful_set(world, "tidb")["spec"]["updateStrategy"]["type"] == "RollingUpdate"
    patch(world, {"statefulSetUpdateStrategy": "OnDelete", "version": "v3.1.0"})
    world.run_for(60 * SECOND)
    assert stateful_set(world, "pd")["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert {p["spec"]["containers"][0]["image"] for p in pods(world, "pd")} == {"pingcap/pd:v3.0.8"}


def test_fields_of_the_wrong_type_are_refused_by_the_definition(world):
    answer = world.kubectl().run(
        f"""patch tc basic -n {NAMESPACE} --type=merge -p '{{"spec":{{"tidb":{{"replicas":"two"}}}}}}'"""
    )
    assert "spec.tidb.replicas" in answer.stderr
    assert answer.exit_code == 1


def test_a_typo_in_the_operators_image(world):
    (pod,) = world.api.store.objects("pods", "tidb-operator")
    name = pod["metadata"]["name"]
    world.kubectl().run(f"set image pod/{name} tidb-operator=pingcap/tidb-operatorr:v1.6.3 -n tidb-operator")
    world.run_for(60 * SECOND)
    assert "ImagePull" in world.kubectl().run("get pods -n tidb-operator").stdout
    patch(world, {"tidb": {"replicas": 3}})
    world.run_for(60 * SECOND)
    assert len(pods(world, "tidb")) == 2
    world.kubectl().run(f"delete pod {name} -n tidb-operator")
    world.run_for(60 * SECOND)
    assert len(pods(world, "tidb")) == 3


def test_copies_live_alike(world):
    twin = world.fork()
    for each in (world, twin):
        patch(each, {"tidb": {"replicas": 1}, "tikv": {"replicas": 4}})
        each.run_for(7 * SECOND)
    again = twin.fork()  # in the middle of it
    for each in (world, twin, again):
        each.run_for(30 * SECOND)
    assert world.sim.digest.hex() == twin.sim.digest.hex() == again.sim.digest.hex()

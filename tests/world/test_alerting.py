"""Rules in a running world: loaded from ConfigMaps, evaluated on schedule, told to Alertmanager, and who is paged."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
import yaml

from simcluster.engine import SECOND
from simcluster.telemetry.promql.parsing import parse
from simcluster.telemetry.promql.storage import Matcher
from simcluster.telemetry.promql.syntax import selectors
from simcluster.world import World, bootstrap

APPLICATION = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: front, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec:
      containers:
        - name: server
          image: nginx:1.27
          ports: [{containerPort: 80}]
          resources: {limits: {cpu: 500m, memory: 64Mi}}
---
apiVersion: v1
kind: Service
metadata: {name: front, namespace: shop}
spec: {selector: {app: front}, ports: [{name: http, port: 80}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: front, namespace: shop}
spec:
  minReplicas: 2
  maxReplicas: 4
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: front}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: shop, namespace: shop}
spec: {hard: {pods: "20"}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: keeper, namespace: default}
spec:
  containers: [{name: keeper, image: "nginx:1.27", volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""
#: What makes exporters show the rest: a job that fails, and a pod that finds no node.
TROUBLES = """
apiVersion: batch/v1
kind: Job
metadata: {name: failing, namespace: default}
spec:
  backoffLimit: 0
  template:
    spec: {restartPolicy: Never, containers: [{name: job, image: "busybox:1.36", command: [sh, -c, "exit 1"]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: nowhere, namespace: default}
spec: {nodeSelector: {disk: none}, containers: [{name: nowhere, image: "nginx:1.27"}]}
"""
NO_IMAGE = "set image -n shop deployment/front server=nginx:no-such-tag"


@pytest.fixture(scope="module", name="watched")
def with_application() -> World:
    world = World(5, workers=2)
    world.apply(bootstrap.manifest("default-storage.yaml"))
    world.observe()
    world.apply(APPLICATION)
    world.add_users("shop", "front", 10.0)
    world.run_for(240 * SECOND)
    return world


@pytest.fixture(name="world")
def copied(watched: World) -> World:
    return watched.fork()


def asked(world: World, service: str, path: str) -> Any:
    shown = world.kubectl().run(f"get --raw '/api/v1/namespaces/observe/services/{service}/proxy{path}'")
    assert not shown.exit_code, shown
    return json.loads(shown.stdout)


def firing(world: World) -> dict[str, str]:
    found = asked(world, "prometheus-server:80", "/api/v1/alerts")["data"]["alerts"]
    return {one["labels"]["alertname"]: one["state"] for one in found if one["labels"]["severity"] != "none"}


def paged(world: World) -> list[str]:
    return [page.rule for page in world.programs.outside.oncall.firing(world.now)]


def logs(world: World, what: str) -> str:
    return world.kubectl().run(f"logs -n observe {what}").stdout


def rules(world: World) -> dict[str, Any]:
    groups = asked(world, "prometheus-server:80", "/api/v1/rules")["data"]["groups"]
    return {rule["name"]: rule for group in groups for rule in group["rules"]}


def test_every_rule_reads_what_exporters_show(world: World) -> None:
    world.apply(TROUBLES)
    world.kubectl().run(NO_IMAGE)
    world.run_for(60 * SECOND)
    world.kubectl().run("cordon worker-1")
    world.machines["worker-2"].control("stop", "kubelet")
    world.run_for(90 * SECOND)
    (config,) = [
        one for one in yaml.safe_load_all(bootstrap.manifest("observe-rules.yaml")) if one["kind"] == "ConfigMap"
    ]
    store, seen, unknown = world.series, 0, []
    assert store is not None
    for text in config["data"].values():
        for group in yaml.safe_load(text)["groups"]:
            for rule in group["rules"]:
                for one in selectors(parse(rule["expr"])):
                    names = [m for m in one.matchers if m.name == "__name__"]
                    assert names, rule["alert"]
                    unknown += [] if store.select(names, 0, 1 << 60) else [(rule["alert"], one.name)]
                    seen += 1
    assert not unknown
    assert seen > 60


def test_a_calm_cluster_pages_nobody_and_all_rules_are_well(world: World) -> None:
    found = rules(world)
    assert len(found) > 45
    assert {rule["health"] for rule in found.values()} == {"ok"}
    assert firing(world) == {}
    assert paged(world) == []
    assert found["Watchdog"]["state"] == "firing"
    assert 0 <= world.now - world.programs.outside.oncall.beaten_ns <= 60 * SECOND


def test_an_alert_waits_fires_and_pages_and_is_over(world: World) -> None:
    begun, seen = world.now, []
    world.kubectl().run(NO_IMAGE)
    world.kubectl().run("scale -n shop deployment/front --replicas 3")
    while "PodStatusError" not in paged(world):
        world.run_for(5 * SECOND)
        seen.append(firing(world).get("PodStatusError", "inactive"))
        assert world.now - begun < 300 * SECOND
    assert list(dict.fromkeys(seen)) == ["inactive", "pending", "firing"]
    assert 90 * SECOND <= world.now - begun <= 200 * SECOND  # a scrape, an evaluation, `for`, and the group's wait
    page = next(page for page in world.programs.outside.oncall.firing(world.now) if page.rule == "PodStatusError")
    assert "shop/front-" in page.object
    assert 'namespace="shop"' in page.text
    series = world.series
    assert series is not None
    named = [Matcher("__name__", "=", "ALERTS"), Matcher("alertname", "=", "PodStatusError")]
    states = {dict(one.labels)["alertstate"] for one in series.select(named, 0, 1 << 60)}
    assert states == {"pending", "firing"}
    world.kubectl().run("rollout undo -n shop deployment/front")
    world.run_for(480 * SECOND)
    assert paged(world) == []
    assert firing(world) == {}


def test_a_service_without_endpoints_is_found_by_probes(world: World) -> None:
    world.kubectl().run("""patch service -n shop front -p '{"spec":{"selector":{"version":"v2"}}}'""")
    world.run_for(240 * SECOND)
    assert {"ServiceEndpointDown", "HTTPProbeFailure"} <= set(paged(world))
    assert not any("selector" in str(page) for page in world.programs.outside.oncall.firing(world.now))


def test_without_alertmanager_nobody_is_paged_but_the_heartbeat_is_missed(world: World) -> None:
    world.kubectl().run("scale -n observe statefulset/prometheus-alertmanager --replicas 0")
    world.run_for(60 * SECOND)
    world.kubectl().run(NO_IMAGE)
    world.run_for(150 * SECOND)
    assert firing(world)["PodStatusError"] == "firing"
    assert paged(world) == []
    world.run_for(170 * SECOND)
    assert paged(world) == ["DeadMansSwitch"]
    world.kubectl().run("scale -n observe statefulset/prometheus-alertmanager --replicas 1")
    world.run_for(180 * SECOND)
    assert "PodStatusError" in paged(world)
    assert "DeadMansSwitch" not in paged(world)


def test_alertmanager_that_cannot_get_out_tries_again_and_says_so(world: World) -> None:
    pod = json.loads(world.kubectl().run("get pod -n observe prometheus-alertmanager-0 -o json").stdout)
    world.network.outside.clear()
    world.kubectl().run(NO_IMAGE)
    world.run_for(540 * SECOND)
    assert "PodStatusError" not in paged(world)
    said = logs(world, "prometheus-alertmanager-0 -c alertmanager")
    assert 'msg="Notify for alerts failed"' in said
    assert "lookup events.oncall.example" in said
    assert pod["status"]["phase"] == "Running"


def test_rules_are_read_again_when_their_configmap_changes_and_a_wrong_file_is_refused(world: World) -> None:
    good = "groups: [{name: own, rules: [{record: 'job:up:sum', expr: 'sum by (job) (up)'}]}]"
    wrong = "groups: [{name: broken, rules: [{alert: A, expr: 'sum('}]}]"
    assert "job:up:sum" not in rules(world)
    _put(world, "own.yml", good)
    world.run_for(240 * SECOND)
    assert rules(world)["job:up:sum"]["health"] == "ok"
    found = asked(world, "prometheus-server:80", "/api/v1/query?query=job:up:sum")["data"]["result"]
    assert {one["metric"]["job"]: one["value"][1] for one in found}["kube-proxy"] == "3"
    _put(world, "broken.yml", wrong)
    world.run_for(120 * SECOND)
    assert "job:up:sum" in rules(world)
    assert "A" not in rules(world)
    reloaded = asked(world, "prometheus-server:80", "/api/v1/query?query=prometheus_config_last_reload_successful")
    assert reloaded["data"]["result"][0]["value"][1] == "0"
    said = logs(world, "deploy/prometheus-server -c prometheus-server")
    assert "error loading rules, previous rule set restored" in said
    assert "unclosed left parenthesis" in said


def _put(world: World, name: str, text: str) -> None:
    found = json.loads(world.kubectl().run("get configmap -n observe prometheus-rules -o json").stdout)
    found["data"][name] = text
    said = world.kubectl().run("replace -f -", stdin=json.dumps(found))
    assert not said.exit_code, said


def test_a_world_with_alerts_is_copied_and_goes_on_alike(world: World) -> None:
    world.kubectl().run(NO_IMAGE)
    world.run_for(100 * SECOND)
    other, third = world.fork(), pickle.loads(pickle.dumps(world))
    for one in (world, other, third):
        one.run_for(80 * SECOND)
    pages = [[str(page) for page in one.programs.outside.oncall.firing(one.now)] for one in (world, other, third)]
    assert pages[0]
    assert pages[0] == pages[1] == pages[2]
    assert world.sim.digest.hex() == other.sim.digest.hex() == third.sim.digest.hex()

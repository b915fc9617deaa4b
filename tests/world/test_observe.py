"""Prometheus in a cluster: what it scrapes, what keeps it from that, and that its numbers are those of the cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from simcluster import tasks
from simcluster.engine import SECOND
from simcluster.faults.incident import Incident
from simcluster.faults.registry import ids, mechanisms
from simcluster.faults.steps import IncidentStep
from simcluster.models.traffic.cluster.users import UserLoad
from simcluster.telemetry.metrics.store import MetricStore
from simcluster.telemetry.promql.storage import STALE_NAN_BITS, Matcher, SeriesData
from simcluster.world import World

EVER = 1 << 60


@pytest.fixture(scope="module", name="observed")
def with_application() -> World:
    world = World(3, workers=2)
    world.observe()
    world.deploy("online-boutique", "boutique")
    world.add_users("boutique", "frontend", 20.0)
    world.run_for(240 * SECOND)
    return world


@pytest.fixture(name="world")
def copied(observed: World) -> World:
    return observed.fork()


def store_of(world: World) -> MetricStore:
    store = world.series
    assert store is not None
    return store


def select(world: World, name: str, **equal: str) -> list[SeriesData]:
    matchers = [Matcher("__name__", "=", name), *(Matcher(key, "=", value) for key, value in equal.items())]
    return store_of(world).select(matchers, 0, EVER)


def is_stale(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = values.view(np.uint64) == STALE_NAN_BITS
    return found


def latest(found: Sequence[SeriesData]) -> list[float]:
    return [float(series.values[-1]) for series in found]


def test_a_copy_reads_no_configuration_again(world: World) -> None:
    world.run_for(15 * SECOND)  # it is a copy itself
    other = world.fork()
    for each in (world, other):
        each.run_for(15 * SECOND)
    asked = "logs -n observe deployment/prometheus-server -c prometheus-server"
    first, second = (each.kubectl().run(asked).stdout for each in (world, other))
    assert "Server is ready" in first
    assert first == second


def test_all_targets_answer_at_the_offsets_of_their_jobs(world: World) -> None:
    found = select(world, "up")
    assert {dict(series.labels)["job"] for series in found} == {
        "prometheus", "kubernetes-apiservers", "kubernetes-nodes", "kubernetes-nodes-cadvisor", "kube-etcd",
        "kubernetes-nodes-probes", "redis",
        "kubernetes-service-endpoints", "kubernetes-service-endpoints-slow", "kube-scheduler",
        "kube-controller-manager", "kube-proxy", "blackbox-tcp", "blackbox-http",
    }  # fmt: skip
    assert latest(found) == [1.0] * len(found)
    for series in found:
        assert set(np.diff(series.times).tolist()) <= {15_000, 30_000, 60_000}
    offsets = {(dict(series.labels)["job"], int(series.times[-1]) % 15_000) for series in found}
    assert len(offsets) == len({offset for _, offset in offsets}) == len({job for job, _ in offsets})


@pytest.mark.parametrize(
    "name",
    [
        "container_cpu_usage_seconds_total", "container_memory_working_set_bytes", "kubelet_running_pods",
        "container_cpu_cfs_throttled_periods_total", "kube_pod_status_phase", "kube_deployment_status_replicas_ready",
        "node_cpu_seconds_total", "node_memory_MemAvailable_bytes", "node_filesystem_avail_bytes",
        "node_disk_io_time_seconds_total", "node_network_receive_bytes_total", "node_nf_conntrack_entries",
        "node_hwmon_temp_celsius", "apiserver_request_total", "apiserver_storage_objects", "coredns_panics_total",
        "etcd_server_has_leader", "workqueue_adds_total", "workqueue_queue_duration_seconds_bucket",
        "scheduler_schedule_attempts_total", "kubeproxy_sync_proxy_rules_duration_seconds_bucket", "calls_total",
        "duration_milliseconds_bucket", "container_network_receive_packets_total", "redis_commands_processed_total",
        "prober_probe_total",
    ],
)  # fmt: skip
def test_every_part_is_seen(world: World, name: str) -> None:
    assert select(world, name)


def test_numbers_are_those_of_the_cluster(world: World) -> None:
    kubectl = world.kubectl()
    running = [
        name
        for pod in json.loads(kubectl.run("get pods -n boutique -o json").stdout)["items"]
        for name in [pod["metadata"]["name"]]
    ]
    seen = select(world, "kube_pod_status_phase", namespace="boutique", phase="Running")
    assert sorted(dict(series.labels)["pod"] for series in seen) == sorted(running)
    for series in select(world, "container_memory_working_set_bytes", namespace="boutique", container="server"):
        labels = dict(series.labels)
        run = next(r for r in world.machines[labels["instance"]].containers() if r.container_id == labels["name"])
        assert series.values[-1] == run.memory_bytes
    for name, machine in world.machines.items():
        busy = [s for s in select(world, "node_cpu_seconds_total", node=name) if dict(s.labels)["mode"] == "user"]
        used = sum(series.values[-1] for series in busy)
        assert used == pytest.approx(machine.os.times.all().user / SECOND, rel=0.1)


def asked(world: World, path: str) -> Any:
    path = f"/api/v1/namespaces/observe/services/prometheus-server:80/proxy/api/v1/{path}"
    return json.loads(world.kubectl().run(f"get --raw '{path}'").stdout)["data"]


def test_its_api_answers_at_its_service(world: World) -> None:
    found = asked(world, "query?query=count%20by%20(job)%20(up)")["result"]
    counts = {one["metric"]["job"]: one["value"][1] for one in found}
    assert counts["kubernetes-nodes"] == counts["kube-proxy"] == "3"
    targets = asked(world, "targets")["activeTargets"]
    assert {target["health"] for target in targets} == {"up"}
    assert targets[0]["discoveredLabels"]["__address__"]
    assert asked(world, "metadata?metric=kube_pod_info")["kube_pod_info"][0]["type"] == "gauge"


def test_counters_never_run_backwards(world: World) -> None:
    store, checked = store_of(world), 0
    for log in store.logs.values():
        for form in log.shown:
            for family in form.families:
                if family.kind not in ("counter", "histogram"):
                    continue
                suffixes = {suffix for suffix, _ in family.series}
                for suffix in suffixes:
                    matchers = [Matcher("__name__", "=", family.name + suffix)]
                    matchers += [Matcher(key, "=", value) for key, value in log.honour.target if key != "namespace"]
                    for series in store.select(matchers, 0, EVER)[:3]:
                        assert (np.diff(series.values[~is_stale(series.values)]) >= 0.0).all(), series.labels
                        checked += 1
            if checked > 400:
                return


def test_a_kubelet_that_stops_is_down_and_its_series_end(world: World) -> None:
    world.machines["worker-1"].control("stop", "kubelet")
    world.run_for(60 * SECOND)
    job = "kubernetes-nodes-cadvisor"
    assert latest(select(world, "up", job=job, instance="worker-1")) == [0.0]
    assert latest(select(world, "up", job=job, instance="worker-2")) == [1.0]
    gone = select(world, "container_cpu_usage_seconds_total", instance="worker-1")
    assert gone
    assert all(is_stale(series.values)[-1] for series in gone)
    world.machines["worker-1"].control("start", "kubelet")
    world.run_for(60 * SECOND)
    assert latest(select(world, "up", job=job, instance="worker-1")) == [1.0]


def test_a_partition_is_a_scrape_that_times_out(world: World) -> None:
    server = world.programs.databases.server
    assert server is not None
    here = server.container.machine.name
    there = next(name for name in world.machines if name not in (here, "control-plane"))
    world.network.links.partition("cut", [here], [there])
    world.run_for(60 * SECOND)
    address = world.machines[there].address
    assert latest(select(world, "up", instance=f"{address}:9100")) == [0.0]
    assert latest(select(world, "scrape_duration_seconds", instance=f"{address}:9100")) == [10.0]
    target = next(target for target in server.loops if target.address == f"{address}:9100")
    assert server.loops[target].health.error.endswith("context deadline exceeded")


def test_a_container_that_starts_again_leaves_a_gap_and_a_new_pod_has_nothing(world: World) -> None:
    store = store_of(world)
    for _ in range(3):  # the second time it has to wait
        server = world.programs.databases.server
        if server is not None:
            server.container.kill()
        world.run_for(20 * SECOND)
    world.run_for(60 * SECOND)
    assert store_of(world) is store
    times = select(world, "up", job="prometheus")[0].times
    assert np.diff(times).max() > 15_000
    world.kubectl().run("delete pod -n observe -l app.kubernetes.io/name=prometheus")
    world.run_for(60 * SECOND)
    assert store_of(world) is not store
    assert select(world, "up", job="prometheus")[0].times[0] > times[-1]


def test_who_may_not_list_discovers_nothing(world: World) -> None:
    world.kubectl().run("delete clusterrole prometheus-server")
    world.kubectl().run("delete pod -n observe -l app.kubernetes.io/name=prometheus")
    world.run_for(60 * SECOND)
    assert {dict(series.labels)["job"] for series in select(world, "up")} == {"prometheus"}
    log = world.kubectl().run("logs -n observe deploy/prometheus-server -c prometheus-server").stdout
    assert 'nodes is forbidden: User "system:serviceaccount:observe:prometheus-server" cannot list' in log


def test_the_configuration_is_read_again(world: World) -> None:
    found = json.loads(world.kubectl().run("get configmap -n observe prometheus-server -o json").stdout)
    text = found["data"]["prometheus.yml"].replace("job_name: kube-proxy", "job_name: proxies")
    mapped = "regex: __meta_kubernetes_node_label_(.+)\n"
    assert mapped in text
    text = text.replace(mapped, f"{mapped}        replacement: its_$1\n")
    world.kubectl().run(
        "patch configmap -n observe prometheus-server --type merge -p "
        + "'" + json.dumps({"data": {"prometheus.yml": text}}).replace("'", "") + "'"
    )  # fmt: skip
    world.run_for(150 * SECOND)
    assert latest(select(world, "up", job="proxies")) == [1.0] * 3
    assert all(is_stale(series.values)[-1] for series in select(world, "up", job="kube-proxy"))
    assert latest(select(world, "up", job="kubernetes-nodes", its_kubernetes_io_os="linux")) == [1.0] * 3


def test_looking_changes_nothing_and_copies_go_on_alike(world: World) -> None:
    other, third = world.fork(), World.fork(world)
    for _ in range(3):
        store_of(other).select([Matcher("__name__", "=~", ".+")], 0, EVER)
        other.kubectl().run("get --raw /metrics")
        other.run_for(20 * SECOND)
    third.run_for(60 * SECOND)
    assert shown(other) == shown(third)


def shown(world: World) -> list[tuple[Any, ...]]:
    found = store_of(world).select([], 0, EVER)
    return [(series.labels, series.times.tobytes(), series.values.tobytes()) for series in found]


def test_a_copy_that_collects_nothing_lives_on(world: World) -> None:
    other = world.fork()
    other.stop_collecting()
    before, lines = shown(other), other.lines
    assert lines is not None
    received = lines.received_bytes
    for one in (world, other):
        one.run_for(90 * SECOND)
    assert shown(other) == before
    assert lines.received_bytes == received
    since, now = world.sim.now - 90 * SECOND, world.sim.now
    assert users_of(other).window(since, now).ended == users_of(world).window(since, now).ended
    pods = other.api.store.objects("pods", "observe")
    assert all(each["status"]["phase"] == "Running" for each in pods)


def test_the_same_seed_gives_the_same_bytes() -> None:
    found = []
    for _ in range(2):
        world = World(9, workers=1)
        world.observe()
        world.run_for(60 * SECOND)
        found.append(shown(world))
    assert found[0] == found[1]


def rate_of_errors(world: World, service: str) -> float:
    ok, failed = 0.0, 0.0
    for series in select(world, "calls_total", service_name=service, span_kind="SPAN_KIND_SERVER"):
        grown = float(series.values[-1] - series.values[-9])
        if dict(series.labels)["status_code"] == "STATUS_CODE_ERROR":
            failed += grown
        else:
            ok += grown
    return failed / (ok + failed)


def quantile(world: World, service: str, share: float) -> tuple[float, float]:
    """The bucket in which a quantile lies, milliseconds."""
    found: dict[float, float] = {}
    for series in select(
        world, "duration_milliseconds_bucket", service_name=service, span_kind="SPAN_KIND_SERVER",
        status_code="STATUS_CODE_UNSET",
    ):  # fmt: skip
        bound = float(dict(series.labels)["le"])
        found[bound] = found.get(bound, 0.0) + float(series.values[-1] - series.values[-9])
    bounds = sorted(found)
    place = next(at for at, bound in enumerate(bounds) if found[bound] >= share * found[bounds[-1]])
    return (bounds[place - 1] if place else 0.0, bounds[place])


def users_of(world: World) -> UserLoad:
    return world.traffic.users["boutique/frontend"]


def test_spans_agree_with_what_users_meet(world: World) -> None:
    world.run_for(120 * SECOND)
    met = users_of(world).window(world.now - 135 * SECOND, world.now)
    assert rate_of_errors(world, "frontend") == pytest.approx(1.0 - met.success_ratio, abs=0.01)
    for share in (0.5, 0.9):
        low, high = quantile(world, "frontend", share)
        assert low * 0.95 <= met.latency_ms(share) <= high * 1.05


def test_spans_agree_while_a_service_is_gone(world: World) -> None:
    world.kubectl().run("scale deploy -n boutique adservice recommendationservice currencyservice --replicas 0")
    world.run_for(180 * SECOND)
    met = users_of(world).window(world.now - 135 * SECOND, world.now)
    assert met.success_ratio < 0.9
    assert rate_of_errors(world, "frontend") == pytest.approx(1.0 - met.success_ratio, abs=0.05)


def mean_ms(world: World, service: str, kind: str, status: str) -> float:
    """Mean duration of the spans of two minutes."""
    equal = {"service_name": service, "span_kind": f"SPAN_KIND_{kind}", "status_code": f"STATUS_CODE_{status}"}
    total, count = (
        sum(
            float(series.values[-1] - series.values[-9])
            for series in select(world, f"duration_milliseconds_{what}", **equal)
            if len(series.values) > 8
        )
        for what in ("sum", "count")
    )
    return total / count


def test_a_server_does_not_see_how_far_its_caller_is_and_waits_until_its_call_has_failed(world: World) -> None:
    before = mean_ms(world, "adservice", "SERVER", "UNSET")
    step = {"fault": "pod_network_delay", "at": "0s", "target": "Deployment/adservice",
            "params": {"delay_ms": 60, "to": ["frontend.boutique.svc"]}}  # fmt: skip
    Incident(world, "boutique", (IncidentStep.model_validate(step),), None).start()
    world.run_for(135 * SECOND)
    assert mean_ms(world, "adservice", "SERVER", "UNSET") == pytest.approx(before, rel=0.2)
    patch = [{"op": "replace", "path": "/spec/ports/0/targetPort", "value": 9}]
    command = f"patch service currencyservice -n boutique --type=json -p '{json.dumps(patch)}'"
    assert world.kubectl().run(command).exit_code == 0
    world.kubectl().run("rollout restart deployment/checkoutservice -n boutique")
    world.run_for(150 * SECOND)
    failed = mean_ms(world, "checkoutservice", "SERVER", "ERROR")
    assert failed > mean_ms(world, "checkoutservice", "CLIENT", "ERROR")
    for _ in range(4):  # pods come and go: those that failed before took as long as they did
        world.kubectl().run("rollout restart deployment/adservice -n boutique")
        world.run_for(30 * SECOND)
    assert mean_ms(world, "checkoutservice", "SERVER", "ERROR") == pytest.approx(failed, rel=0.02)


def test_no_label_knows_a_fault(world: World) -> None:
    task = tasks.load("wrong_service_selector_online_boutique")
    steps = tuple(step.model_copy(update={"at": 0}) for step in task.incident)
    incident = Incident(world, "boutique", steps, None)
    incident.start()
    world.run_for(60 * SECOND)
    assert incident.done
    pairs = {pair for labels, *_ in shown(world) for pair in labels if pair[0] != "__name__"}
    words = {word.replace("-", "_") for pair in pairs for word in pair}
    assert not [(name, word) for name in [*ids(), *mechanisms(), task.id] for word in words if name in word]


def per_second(world: World, name: str, **equal: str) -> float:
    """Growth of a counter over its last three scrapes, a second."""
    (series,) = select(world, name, **equal)
    return float(series.values[-1] - series.values[-4]) / float(series.times[-1] - series.times[-4]) * 1000.0


def pod_of(world: World, app: str) -> str:
    found = json.loads(world.kubectl().run(f"get pods -n boutique -l app={app} -o json").stdout)["items"]
    return str(found[0]["metadata"]["name"])


@pytest.mark.parametrize("app", ["adservice", "productcatalogservice", "shippingservice"])
def test_packets_of_a_pod_follow_its_requests(world: World, app: str) -> None:
    """A request and an answer each, and acknowledgements of their own where no request follows soon."""
    world.run_for(60 * SECOND)
    asked = sum(  # few
        float(series.values[-1] - series.values[-6]) / 75.0
        for series in select(world, "calls_total", service_name=app, span_kind="SPAN_KIND_SERVER")
    )
    pod = {"namespace": "boutique", "pod": pod_of(world, app)}
    received = per_second(world, "container_network_receive_packets_total", **pod)
    sent = per_second(world, "container_network_transmit_packets_total", **pod)
    assert 0.9 * asked < received < 2.2 * asked + 1.0
    assert sent == pytest.approx(asked, rel=0.15, abs=0.7)


def test_a_pod_that_nobody_asks_is_nearly_silent(world: World) -> None:
    pod = {"namespace": "boutique", "pod": pod_of(world, "adservice")}
    busy = per_second(world, "container_network_receive_packets_total", **pod)
    world.kubectl().run("scale deploy -n boutique frontend --replicas 0")
    world.run_for(150 * SECOND)
    assert per_second(world, "container_network_receive_packets_total", **pod) < 1.0 < busy


def test_probes_are_counted_by_result(world: World) -> None:
    pod = {"namespace": "boutique", "pod": pod_of(world, "shippingservice"), "probe_type": "Readiness"}
    assert per_second(world, "prober_probe_total", result="successful", **pod) == pytest.approx(0.2, abs=0.04)
    patch = json.dumps({"spec": {"template": {"spec": {"containers": [{"name": "server", "readinessProbe": {
        "grpc": {"port": 1}}}]}}}})  # fmt: skip
    world.kubectl().run(f"patch deploy -n boutique shippingservice -p '{patch}'")
    world.run_for(180 * SECOND)
    failed = select(world, "prober_probe_total", namespace="boutique", probe_type="Readiness", result="failed")
    assert max(latest(failed)) >= 3.0


def test_an_exporter_of_stores_says_what_the_store_says(world: World) -> None:
    shown_there = world.kubectl().run("exec -n boutique deploy/redis-cart -- redis-cli INFO").stdout
    info = dict(line.split(":", 1) for line in shown_there.splitlines() if ":" in line)
    (seen,) = select(world, "redis_commands_processed_total", namespace="boutique")
    assert 0.9 * float(info["total_commands_processed"]) <= seen.values[-1] <= float(info["total_commands_processed"])
    world.kubectl().run("exec -n boutique deploy/redis-cart -- redis-cli CONFIG SET requirepass x")
    world.run_for(30 * SECOND)
    assert latest(select(world, "redis_up", namespace="boutique")) == [0.0]
    assert latest(select(world, "up", job="redis")) == [1.0]

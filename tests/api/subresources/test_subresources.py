"""Logs, exec, eviction, metrics, reviews, events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from simcluster.api.backends import ExecAnswer, LogOptions, Measured, Usage
from simcluster.api.client import Client
from simcluster.api.events import COMBINED, EventRecorder
from simcluster.api.objects import ApiObject
from simcluster.api.request import ADMIN, TABLE, Response, request_of
from simcluster.api.server import Api
from simcluster.engine import MINUTE, SECOND, Simulation

POD = "/api/v1/namespaces/shop/pods/two"


class Kubelets:
    """Answers with what it was asked."""

    def logs(self, pod: ApiObject, options: LogOptions) -> str:
        return f"{pod['metadata']['name']} {options.container} {options.tail_lines} {options.since_ns}\n"

    def exec(
        self, pod: ApiObject, container: str, argv: Sequence[str], stdin: str, patience_ns: int | None = None
    ) -> ExecAnswer:
        return ExecAnswer(f"{container}: {' '.join(argv)} < {stdin}", "", 3)


class Metrics:
    """Every pod uses a tenth of a core."""

    def available(self) -> bool:
        return True

    def pod(self, namespace: str, name: str) -> Measured | None:
        return Measured(5 * SECOND, 15_500_000_000, {"c": Usage(100_000_000, 24 << 20)})

    def node(self, name: str) -> Measured | None:
        return Measured(5 * SECOND, 15 * SECOND, {"": Usage(0, 1 << 30)})


@pytest.fixture
def api() -> Api:
    api = Api(Simulation(5))
    api.kubelets = Kubelets()
    client = Client(api, ADMIN, "test")
    containers = [{"name": "app", "image": "i"}, {"name": "log", "image": "i"}]
    spec = {"containers": containers, "initContainers": [{"name": "init", "image": "i"}]}
    made = client.create("pods", "shop", {"metadata": {"name": "two", "labels": {"app": "two"}}, "spec": spec})
    client.create("pods", "shop", {"metadata": {"name": "unbound"}, "spec": {"containers": containers[:1]}})
    client.bind(made, "worker-1")
    return api


def get(api: Api, target: str, **rest: Any) -> Response:
    return api.handle(request_of("GET", target, **rest))


class TestContainers:
    def test_logs(self, api: Api) -> None:
        api.sim.run_for(MINUTE)
        answer = get(api, POD + "/log?container=app&tailLines=5&sinceSeconds=10")
        assert (answer.code, answer.text) == (200, f"two app 5 {50 * SECOND}\n")
        assert get(api, "/api/v1/namespaces/shop/pods/unbound/log").text == ""

    @pytest.mark.parametrize(
        ("query", "text"),
        [
            ("", "a container name must be specified for pod two, choose one of: [init app log]"),
            ("?container=nope", "container nope is not valid for pod two"),
        ],
    )
    def test_which_container(self, api: Api, query: str, text: str) -> None:
        answer = get(api, f"{POD}/log{query}")
        assert (answer.code, answer.body["message"]) == (400, text)

    def test_bad_options(self, api: Api) -> None:
        answer = get(api, POD + "/log?container=app&tailLines=-1")
        text = 'PodLogOptions "" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0'
        assert (answer.code, answer.body["message"]) == (422, text)

    def test_exec(self, api: Api) -> None:
        target = POD + "/exec?command=sh&command=-c&command=ls%20-l&container=app&stdin=true&stdout=true"
        answer = api.handle(request_of("POST", target, body="input"))
        assert answer.body == {"stdout": "app: sh -c ls -l < input", "stderr": "", "code": 3, "lasted_ns": 0}

    def test_exec_without_host(self, api: Api) -> None:
        answer = api.handle(request_of("POST", "/api/v1/namespaces/shop/pods/unbound/exec?command=ls"))
        assert (answer.code, answer.body["message"]) == (400, "pod unbound does not have a host assigned")


class TestEviction:
    def evict(self, api: Api) -> Response:
        return api.handle(request_of("POST", POD + "/eviction", body={"metadata": {"name": "two"}}))

    def budget(self, api: Api, allowed: int) -> None:
        client = Client(api, ADMIN, "test")
        spec = {"selector": {"matchLabels": {"app": "two"}}, "minAvailable": 1}
        made = client.create("poddisruptionbudgets.policy", "shop", {"metadata": {"name": "pdb"}, "spec": spec})
        status = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        client.update_status("poddisruptionbudgets.policy", {**made, "status": {**status, "observedGeneration": 1}})
        ready = [{"type": "Ready", "status": "True"}]
        patch = {"status": {"phase": "Running", "conditions": ready}}
        client.patch("pods", "shop", "two", patch, subresource="status")

    def test_evicts(self, api: Api) -> None:
        assert self.evict(api).code == 201
        pod = api.store.get("pods", "shop", "two")
        assert pod is not None
        assert pod["metadata"]["deletionGracePeriodSeconds"] == 30

    def test_budget_is_spent(self, api: Api) -> None:
        self.budget(api, 1)
        assert self.evict(api).code == 201
        budget = api.store.get("poddisruptionbudgets.policy", "shop", "pdb")
        assert budget is not None
        assert budget["status"]["disruptionsAllowed"] == 0
        assert list(budget["status"]["disruptedPods"]) == ["two"]

    def test_budget_refuses(self, api: Api) -> None:
        self.budget(api, 0)
        answer = self.evict(api)
        assert (answer.code, answer.body["reason"]) == (429, "TooManyRequests")
        (cause,) = answer.body["details"]["causes"]
        assert cause["message"] == "The disruption budget pdb needs 1 healthy pods and has 1 currently"


class TestMetrics:
    PODS = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods"

    def test_absent(self, api: Api) -> None:
        assert get(api, self.PODS).code == 404
        assert "metrics.k8s.io" not in [g["name"] for g in get(api, "/apis").body["groups"]]

    def test_pods(self, api: Api) -> None:
        api.metrics = Metrics()
        (item,) = get(api, self.PODS + "?labelSelector=app%3Dtwo").body["items"]
        assert item["containers"] == [{"name": "c", "usage": {"cpu": "100000000n", "memory": "24Mi"}}]
        assert (item["timestamp"], item["window"]) == ("2026-03-02T09:00:05Z", "15.5s")
        assert get(api, self.PODS, accept=TABLE).body["rows"][0]["cells"][0] == "two"
        answer = get(api, self.PODS + "/nope")
        assert (answer.code, answer.body["message"]) == (404, 'pods.metrics.k8s.io "shop/nope" not found')
        assert "metrics.k8s.io" in [g["name"] for g in get(api, "/apis").body["groups"]]


def test_ephemeral_containers(api: Api) -> None:
    client = Client(api, ADMIN, "test")
    patch = {"spec": {"ephemeralContainers": [{"name": "debugger", "image": "busybox"}], "nodeName": "other"}}
    spec = client.patch("pods", "shop", "two", patch, subresource="ephemeralcontainers")["spec"]
    assert spec["ephemeralContainers"][0]["terminationMessagePath"] == "/dev/termination-log"
    assert spec["nodeName"] == "worker-1"


def test_token(api: Api) -> None:
    client = Client(api, ADMIN, "test")
    client.create("serviceaccounts", "shop", {"metadata": {"name": "sa"}})
    answer = api.handle(request_of("POST", "/api/v1/namespaces/shop/serviceaccounts/sa/token", body={"spec": {}}))
    assert answer.body["status"]["expirationTimestamp"] == "2026-03-02T10:00:00Z"
    assert answer.body["status"]["token"].count(".") == 2


class TestEvents:
    @pytest.fixture
    def recorder(self, api: Api) -> EventRecorder:
        return EventRecorder(api.sim, Client(api, ADMIN, "kubelet"), "kubelet", "worker-1")

    def pod(self, api: Api) -> ApiObject:
        found = api.store.get("pods", "shop", "two")
        assert found is not None
        return found

    def counted(self, api: Api) -> list[tuple[str, int]]:
        return [(e["message"], e["count"]) for e in api.store.objects("events")]

    def test_equal_events_are_counted(self, api: Api, recorder: EventRecorder) -> None:
        for _ in range(3):
            recorder.event(self.pod(api), "Warning", "BackOff", "Back-off")
            api.sim.run_for(10 * SECOND)
        (event,) = api.store.objects("events")
        assert (event["count"], event["firstTimestamp"], event["lastTimestamp"]) == (
            3,
            "2026-03-02T09:00:00Z",
            "2026-03-02T09:00:20Z",
        )
        assert event["source"] == {"component": "kubelet", "host": "worker-1"}

    def test_similar_events_are_combined(self, api: Api, recorder: EventRecorder) -> None:
        for index in range(12):
            recorder.event(self.pod(api), "Warning", "Failed", f"number {index}")
            api.sim.run_for(SECOND)
        combined = [entry for entry in self.counted(api) if entry[0].startswith(COMBINED)]
        assert combined == [(COMBINED + "number 11", 3)]
        assert len(self.counted(api)) == 10

    def test_spam_is_dropped(self, api: Api, recorder: EventRecorder) -> None:
        for _ in range(40):
            recorder.event(self.pod(api), "Normal", "Pulled", "pulled")
        assert self.counted(api) == [("pulled", 25)]
        api.sim.run_for(5 * MINUTE)
        recorder.event(self.pod(api), "Normal", "Pulled", "pulled")
        assert self.counted(api) == [("pulled", 41)]

    def test_an_expired_event_returns_with_its_count(self, api: Api, recorder: EventRecorder) -> None:
        recorder.event(self.pod(api), "Normal", "Pulled", "pulled")
        api.sim.run_for(62 * MINUTE)
        assert self.counted(api) == []
        recorder.event(self.pod(api), "Normal", "Pulled", "pulled")
        assert self.counted(api) == [("pulled", 2)]

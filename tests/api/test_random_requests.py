"""Random and hostile requests against the invariants of the API server.

Versions grow, a watch from any point equals a list, quotas are never exceeded, no object
outlives its owners, every answer has a form that clients can read, and nothing is a 500.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from simcluster.api.objects import thaw
from simcluster.api.request import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request, Response, request_of
from simcluster.api.server import Api
from simcluster.control.garbagecollector import GarbageCollector
from simcluster.control.namespace import NamespaceController
from simcluster.control.resourcequota import ResourceQuotaController
from simcluster.control.serviceaccount import ServiceAccountController
from simcluster.engine import MILLISECOND, SECOND, Simulation

NAMESPACES = ("default", "tiny", "other")
NAMES = ("a", "b", "c", "d")
HARD = {"pods": 2, "configmaps": 4, "requests.cpu": 500}
#: Steps of `make test-all`; `make test` runs a sample.
WHOLE, SAMPLE, STEPS = 400, 8, 50

names = st.sampled_from(NAMES)
namespaces = st.sampled_from(NAMESPACES)
labels = st.dictionaries(st.sampled_from(("app", "tier")), st.sampled_from(("x", "y")), max_size=2)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def pod(name: str, carried: dict[str, str], cpu: str) -> dict[str, Any]:
    container = {"name": "main", "image": "busybox:1.36", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "labels": carried}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def config_map(name: str, carried: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": carried}, "data": {"k": "v"}}


class Requests(RuleBasedStateMachine):
    """One API server with the controllers that its own promises need."""

    def __init__(self) -> None:
        super().__init__()
        self.sim = Simulation(1)
        self.api = Api(self.sim)
        self.controllers = [
            kind(self.sim, self.api)
            for kind in (GarbageCollector, NamespaceController, ResourceQuotaController, ServiceAccountController)
        ]
        for name in NAMESPACES:
            self.send("POST", "/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": name}})
        hard = {**HARD, "requests.cpu": f"{HARD['requests.cpu']}m"}
        self.send("POST", "/api/v1/namespaces/tiny/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard}})
        self.sim.run_for(SECOND)
        self.newest = self.api.store.version
        listed = self.send("GET", "/api/v1/configmaps").body
        self.copy = {self.key(item): item for item in listed["items"]}
        target = f"/api/v1/configmaps?watch=true&resourceVersion={listed['metadata']['resourceVersion']}"
        stream = self.api.handle(request_of("GET", target)).stream
        assert stream is not None
        self.stream = stream

    @staticmethod
    def key(obj: dict[str, Any]) -> tuple[str, str]:
        return obj["metadata"]["namespace"], obj["metadata"]["name"]

    def send(self, method: str, target: str, body: Any = None, **rest: Any) -> Response:
        response = self.api.handle(request_of(method, target, body=body, **rest))
        self.judge(response)
        return response

    def judge(self, response: Response) -> None:
        """Whatever was asked: no crash, and a Status that says why."""
        assert response.code < 500, response.body
        if response.text is not None:  # paths that are no part of the API, as a plain web server answers
            assert response.text == "404 page not found\n"
        elif response.code >= 400:
            status = response.body
            assert status["kind"] == "Status"
            assert status["status"] == "Failure"
            assert status["code"] == response.code
            assert status["message"]

    # Honest requests.

    @rule(namespace=namespaces, name=names, carried=labels, cpu=st.sampled_from(("0", "100m", "300m")))
    def create_pod(self, namespace: str, name: str, carried: dict[str, str], cpu: str) -> None:
        response = self.send("POST", f"/api/v1/namespaces/{namespace}/pods", pod(name, carried, cpu))
        assert response.code in (201, 403, 409)

    @rule(namespace=namespaces, name=names, carried=labels)
    def create_config_map(self, namespace: str, name: str, carried: dict[str, str]) -> None:
        response = self.send("POST", f"/api/v1/namespaces/{namespace}/configmaps", config_map(name, carried))
        assert response.code in (201, 403, 409)

    @rule(namespace=namespaces, name=names, owner=names, block=st.booleans())
    def create_owned(self, namespace: str, name: str, owner: str, block: bool) -> None:
        found = self.api.store.get("configmaps", namespace, owner)
        if found is None:
            return
        body = config_map(f"{name}-of-{owner}", {})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": found["metadata"]["uid"]}
        body["metadata"]["ownerReferences"] = [{**reference, "blockOwnerDeletion": block}]
        self.send("POST", f"/api/v1/namespaces/{namespace}/configmaps", body)

    @rule(namespace=namespaces, name=names, carried=labels, stale=st.booleans())
    def update(self, namespace: str, name: str, carried: dict[str, str], stale: bool) -> None:
        found = self.api.store.get("configmaps", namespace, name)
        if found is None:
            return
        body = thaw(found)
        body["metadata"]["labels"] = carried
        if stale:
            body["metadata"]["resourceVersion"] = "1"
        response = self.send("PUT", f"/api/v1/namespaces/{namespace}/configmaps/{name}", body)
        assert response.code == (409 if stale else 200), response.body

    @rule(
        namespace=namespaces,
        name=names,
        carried=labels,
        form=st.sampled_from((MERGE_PATCH, STRATEGIC_MERGE_PATCH, JSON_PATCH)),
    )
    def patch(self, namespace: str, name: str, carried: dict[str, str], form: str) -> None:
        body: Any = {"metadata": {"labels": carried}, "data": {"k": None, "n": "1"}}
        if form == JSON_PATCH:
            body = [{"op": "add", "path": "/data/n", "value": "2"}]
        self.send("PATCH", f"/api/v1/namespaces/{namespace}/configmaps/{name}", body, content_type=form)

    @rule(
        namespace=namespaces,
        resource=st.sampled_from(("pods", "configmaps")),
        name=names,
        policy=st.sampled_from(("Background", "Foreground", "Orphan")),
    )
    def delete(self, namespace: str, resource: str, name: str, policy: str) -> None:
        options = {"kind": "DeleteOptions", "propagationPolicy": policy}
        self.send("DELETE", f"/api/v1/namespaces/{namespace}/{resource}/{name}", options)

    @rule(namespace=namespaces, carried=labels)
    def delete_many(self, namespace: str, carried: dict[str, str]) -> None:
        selector = ",".join(f"{key}={value}" for key, value in carried.items()) or "app=nobody"
        self.send("DELETE", f"/api/v1/namespaces/{namespace}/configmaps?labelSelector={selector}")

    @rule(milliseconds=st.integers(1, 3000))
    def live(self, milliseconds: int) -> None:
        self.sim.run_for(milliseconds * MILLISECOND)

    # Hostile requests.

    @rule(
        method=st.sampled_from(("GET", "POST", "PUT", "PATCH", "DELETE", "BREW")),
        path=st.sampled_from(
            (
                "/api/v1/namespaces/default/pods",
                "/api/v1/namespaces/default/configmaps/a",
                "/api/v1/widgets",
                "/apis/apps/v1/namespaces/nowhere/deployments",
                "/apis//v1/",
                "/api/v1/namespaces/default/pods/a/binding",
                "/nonsense",
            )
        ),
        body=json_values | st.binary(max_size=12),
        form=st.sampled_from((MERGE_PATCH, STRATEGIC_MERGE_PATCH, JSON_PATCH, "application/json", "text/html", "")),
    )
    def garbage(self, method: str, path: str, body: Any, form: str) -> None:
        if method == "DELETE" and path.endswith("/pods"):
            return  # that is a request everybody may make
        self.judge(self.api.handle(Request(method, path, (), body, content_type=form)))

    @rule(
        selector=st.text(alphabet="ab=!,() in", max_size=10), field=st.text(alphabet="metadata.name=!,x", max_size=12)
    )
    def select(self, selector: str, field: str) -> None:
        query = (("labelSelector", selector), ("fieldSelector", field), ("limit", "2"))
        self.judge(self.api.handle(Request("GET", "/api/v1/pods", query)))

    # What always holds.

    @invariant()
    def versions_grow(self) -> None:
        assert self.api.store.version >= self.newest
        self.newest = self.api.store.version

    @invariant()
    def a_watch_equals_a_list(self) -> None:
        for event in self.stream.poll():
            item = event["object"]
            if event["type"] == "DELETED":
                del self.copy[self.key(item)]
            else:
                assert (event["type"] == "ADDED") == (self.key(item) not in self.copy)
                self.copy[self.key(item)] = item
        listed = self.api.handle(request_of("GET", "/api/v1/configmaps")).body["items"]
        assert {self.key(item): item["metadata"]["resourceVersion"] for item in listed} == {
            key: item["metadata"]["resourceVersion"] for key, item in self.copy.items()
        }

    @invariant()
    def quotas_hold(self) -> None:
        pods = self.api.store.objects("pods", "tiny")
        assert len(pods) <= HARD["pods"]
        assert len(self.api.store.objects("configmaps", "tiny")) <= HARD["configmaps"]
        requests = [p["spec"]["containers"][0]["resources"]["requests"]["cpu"] for p in pods]
        assert sum(int(text.removesuffix("m")) for text in requests) <= HARD["requests.cpu"]

    def teardown(self) -> None:
        """Left alone, the collector leaves no object whose owners are all gone."""
        self.sim.run_for(30 * SECOND)
        store = self.api.store
        uids = {obj["metadata"]["uid"] for resource in store.resources() for obj in store.objects(resource)}
        for obj in store.objects("configmaps"):
            owners = obj["metadata"].get("ownerReferences") or ()
            assert not owners or any(owner["uid"] in uids for owner in owners), obj["metadata"]


def test_random_requests_break_no_promise(request: pytest.FixtureRequest) -> None:
    examples = WHOLE if request.config.getoption("--whole") else SAMPLE
    run_state_machine_as_test(
        Requests,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )

"""Whatever components write, and whatever stands in the way: short ways lead where requests lead."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcluster.api.authorization.bootstrap import enforce
from simcluster.api.backends import WebhookCall, WebhookReply
from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.objects import ApiObject, Json, thaw
from simcluster.api.request import ADMIN, Request, Response, User, WatchStream, request_of
from simcluster.api.shortways.renewal import LEASES
from simcluster.engine import SECOND, Simulation, format_rfc3339
from simcluster.world.apigate import GatedApi

WHOLE, SAMPLE = 3000, 60
SPACE, NODE_LEASES = "shop", "kube-node-lease"
USERS = {
    "kubelet": User("system:node:n1", ("system:nodes", "system:authenticated")),
    "another": User("system:node:n2", ("system:nodes", "system:authenticated")),
    "controllers": User("system:serviceaccount:kube-system:replicaset-controller", ("system:authenticated",)),
    "scheduler": User("system:kube-scheduler", ("system:authenticated",)),
    "admin": ADMIN,
    "stranger": User("mallory", ("system:authenticated",)),
}
WATCHED = ("/api/v1/pods", "/api/v1/events", "/api/v1/nodes", "/apis/apps/v1/replicasets", "/apis/apps/v1/deployments")
ADMISSION = "admissionregistration.k8s.io"


class Requesting(Client):
    """A client that makes a request of every write."""

    def _reaches(self) -> bool:
        return False


class Counting(GatedApi):
    """Counts requests."""

    requests = 0

    def handle(self, request: Request) -> Response:
        self.requests += 1
        return super().handle(request)


class Receiver:
    """The server of a webhook: keeps what it is asked, and answers in no form that is known."""

    def __init__(self) -> None:
        self.reviews: list[str] = []

    def call(self, call: WebhookCall) -> WebhookReply:
        request = call.review["request"]
        self.reviews.append(f"{request['operation']} {request['resource']} {request.get('name')}")
        return WebhookReply(status=200, body="{}")


class Side:
    """One cluster, written on one of the two ways."""

    def __init__(self, kind: type[Client], *, authorized: bool) -> None:
        self.kind = kind
        self.api = Counting(Simulation(3))
        self.admin = Client(self.api, ADMIN, "kubectl")
        self.receiver = Receiver()
        self.api.reach_webhooks(self.receiver)
        for name in ("default", SPACE, NODE_LEASES, "kube-system"):
            self.admin.create("namespaces", "", {"metadata": {"name": name}})
            self.admin.create("serviceaccounts", name, {"metadata": {"name": "default"}})
        for node in ("n1", "n2"):
            status = {"conditions": conditions(0, "True")}
            self.admin.create("nodes", "", {"metadata": {"name": node}, "status": status})
        for name in ("web", "api"):
            labels = {"app": name}
            template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}
            spec: Json = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
            for resource in ("replicasets.apps", "deployments.apps"):
                self.admin.create(resource, SPACE, {"metadata": {"name": name}, "spec": spec})
        if authorized:
            enforce(self.api)
        self.clients: dict[tuple[str, str], Client] = {}
        self.recorders: dict[str, EventRecorder] = {}
        kubelet = self.client("kubelet", "kubelet")
        spec = {"holderIdentity": "n1", "leaseDurationSeconds": 40, "renewTime": "2026-03-02T09:00:00.000000Z"}
        kubelet.create(LEASES, NODE_LEASES, {"metadata": {"name": "n1", "namespace": NODE_LEASES}, "spec": spec})
        kubelet.patch("nodes", "", "n1", {"status": {"conditions": conditions(1, "True")}}, subresource="status")
        self.streams: list[WatchStream] = []
        for path in WATCHED:
            stream = self.api.handle(request_of("GET", f"{path}?watch=true")).stream
            assert stream is not None
            self.streams.append(stream)

    def client(self, user: str, agent: str) -> Client:
        key = (user, agent)
        if key not in self.clients:
            self.clients[key] = self.kind(self.api, USERS[user], agent)
        return self.clients[key]

    def pod(self, index: int) -> ApiObject | None:
        pods = self.api.store.objects("pods", SPACE)
        return pods[index % len(pods)] if pods else None

    def state(self) -> Any:
        """What anybody can see: bytes, events of watches, counts, reviews."""
        events = [[(e["type"], list(e["object"].items())) for e in stream.poll()] for stream in self.streams]
        written = {key: client.writes for key, client in self.clients.items()}
        return (
            self.api.sim.digest.hex(),
            self.api.store.version,
            events,
            self.api.served.counts,
            written,
            self.receiver.reviews,
        )


def conditions(minute: int, ready: str) -> list[Json]:
    times = {"lastHeartbeatTime": f"2026-03-02T09:{minute:02}:00Z", "lastTransitionTime": "2026-03-02T09:00:00Z"}
    return [
        {"type": "MemoryPressure", "status": "False", "reason": "Fine", "message": "fine", **times},
        {"type": "Ready", "status": ready, "reason": "KubeletReady", "message": "ready", **times},
    ]


# Writes that may take a short way.


def renew(side: Side, client: Client, name: str, text: str) -> Any:
    return client.renew(NODE_LEASES, name, text)


def beat(side: Side, client: Client, node: str, entries: list[Json]) -> Any:
    return client.beat(node, copy.deepcopy(entries))


def report(side: Side, client: Client, index: int, status: Json, whole: bool) -> Any:
    pod = side.pod(index)
    if pod is None:
        return None
    if whole:
        return client.update_status("pods", {**pod, "status": copy.deepcopy(status)})
    return client.patch_status("pods", SPACE, pod["metadata"]["name"], copy.deepcopy(status))


def tally(side: Side, client: Client, resource: str, name: str, status: Json) -> Any:
    found = side.api.store.get(resource, SPACE, name)
    return client.update_status(resource, {**found, "status": dict(status)}) if found is not None else None


def copied(side: Side, client: Client, name: str) -> Any:
    owner = side.api.store.get("replicasets.apps", SPACE, name)
    return client.create_copy(owner, pod_of) if owner is not None else None


def pod_of(owner: Json) -> Json:
    metadata = owner["metadata"]
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": metadata["name"], "uid": metadata["uid"]}
    made = thaw(owner["spec"]["template"])
    made["metadata"] |= {"generateName": f"{metadata['name']}-", "namespace": SPACE}
    made["metadata"]["ownerReferences"] = [{**reference, "controller": True, "blockOwnerDeletion": True}]
    return {"apiVersion": "v1", "kind": "Pod", **made}


def bind(side: Side, client: Client, index: int, node: str) -> Any:
    pod = side.pod(index)
    return client.bind(pod, node) if pod is not None else None


def record(side: Side, client: Client, about: Json, message: str) -> Any:
    recorder = side.recorders.setdefault(client.user.name, EventRecorder(side.api.sim, client, client.agent, "n1"))
    recorder.event(about, "Normal", "Pulled", message, field_path="spec.containers{c}")


# What may stand in the way.


def wait(side: Side, client: Client, seconds: int) -> Any:
    side.api.sim.run_for(seconds * SECOND)


def hook(side: Side, client: Client, kind: str) -> Any:
    resource = f"{kind}.{ADMISSION}"
    if side.api.store.get(resource, "", "watching") is not None:
        return side.admin.delete(resource, "", "watching")
    webhook = {
        "name": "w.example.com",
        "clientConfig": {"url": "https://example.com/"},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["events", "pods"]}],
    }
    return side.admin.create(resource, "", {"metadata": {"name": "watching"}, "webhooks": [webhook]})


def limit(side: Side, client: Client, resource: str) -> Any:
    if side.api.store.get(resource, SPACE, "l") is not None:
        return side.admin.delete(resource, SPACE, "l")
    item = {"type": "Container", "default": {"cpu": "100m"}}
    spec: Json = {"hard": {"pods": "2"}} if resource == "resourcequotas" else {"limits": [item]}
    return side.admin.create(resource, SPACE, {"metadata": {"name": "l"}, "spec": spec})


def remove(side: Side, client: Client, index: int) -> Any:
    pod = side.pod(index)
    return side.admin.delete("pods", SPACE, pod["metadata"]["name"]) if pod is not None else None


def hold(side: Side, client: Client, index: int) -> Any:
    pod = side.pod(index)
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    return side.admin.patch("pods", SPACE, pod["metadata"]["name"], held) if pod is not None else None


def end(side: Side, client: Client, name: str) -> Any:
    return side.admin.delete("namespaces", "", name)


def outage(side: Side, client: Client, part: str) -> Any:
    setattr(side.api, part, not getattr(side.api, part))


users = st.sampled_from(tuple(USERS))
agents = st.sampled_from(("kubelet", "kubelet/v1.32", "kube-controller-manager"))
nodes = st.sampled_from(("n1", "n2", "", "absent"))
workloads = st.sampled_from(("web", "api"))
indexes = st.integers(0, 4)
values = st.sampled_from(("True", "False", "Unknown"))
pod_conditions = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(("Ready", "Initialized", "PodScheduled")), "status": values},
        optional={"reason": st.just("Because"), "lastTransitionTime": st.just("2026-03-02T09:00:00Z")},
    ),
    max_size=2,
    unique_by=lambda entry: str(entry["type"]),
)
containers = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.just("c"),
            "state": st.just({"waiting": {"reason": "ContainerCreating"}}),
            "lastState": st.just({}),
            "ready": st.booleans(),
            "restartCount": st.integers(0, 2),
            "image": st.just("nginx:1"),
            "imageID": st.just(""),
        }
    ),
    max_size=1,
)
pod_status = st.fixed_dictionaries(
    {"phase": st.sampled_from(("Pending", "Running", "Succeeded"))},
    optional={
        "conditions": pod_conditions,
        "reason": st.sampled_from(("Evicted", "Broken")),
        "podIP": st.just("10.0.0.7"),
        "podIPs": st.just([{"ip": "10.0.0.7"}]),
        "containerStatuses": containers,
    },
)
tallies = st.fixed_dictionaries(
    {"replicas": st.integers(-1, 3)},
    optional={"readyReplicas": st.integers(1, 4), "observedGeneration": st.integers(1, 2)},
)
times = st.integers(0, 2).map(lambda n: f"2026-03-02T09:00:{10 * n:02}.123456Z") | st.just("yesterday")
beats = st.builds(conditions, st.integers(1, 4), values) | st.just([])
subjects = st.fixed_dictionaries(
    {"name": st.sampled_from(("web-1", "Web_1")), "uid": st.sampled_from(("8f3d", ""))},
    optional={"namespace": st.sampled_from((SPACE, "absent")), "resourceVersion": st.just("7")},
).map(lambda metadata: {"apiVersion": "v1", "kind": "Pod", "metadata": metadata})

Step = tuple[Callable[..., Any], tuple[Any, ...]]


def step(write: Callable[..., Any], *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    return st.tuples(st.just(write), st.tuples(*arguments))


writes = st.one_of(
    step(renew, st.sampled_from(("n1", "n2")), times),
    step(beat, nodes, beats),
    step(report, indexes, pod_status, st.booleans()),
    step(tally, st.sampled_from(("replicasets.apps", "deployments.apps")), workloads, tallies),
    step(copied, workloads),
    step(copied, workloads),
    step(bind, indexes, nodes),
    step(record, subjects, st.sampled_from(("one", "two", ""))),
)
hindrances = st.one_of(
    step(wait, st.integers(1, 40)),
    step(hook, st.sampled_from(("validatingwebhookconfigurations", "mutatingwebhookconfigurations"))),
    step(limit, st.sampled_from(("resourcequotas", "limitranges"))),
    step(hold, indexes),
    step(remove, indexes),
    step(end, st.sampled_from((SPACE, NODE_LEASES))),
    step(outage, st.sampled_from(("serving", "storing"))),
)
#: Hindrances are rare, or nothing would take a short way.
steps = st.lists(
    st.tuples(st.integers(0, 5).flatmap(lambda n: writes if n else hindrances), users, agents), max_size=24
)


def answer(side: Side, taken: tuple[Step, str, str]) -> Any:
    (write, arguments), user, agent = taken
    try:
        made = write(side, side.client(user, agent), *arguments)
    except ApiError as error:
        return error.code, error.reason, error.message, error.details
    return list(made.items()) if isinstance(made, dict) else made


def test_short_ways_lead_where_requests_lead(request: pytest.FixtureRequest) -> None:
    @settings(
        max_examples=WHOLE if request.config.getoption("--whole") else SAMPLE,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.booleans(), steps)
    def compare(authorized: bool, taken: list[tuple[Step, str, str]]) -> None:
        short, long = Side(Client, authorized=authorized), Side(Requesting, authorized=authorized)
        for one in taken:
            assert answer(short, one) == answer(long, one), one
            assert short.state() == long.state(), one

    compare()


def each(turn: int) -> list[Step]:
    """One of every write, with other values at every turn."""
    seconds, ready = 10 + turn, "True" if turn % 2 else "False"
    return [
        (copied, ("web",)),
        *[(bind, (index, "n1")) for index in range(3)],
        (renew, ("n1", f"2026-03-02T09:00:{seconds}.000000Z")),
        (beat, ("n1", conditions(seconds, "True"))),
        (report, (0, {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}, turn % 3 == 0)),
        (tally, ("replicasets.apps", "web", {"replicas": turn})),
        *[(record, (pod_named(f"web-{turn}", space), "one")) for space in (SPACE, "absent")],
    ]


def pod_named(name: str, space: str) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": space, "uid": "8f3d"}}


HINDRANCES: dict[str, list[Step]] = {
    "calm": [],
    "webhooks that validate": [(hook, ("validatingwebhookconfigurations",)), (wait, (5,))],
    "webhooks that change": [(hook, ("mutatingwebhookconfigurations",)), (wait, (5,))],
    "a quota": [(limit, ("resourcequotas",))],
    "a limit range": [(limit, ("limitranges",))],
    "pods that end": [(hold, (0,)), (remove, (0,)), (hold, (1,)), (remove, (1,))],
    "a namespace that ends": [(end, (SPACE,))],
    "leases that end": [(end, (NODE_LEASES,))],
    "no server": [(outage, ("serving",))],
    "no etcd": [(outage, ("storing",))],
}


@pytest.mark.parametrize("authorized", [False, True])
@pytest.mark.parametrize("hindrance", HINDRANCES)
def test_everybody_gets_the_answer_of_a_request(hindrance: str, authorized: bool) -> None:
    short, long = Side(Client, authorized=authorized), Side(Requesting, authorized=authorized)
    before = [
        (one, "admin", "kubelet") for one in [*each(0), (copied, ("web",)), (copied, ("web",)), *HINDRANCES[hindrance]]
    ]
    after = [
        (one, user, agent)
        for agent in ("kubelet", "kube-controller-manager")
        for turn, user in enumerate(USERS, 1)
        for one in each(turn)
    ]
    for taken in before + after:
        assert answer(short, taken) == answer(long, taken), taken
        assert short.state() == long.state(), taken


def test_components_of_a_calm_cluster_make_no_requests() -> None:
    side = Side(Client, authorized=True)
    kubelet, controllers = side.client("kubelet", "kubelet"), side.client("controllers", "kube-controller-manager")
    copied(side, controllers, "web")
    before = side.api.requests
    copied(side, controllers, "web")
    bind(side, side.client("scheduler", "kube-scheduler"), 0, "n1")
    renew(side, kubelet, "n1", "2026-03-02T09:00:10.000000Z")
    beat(side, kubelet, "n1", conditions(5, "True"))
    report(side, kubelet, 0, {"phase": "Running", "startTime": format_rfc3339(side.api.sim.now)}, False)
    tally(side, controllers, "replicasets.apps", "web", {"replicas": 2})
    record(side, kubelet, side.pod(0) or {}, "pulled")
    assert side.api.requests == before
    assert len(side.api.store.objects("pods", SPACE)) == 2
    assert len(side.api.store.objects("events", SPACE)) == 1

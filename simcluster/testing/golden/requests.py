"""Requests recorded against a real kube-apiserver, replayed in their order against ours.

The store is filled with the recorded lists, in the order of their versions; the clock stands
at the recorded instant. Compared are status, headers and body; folded is what differs between
two runs of the same server: versions, uids, times, generated names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simcluster.api.authorization import bootstrap as access
from simcluster.api.backends import ExecAnswer, LogOptions, Measured, Usage
from simcluster.api.client import Client
from simcluster.api.encoding.wire import encode, frames
from simcluster.api.objects import ApiObject, Json
from simcluster.api.quantity import to_bytes
from simcluster.api.request import ADMIN, Request, User, request_of
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation, parse_duration, parse_rfc3339
from simcluster.world import apiservices

#: When the recorder began to ask (header `Date` was not kept; the first Table says how old the pods are).
_RECORDED_AT = "2026-11-21T21:38:48Z"
_FOLDED = {
    "resourceVersion", "uid", "creationTimestamp", "deletionTimestamp", "time", "continue",
    "serverAddressByClientCIDRs", "lastTransitionTime",
}  # fmt: skip
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_AGE = re.compile(r"(\d+[dhms])+( \((x\d+ )?over \d+[smhd]+\))?")
#: Headers that differ between two runs of the same server, or that only transport the body.
_OF_THE_MOMENT = ("Content-Length", "Date", "Expires", "Last-Modified", "Transfer-Encoding")
_USERS = {
    157: User("system:anonymous", ("system:unauthenticated",)),
    158: User("viewer", ("system:authenticated",)),
}
#: Recorded without its bearer token, which was a wrong one.
_WRONG_TOKEN = 156
#: After this recording the recorder raised `minAvailable` of a budget to the number of pods.
_BUDGET_RAISED_AFTER = 85
_GENERATED = {153: ("gen-", 9)}


@dataclass(frozen=True)
class Recording:
    """One recorded request with its answer.

    Attributes:
        head: status line and headers, one a line.
        body: as it came.
    """

    number: int
    name: str
    request: Request
    code: int
    head: str
    body: str

    @property
    def headers(self) -> dict[str, str]:
        """The headers that the recorder kept."""
        return dict(line.split(": ", 1) for line in self.head.splitlines()[1:] if ": " in line)


def recordings(folder: Path) -> list[Recording]:
    """All recordings of a folder, in order."""
    return [_recording(path) for path in sorted(folder.glob("*.req"))]


def _recording(path: Path) -> Recording:
    number, _, name = path.stem.partition("_")
    head, _, body = path.read_text(encoding="utf-8").partition("\n\n")
    line, *headers = head.splitlines()
    method, target = line.split(" ", 1)
    named = {key.lower(): value for key, value in (entry.split(": ", 1) for entry in headers)}
    answer = path.with_suffix(".head").read_text(encoding="utf-8")
    request = request_of(
        method,
        target,
        token="unknown" if int(number) == _WRONG_TOKEN else "",
        user=_USERS.get(int(number), ADMIN),
        body=body.strip().encode() or None,
        accept=named.get("accept", "application/json"),
        content_type=named.get("content-type", "application/json"),
    )
    said = path.with_suffix(".body").read_text(encoding="utf-8")
    return Recording(int(number), name, request, int(answer.split()[1]), answer, said)


class RecordedUsage:
    """metrics-server as it was recorded (a `MetricsSource`)."""

    def __init__(self, pods: Json, nodes: Json) -> None:
        self._pods = {(i["metadata"]["namespace"], i["metadata"]["name"]): i for i in pods["items"]}
        self._nodes = {i["metadata"]["name"]: i for i in nodes["items"]}

    def available(self) -> bool:
        """It ran."""
        return True

    def pod(self, namespace: str, name: str) -> Measured | None:
        """What was measured of a pod."""
        item = self._pods.get((namespace, name))
        if item is None:
            return None
        return _measured(item, {c["name"]: _usage(c["usage"]) for c in item["containers"]})

    def node(self, name: str) -> Measured | None:
        """What was measured of a node."""
        item = self._nodes.get(name)
        return None if item is None else _measured(item, {"": _usage(item["usage"])})


def _measured(item: Json, usage: dict[str, Usage]) -> Measured:
    seconds, _, rest = item["window"].removesuffix("s").partition(".")
    window_ns = parse_duration(f"{seconds}s") + int(rest.ljust(9, "0")) if rest else parse_duration(item["window"])
    return Measured(parse_rfc3339(item["timestamp"]), window_ns, usage)


def _usage(usage: Json) -> Usage:
    return Usage(int(usage["cpu"].removesuffix("n")), to_bytes(usage["memory"]))


class RecordedLogs:
    """The kubelets, of which one log was recorded (a `KubeletProxy`)."""

    def __init__(self, text: str) -> None:
        self.text = text

    def logs(self, pod: ApiObject, options: LogOptions) -> str:
        """The recorded log."""
        return self.text

    def exec(
        self, pod: ApiObject, container: str, argv: object, stdin: str, patience_ns: int | None = None
    ) -> ExecAnswer:
        """Nothing was recorded."""
        return ExecAnswer("", "", 0)


def recorded_cluster(folder: Path) -> Api:
    """A server with the recorded objects at the recorded instant."""
    sim = Simulation(1)
    api = Api(sim)
    access.enforce(api)
    sim.run_for(parse_rfc3339(_RECORDED_AT) - sim.now)
    for resource, item in _recorded_objects(api, folder):
        api.store.put(resource, item)
    client = Client(api, ADMIN, "kube-apiserver")
    apiservices.register(client, sim.now)
    apiservices.register_metrics(client, sim.now)
    by_name = {recording.name: recording.body for recording in recordings(folder)}
    pods = json.loads(by_name["list_pods_metrics.k8s.io"])
    api.metrics = RecordedUsage(pods, json.loads(by_name["get_apis_metrics.k8s.io_v1beta1_nodes"]))
    api.kubelets = RecordedLogs(by_name["log"])
    return api


def _recorded_objects(api: Api, folder: Path) -> list[tuple[str, Json]]:
    found = []
    paths = [
        *folder.glob("*_list_*.body"),
        *folder.glob("*_storageclasses.body"),
        *folder.glob("*_priorityclasses.body"),
    ]
    for path in sorted(paths):
        listed = json.loads(path.read_text(encoding="utf-8"))
        group, _, version = listed["apiVersion"].rpartition("/")
        resource = api.resources.by_kind.get((group, version, listed["kind"].removesuffix("List")))
        if resource is None or resource.storage_name or group == "metrics.k8s.io":
            continue
        for item in listed["items"]:
            found.append((resource.name, {"apiVersion": listed["apiVersion"], "kind": resource.kind, **item}))
    return sorted(found, key=lambda entry: int(entry[1]["metadata"]["resourceVersion"]))


@dataclass(frozen=True)
class Replayed:
    """Our answer to a recorded request."""

    recording: Recording
    code: int
    headers: dict[str, str]
    body: str


def answered(api: Api, recording: Recording, request: Request) -> Replayed:
    """The answer of a server in this process; of a watch what comes within two seconds."""
    response = api.handle(request)
    wire = encode(request, response)
    body = wire.body
    if response.stream is not None:
        events = response.stream.poll()
        api.sim.run_for(2 * SECOND)
        body = frames([*events, *response.stream.poll()])
    return Replayed(recording, wire.code, dict(wire.headers), body.decode())


#: How a request is asked of a server.
Ask = Callable[[Api, Recording, Request], Replayed]


def replay(folder: Path, ask: Ask = answered) -> Iterator[Replayed]:
    """Our answers to all recorded requests, in order."""
    api = recorded_cluster(folder)
    token = ""
    for recording in recordings(folder):
        request = recording.request
        if request.param("continue") and token:  # the page after ours, not after theirs
            query = tuple((key, token if key == "continue" else value) for key, value in request.query)
            request = replace(request, query=query)
        answer = ask(api, recording, request)
        if recording.name == "page1":
            token = json.loads(answer.body)["metadata"]["continue"]
        yield answer
        if recording.number == _BUDGET_RAISED_AFTER:
            _raise_budget(api)


def _raise_budget(api: Api) -> None:
    budget = api.store.get("poddisruptionbudgets.policy", "hotel", "frontend-pdb")
    assert budget is not None
    status = {**budget["status"], "disruptionsAllowed": 0, "desiredHealthy": 3}
    api.store.put("poddisruptionbudgets.policy", {**budget, "metadata": {**budget["metadata"]}, "status": status})


def fold(value: Any, number: int = 0) -> Any:
    """A JSON value without what differs between two runs of the same server."""
    if isinstance(value, dict):
        shown = {k: "*" if k in _FOLDED else fold(v, number) for k, v in value.items() if k != "managedFields"}
        if number in _GENERATED and isinstance(shown.get("name"), str):
            prefix, length = _GENERATED[number]
            if shown["name"].startswith(prefix) and len(shown["name"]) == length:
                shown["name"] = prefix + "*"
        return shown
    if isinstance(value, list):
        return [fold(item, number) for item in value]
    if not isinstance(value, str):
        return value
    return "<age>" if _AGE.fullmatch(value) else _UUID.sub("*", value)


def differences(answer: Replayed) -> list[str]:
    """What a client would see differ: status, headers, body; empty if nothing does."""
    recording = answer.recording
    found = [] if answer.code == recording.code else [f"status {answer.code}, recorded {recording.code}"]
    wanted = recording.headers
    for name in sorted({*wanted, *answer.headers} - {*_OF_THE_MOMENT}):
        if (got := answer.headers.get(name)) != wanted.get(name):
            found.append(f"header {name} {got!r}, recorded {wanted.get(name)!r}")
    for name in ("Expires", "Last-Modified"):
        if (name in answer.headers) != (name in wanted):
            found.append(f"header {name}")
    return found + _body_differences(answer)


def _body_differences(answer: Replayed) -> list[str]:
    number = answer.recording.number
    try:
        wanted = _values(answer.recording.body)
        got = _values(answer.body)
    except ValueError:
        return [] if answer.body == answer.recording.body else ["text"]
    return list(_compared(fold(got, number), fold(wanted, number), ""))


def _values(text: str) -> Any:
    """The JSON value of a body, or the values of its lines (a watch)."""
    lines = [line for line in text.splitlines() if line]
    if len(lines) > 1 and lines[0].startswith('{"type"'):
        return [json.loads(line) for line in lines]
    return json.loads(text)


def _compared(got: Any, wanted: Any, path: str) -> Iterator[str]:
    if isinstance(got, dict) and isinstance(wanted, dict):
        for key in wanted:
            if key not in got:
                yield f"{path}.{key}: missing"
        for key, value in got.items():
            if key not in wanted:
                yield f"{path}.{key}: not recorded"
            else:
                yield from _compared(value, wanted[key], f"{path}.{key}")
        if list(got) != list(wanted) and set(got) == set(wanted):
            yield f"{path}: order of keys"
    elif isinstance(got, list) and isinstance(wanted, list):
        if len(got) != len(wanted):
            yield f"{path}: {len(got)} entries, recorded {len(wanted)}"
        for index, (one, other) in enumerate(zip(got, wanted, strict=False)):
            yield from _compared(one, other, f"{path}[{index}]")
    elif type(got) is not type(wanted) or got != wanted:
        yield f"{path}: {str(got)[:120]!r}, recorded {str(wanted)[:120]!r}"

"""What programs are like, as far as manifests and traces tell; what is a guess is said to be one.

From manifests: images, ports, protocols by names of ports and by probes, health paths, whom a program calls by the
variables that hold addresses, memory by requests. From traces: operations, their own time, calls with their order and
number, and how often users come. Without traces every program has one operation, which calls whomever it names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from simcluster.apps.registry import applications
from simcluster.calibration.application.manifests import Manifests, Workload
from simcluster.calibration.services import FittedServices, Span, fit_services
from simcluster.models.apps.catalog import generic_folders
from simcluster.models.machine.imagefacts import facts_of

#: Kind of store -> the client of most programs that use it, and what they ask.
_CLIENTS = {
    "redis": ("redis-go", "GET"),
    "mongod": ("mgo", "find"),
    "postgres": ("postgres-go", "select"),
    "mysqld": ("mysql-go", "select"),
    "memcached": ("memcache-go", "get"),
}
#: Guesses of a small service: image, memory, work of a request, start.
SIZE, MEMORY, WORK, START_S = "45M", "32Mi", "2ms", 0.2
#: How often users come if no trace says it.
RPS = 10.0
_ONLY = "serve"
#: What a program prints of a request, and of one that failed; a guess.
LOG = {
    "end": [{"text": '{time_s} "{method} {shown_path}" {status} {latency_ms}ms'}],
    "error": [{"stream": "stderr", "text": "{time_s} error: {error}"}],
}
_MEMORY_SHARE = 2  # of a memory request a healthy program uses about half


@dataclass
class Inferred:
    """The parts of a behaviour file, and what is to be said of them.

    Attributes:
        services: as in `behaviour.yaml`.
        entry: the Service that users come to; `program` behind it, `mix` of its operations, requests a second.
        remarks: lines, each `inferred: …` or `guessed: …` or `left out: …`.
        edges: caller and callee of every call.
    """

    services: dict[str, Any] = field(default_factory=dict)
    entry: str = ""
    program: str = ""
    mix: dict[str, float] = field(default_factory=dict)
    rps: float = RPS
    remarks: list[str] = field(default_factory=list)
    edges: list[tuple[str, str]] = field(default_factory=list)


def infer(found: Manifests, traces: Iterable[list[Span]] | None) -> Inferred:
    """What the manifests deploy. Raises ValueError: nothing of it serves."""
    made = Inferred()
    known = known_images()
    shared = Counter(one.repository for one in found.workloads)
    described: dict[str, Workload] = {}
    for one in found.workloads:
        label = known.get(one.repository) or ("a public image" if facts_of(one.image) is not None else "")
        if label:
            made.remarks.append(f"inferred: {one.name} is {label} ({one.image}), which is described already")
        elif shared[one.repository] > 1:
            made.remarks.append(f"left out: {one.repository} is the image of several workloads, which serve as images "
                                f"that nobody described: {one.name}")  # fmt: skip
        else:
            described[one.name] = one
    graph = fit_services(traces) if traces is not None else None
    seen = _matched(graph, described, made)
    for one in described.values():
        made.services[one.name] = _described(one, found, known, seen.get(one.name), made)
    _users(found, described, graph, seen, made)
    return made


def known_images() -> dict[str, str]:
    """Repositories of images that somebody described -> the kind of store, or whose they are."""
    found: dict[str, str] = {}
    for folder in (*applications(), *generic_folders()):
        for image in folder.behaviour.images:
            found |= dict.fromkeys(image.image.repositories, image.data_store or f"{image.name} of {folder.path.name}")
    return found


def _matched(
    graph: FittedServices | None, described: Mapping[str, Workload], made: Inferred
) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Workload -> its name in the traces' graph, and what is said of it there."""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    if graph is None:
        return found
    made.remarks += [f"left out: {warning}" for warning in graph.warnings]
    for name, entry in graph.graph["services"].items():
        target = next((one for one in described if _plain(one) == _plain(name)), None) or next(
            (one for one in described if _plain(one) in _plain(name) or _plain(name) in _plain(one)), None
        )
        if target is None or target in found:
            made.remarks.append(f"left out: the service {name} of the traces is no workload of the manifests")
        else:
            found[target] = (name, entry)
            made.remarks.append(f"inferred: {target} is {name} in the traces: its operations, times and calls")
    return found


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]|service|svc|server", "", name.lower()) or name.lower()


def _described(
    one: Workload,
    found: Manifests,
    known: Mapping[str, str],
    seen: tuple[str, Mapping[str, Any]] | None,
    made: Inferred,
) -> dict[str, Any]:
    protocol = _protocol(one, found)
    entry: dict[str, Any] = {
        "image": {"repository": one.repository, "tags": [one.tag], "size": SIZE},
        "program": one.repository.rpartition("/")[2],
        "protocol": protocol,
        "client": "go-grpc" if protocol == "grpc" else "http",
        "ports": [_port(number, one) for number in one.ports or (8080,)],
        "memory": _memory(one),
        "startup": {"cpu_seconds": START_S, "ready_log": [{"text": "{time} listening on :{port}"}]},
        "sigterm": {"drain": "1s"},
        "request_log": deepcopy(LOG),
    }
    paths = list(dict.fromkeys(probe["httpGet"].get("path") or "/" for probe in one.probes if "httpGet" in probe))
    if paths:
        entry["health_paths"] = paths
    if not one.ports:
        made.remarks.append(f"guessed: {one.name} declares no port and listens on 8080")
    for variable in one.unread:
        made.remarks.append(
            f"left out: {variable} of {one.name} names a Service, but is no address that a client reads"
        )
    entry["operations"] = (
        _from_traces(one, found, known, seen, made) if seen else {_ONLY: _only(one, found, known, made)}
    )
    return entry


def _protocol(one: Workload, found: Manifests) -> str:
    names = [str(port.get("name") or "") for port in one.container.get("ports") or ()]
    for spec in found.services.values():
        if (spec.get("selector") or {}).items() <= one.labels.items():
            names += [f"{port.get('name') or ''} {port.get('appProtocol') or ''}" for port in spec.get("ports") or ()]
    asked = any("grpc" in probe for probe in one.probes) or any("grpc" in name for name in names)
    return "grpc" if asked else "http"


def _port(number: int, one: Workload) -> dict[str, Any]:
    names = [name for name, value in one.env.items() if value == str(number) and name.endswith("PORT")]
    return {"number": number, "env": names[0]} if len(names) == 1 else {"number": number}


def _memory(one: Workload) -> str:
    asked = str(((one.container.get("resources") or {}).get("requests") or {}).get("memory") or "")
    match = re.fullmatch(r"(\d+)(Mi|Gi)", asked)
    if match is None:
        return MEMORY
    mib = int(match[1]) * (1024 if match[2] == "Gi" else 1)
    return f"{max(1, mib // _MEMORY_SHARE)}Mi"


def _call(
    variable: str, one: Workload, found: Manifests, known: Mapping[str, str], made: Inferred
) -> dict[str, Any] | None:
    """The call of whoever stands behind a variable; None if it is none that a request makes."""
    service = one.calls[variable]
    callee = found.behind(service)
    if callee is None or callee.name == one.name:
        return None
    store = known.get(callee.repository, "")
    made.edges.append((one.name, callee.name))
    if store in _CLIENTS:
        client, operation = _CLIENTS[store]
        made.remarks.append(f"guessed: {one.name} asks {callee.name} for {operation}, as a {client} client")
        return {"env": variable, "operation": operation, "client": client, "timeout": "5s", "error": "{cause}"}
    call = {"env": variable, "timeout": "5s", "error": f"{callee.name}: {{cause}}"}
    if _protocol(callee, found) == "grpc":
        return {**call, "client": "go-grpc"}
    return {**call, "client": "http", "status": 502}


def _only(one: Workload, found: Manifests, known: Mapping[str, str], made: Inferred) -> dict[str, Any]:
    """The one operation of a program of which nothing else is known."""
    calls = [call for variable in one.calls if (call := _call(variable, one, found, known, made)) is not None]
    made.remarks.append(f"guessed: a request to {one.name} costs {WORK} of CPU" + (
        f" and calls {', '.join(sorted(set(one.calls.values())))} at once" if calls else ""))  # fmt: skip
    operation: dict[str, Any] = {} if _protocol(one, found) == "grpc" else {"path": "*"}
    operation["work"] = {"law": "exponential", "mean": WORK}
    if calls:
        operation["steps"] = (
            [{"parallel": [{"call": call} for call in calls]}] if len(calls) > 1 else [{"call": calls[0]}]
        )
    return operation


def _from_traces(
    one: Workload,
    found: Manifests,
    known: Mapping[str, str],
    seen: tuple[str, Mapping[str, Any]],
    made: Inferred,
) -> dict[str, Any]:
    """The operations of a program as its traces show them."""
    by_callee = {_plain(service): variable for variable, service in one.calls.items()}
    operations: dict[str, Any] = {}
    http = _protocol(one, found) == "http"
    for name, entry in seen[1]["operations"].items():
        path = re.sub(r"^(GET|POST|PUT|DELETE|PATCH|HTTP)[- ]*", "", name)
        operation: dict[str, Any] = {"path": f"/{path.replace('-', '/')}" if path else "/"} if http else {}
        operation["work"] = entry["work"]
        steps = []
        for step in entry.get("steps", ()):
            calls = [self for each in step.get("parallel", [step])
                     if (self := _traced(each["call"], by_callee, one, found, known, made)) is not None]  # fmt: skip
            if calls:
                steps.append({"parallel": [{"call": call} for call in calls]} if len(calls) > 1 else {"call": calls[0]})
        if steps:
            operation["steps"] = steps
        operations[name] = operation
    return operations


def _traced(
    seen: Mapping[str, Any],
    by_callee: Mapping[str, str],
    one: Workload,
    found: Manifests,
    known: Mapping[str, str],
    made: Inferred,
) -> dict[str, Any] | None:
    variable = next((by_callee[name] for name in by_callee if name in _plain(seen["service"])
                     or _plain(seen["service"]) in name), "")  # fmt: skip
    call = _call(variable, one, found, known, made) if variable else None
    if call is None:
        made.remarks.append(
            f"left out: {one.name} calls {seen['service']} in traces, and no variable of it says where that is"
        )
        return None
    times = {"times": min(1000.0, seen["times"])} if seen.get("times", 1.0) not in (0.0, 1.0) else {}
    if "client" in call and call["client"] in ("http", "go-grpc"):
        call["operation"] = seen["operation"]
    return {**call, **times}


def _users(
    found: Manifests,
    described: Mapping[str, Workload],
    graph: FittedServices | None,
    seen: Mapping[str, tuple[str, Mapping[str, Any]]],
    made: Inferred,
) -> None:
    """Whom users come to, what they ask and how often. Raises ValueError: nothing serves."""
    called = {callee for _, callee in made.edges}
    behind = {service: one.name for service in found.services if (one := found.behind(service)) is not None}
    choices = [service for service in found.entries if behind.get(service) in described]
    for service, name in behind.items():
        if name in described and name not in called:
            choices.append(service)
    choices += [service for service, name in behind.items() if name in described]
    if not choices:
        raise ValueError("no Service of the manifests leads to a program that is to be described: nothing to use")
    made.entry = choices[0]
    made.program = behind[made.entry]
    how = "an Ingress or the type of the Service says so" if made.entry in found.entries else "nobody else calls it"
    made.remarks.append(
        f"{'inferred' if made.entry in found.entries else 'guessed'}: users come to {made.entry}: {how}"
    )
    made.mix = dict.fromkeys(made.services[made.program]["operations"], 1.0)
    traced = seen.get(made.program)
    rates = {} if graph is None or traced is None else {
        load["target"].partition("/")[2]: graph.evidence[load["target"]]["arrivals"]["rate"]
        for load in graph.graph["load"].values()
        if load["target"].partition("/")[0] == traced[0]}  # fmt: skip
    if rates:
        made.mix, made.rps = {name: max(0.0001, rate) for name, rate in rates.items()}, round(sum(rates.values()), 3)
        made.remarks.append(f"inferred: {made.rps} requests a second, as the traces have them")
    else:
        made.remarks.append(f"guessed: {RPS:g} requests a second")

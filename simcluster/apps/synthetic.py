"""A synthetic application of any size, by a seed: for tests of scale.

Its call graph has the shape of published ones: a tree in which most services have one caller and a few very many
callees (Luo et al., Characterizing Microservice Dependency and Performance, SoCC 2021: call graphs grow like trees and
their sizes are heavy-tailed), of services by which users enter, in the middle, and at the end in shares of 13, 48 and
39 % (Winchester et al., Complexity at Scale, 2025: 8,591, 30,959 and 25,201 of them). A few of those at the end are
stores that services all over the graph share. Work, how often a call is made, how deep the tree is and the number of
shared stores are magnitudes.

Left out: more than one interface of a service, calls in circles, messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from simcluster.engine.streams import Stream, Streams

#: Shares of the services by which users enter, and of those in the middle; the rest is at the end.
ENTRIES, MIDDLE = 0.13, 0.48
#: Levels below those by which users enter; share of the services that are shared stores.
DEPTH, SHARED = 5, 0.02
#: How often a service that calls others asks a shared store, too.
ASKS_STORE = 0.5
#: How often a request makes a call: the first one always, each further one less often.
FURTHER = 0.35
LEAST, MOST = 5, 3000
#: Pods of one node: the limit of a kubelet is 110, some are the cluster's own.
PODS_PER_NODE = 60
PORT = 8080
REPOSITORY = "registry.example.com"
GATEWAY = "gateway"


class Node(NamedTuple):
    """A service: its name, level (0: users enter by it), and whom it calls."""

    name: str
    level: int
    callees: list[str]


class Synthetic(NamedTuple):
    """An application that was made: its name, folder, services and calls."""

    name: str
    folder: Path
    services: int
    calls: int
    depth: int
    workers: int


def graph_of(services: int, seed: int = 0) -> dict[str, Node]:
    """A call graph of so many services, by name, whoever calls before whom he calls.

    Raises:
        ValueError: too few or too many services.

    >>> found = graph_of(30, 1)
    >>> len(found), sum(node.level == 0 for node in found.values())
    (30, 4)
    """
    if not LEAST <= services <= MOST:
        raise ValueError(f"a synthetic application has {LEAST} to {MOST} services, not {services}")
    stream = Streams(seed).stream("synthetic", str(services))
    stores = max(1, int(services * SHARED))
    entries, middle = max(1, round(services * ENTRIES)), max(1, round(services * MIDDLE))
    found = {f"entry-{k}": Node(f"entry-{k}", 0, []) for k in range(entries)}
    callers = list(found)  # by how many they call: who calls many gets more
    for number in range(services - entries - stores):
        inner = number < middle
        parent = found[callers[stream.integer(0, len(callers) - 1)]]
        name = f"svc-{number}" if inner else f"leaf-{number - middle}"
        found[name] = Node(name, parent.level + 1, [])
        parent.callees.append(name)
        callers.append(parent.name)
        if inner and parent.level + 1 < DEPTH:
            callers.append(name)
    names = [f"store-{k}" for k in range(stores)]
    for node in [one for one in found.values() if one.callees]:
        if stream.uniform() < ASKS_STORE:
            node.callees.append(names[_popular(stream, stores)])
    called = {callee for node in found.values() for callee in node.callees}
    first = next(iter(found.values()))
    first.callees.extend(name for name in names if name not in called)
    return found | {name: Node(name, DEPTH + 1, []) for name in names}


def make(out: Path, services: int, seed: int = 0, name: str = "") -> Synthetic:
    """The folder `out/apps/NAME` of an application, which `--content OUT` finds.

    Args:
        services: how many, without the gateway by which users come.
        name: by default `synthetic-SERVICES`.

    Raises:
        ValueError: too few or too many services.
        FileExistsError: there is such an application in the folder.
    """
    name = name or f"synthetic-{services}"
    graph = graph_of(services, seed)
    folder = out / "apps" / name.replace("-", "_")
    if folder.exists():
        raise FileExistsError(f"{folder} is there already; choose another --out or --name")
    folder.mkdir(parents=True)
    workers = min(100, 2 + services // PODS_PER_NODE)
    mix = {node.name: max(1, 60 // (1 + k)) for k, node in enumerate(graph.values()) if node.level == 0}
    users = {"entry": GATEWAY, "rps": 100}
    programs = {GATEWAY: _gateway(name, mix)} | {node.name: _program(name, node) for node in graph.values()}
    body = {
        "application": name,
        "description": f"A synthetic application of {services} services, by the seed {seed}",
        "namespace": name,
        "users": {**users, "mix": mix},
        "services": programs,
    }
    callees = {GATEWAY: list(mix)} | {node.name: node.callees for node in graph.values()}
    objects = [one for each, called in callees.items() for one in _objects(name, each, called)]
    _write(folder / "behaviour.yaml", yaml.dump(body, Dumper=_Dumper, sort_keys=False, width=120))
    _write(folder / "manifests.yaml", yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, width=120))
    cases = {"users": users, "workers": workers, "requests": [{"service": GATEWAY, "port": PORT, "path": "/entry-0"}]}
    _write(folder / "cases.yaml", yaml.dump(cases, Dumper=_Dumper, sort_keys=False))
    calls = sum(map(len, callees.values()))  # integers
    depth = max(node.level for node in graph.values())
    return Synthetic(name, folder, services, calls, depth, workers)


#: libyaml's, where it is there: a thousand services are a lot of text.
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def _popular(stream: Stream, count: int) -> int:
    """One of so many, the first ones far more often: the k-th with weight 1/k."""
    weights = [60 // (1 + k) + 1 for k in range(count)]
    drawn = stream.integer(0, sum(weights) - 1)  # integers
    for index, weight in enumerate(weights):
        drawn -= weight
        if drawn < 0:
            return index
    return 0


def variable(name: str) -> str:
    """The variable with the address of a service.

    >>> variable("svc-7")
    'SVC_7_ADDR'
    """
    return name.upper().replace("-", "_") + "_ADDR"


def _skin(app: str, name: str) -> dict[str, Any]:
    return {
        "image": {"repository": f"{REPOSITORY}/{app}/{name}", "tags": ["v1"], "size": "20M"},
        "program": name,
        "protocol": "http",
        "client": "http",
        "ports": [{"number": PORT}],
        "idle_cpu_ms": 0.5,
        "memory": "12Mi",
        "health_paths": ["/healthz"],
        "startup": {"cpu_seconds": 0.02, "latency": "200ms"},
        "sigterm": {"drain": "1s"},
    }


def _call(name: str, number: int) -> dict[str, Any]:
    times = {"times": FURTHER} if number else {}
    return {"call": {"env": variable(name), "operation": "serve", "timeout": "3s", "status": 502, **times}}


def _gateway(app: str, mix: Mapping[str, int]) -> dict[str, Any]:
    operations = {
        name: {"path": f"/{name}", "work": {"law": "exponential", "mean": "100us"}, "steps": [_call(name, 0)]}
        for name in mix
    }
    return {**_skin(app, GATEWAY), "operations": operations}


def _program(app: str, node: Node) -> dict[str, Any]:
    serve: dict[str, Any] = {"path": "/", "work": {"law": "exponential", "mean": "300us"}}
    if node.name.startswith("store"):
        serve["steps"] = [{"wait": {"law": "gamma", "mean": "1ms", "cv": 0.7}}]
    elif node.callees:
        serve["steps"] = [_call(name, number) for number, name in enumerate(node.callees)]
    return {**_skin(app, node.name), "operations": {"serve": serve}}


def _objects(app: str, name: str, callees: list[str]) -> list[dict[str, Any]]:
    labels = {"app": name}
    container: dict[str, Any] = {
        "name": "server",
        "image": f"{REPOSITORY}/{app}/{name}:v1",
        "ports": [{"containerPort": PORT}],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": PORT}, "periodSeconds": 10},
        "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}, "limits": {"memory": "128Mi"}},
    }
    if callees:
        container["env"] = [{"name": variable(one), "value": f"{one}:{PORT}"} for one in dict.fromkeys(callees)]
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "labels": labels},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "labels": labels},
            "spec": {"selector": labels, "ports": [{"name": "http", "port": PORT}]},
        },
    ]


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")

"""A call graph as a whole: services, load, events, and how long it runs.

Reading refuses what cannot be: unknown keys and names (with the nearest right one), negative
rates, synchronous cycles, zero quotas, events that act on nothing. Every refusal names file,
line and reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from simcluster.engine.content import ContentError, Document, Where, model_of, nearest, read_document
from simcluster.models.traffic.graph.events import Event
from simcluster.models.traffic.graph.laws import Law, NonNegative, Part, Positive, Whole
from simcluster.models.traffic.graph.load import Load
from simcluster.models.traffic.graph.networks import networkx
from simcluster.models.traffic.graph.policy import Policy, Pool
from simcluster.models.traffic.graph.refusal import explained
from simcluster.models.traffic.graph.service import Call, Send, Service
from simcluster.models.traffic.graph.skin import Words
from simcluster.models.traffic.graph.steps import Change, calls_in, changed, in_whole_calls, walk

if TYPE_CHECKING:
    from networkx import DiGraph

#: A day is 86 400 s; nobody waits for a longer run.
DURATION_MAX = 31 * 86_400_000_000_000
#: `exact` keeps 200 to 600 bytes of each request inside; and makes some hundred thousand events a second.
EVENTS_MAX = 100_000_000_000
REQUESTS_MAX = 20_000_000
#: Characters of a name.
NAME_MAX = 100
#: Pods of a graph, and bursts in a run.
PODS_MAX, SWITCHES_MAX = 100_000, 100_000
#: Series longer than this are refused: nobody reads them and they fill the memory.
WINDOWS_MAX = 1_000_000


class Run(Part):
    """How long, and how finely shown.

    Attributes:
        duration: simulated time from the first instant, at most 31 days.
        warmup: totals count from here on; the series shows all.
        window: length of one row of the series; by default a sixtieth of the run.
        requests: requests that may be inside the graph at once; a run that reaches it ends there and
            says so. It bounds the memory of graphs whose queues grow for ever.
        events: what `exact` may do before it ends likewise; a tick of `aggregate` counts as sixty. It bounds the
            time of graphs that never come to rest: 200 million take some ten minutes.
    """

    duration: Positive = 60_000_000_000
    warmup: NonNegative = 0
    window: Positive = 0
    requests: Annotated[Whole, Field(ge=1, le=REQUESTS_MAX)] = 2_000_000
    events: Annotated[Whole, Field(ge=1, le=EVENTS_MAX)] = 200_000_000

    @model_validator(mode="after")
    def _makes_sense(self) -> Run:
        if self.duration > DURATION_MAX:
            raise ValueError("duration: a run is at most 31 days (744h)")
        if self.warmup >= self.duration:
            raise ValueError("the warm-up is not shorter than the run")
        if not self.window:
            self.__dict__["window"] = max(1, self.duration // 60)  # the model is frozen for everybody else
        if self.duration // self.window > WINDOWS_MAX:
            raise ValueError(f"more than {WINDOWS_MAX} windows: take a longer window")
        return self


class GraphSpec(Part):
    """A call graph and its run.

    Attributes:
        network: one-way delay of every message whose edge has none of its own; None is no delay.
        load: sources of requests by name. Names of loads and services differ.
    """

    name: str = "graph"
    description: str = ""
    run: Run = Field(default_factory=Run)
    network: Law | None = None
    services: Annotated[dict[str, Service], Field(min_length=1)]
    load: Annotated[dict[str, Load], Field(min_length=1)]
    events: tuple[Event, ...] = ()

    def operation(self, reference: str) -> tuple[str, str]:
        """Service and operation of `service` or `service/operation`."""
        service, _, operation = reference.partition("/")
        return service, operation or self.services[service].first_operation()

    def callee(self, call: Call | Send) -> tuple[str, str]:
        """Service and operation that a call reaches."""
        return call.service, call.operation or self.services[call.service].first_operation()

    def calls(self) -> Iterator[tuple[str, str, Call | Send]]:
        """(service, operation, call or message) of all edges between services, in the order of the file."""
        for name, service in self.services.items():
            for operation_name, operation in service.operations.items():
                for target in calls_in(operation.steps):
                    yield name, operation_name, target

    def with_calls(self, change_of: Callable[[str], Change]) -> GraphSpec:
        """The graph with its services' calls and messages changed; the same object where none is.

        Args:
            change_of: what becomes of the calls of a service.
        """
        services = dict(self.services)
        for name, service in self.services.items():
            change = change_of(name)
            steps = {key: changed(operation.steps, change) for key, operation in service.operations.items()}
            if any(steps[key] is not operation.steps for key, operation in service.operations.items()):
                made = {k: o.model_copy(update={"steps": steps[k]}) for k, o in service.operations.items()}
                services[name] = service.model_copy(update={"operations": made})
        same = all(services[name] is old for name, old in self.services.items())
        return self if same else self.model_copy(update={"services": services})

    def in_whole_calls(self) -> GraphSpec:
        """The graph with single messages and whole numbers of calls: what is left over is a choice."""
        return self.with_calls(_whole)

    def dependency_order(self) -> list[str]:
        """Services so that every caller stands before whom it calls synchronously."""
        nx = networkx()
        graph: DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.services)
        graph.add_edges_from(
            (caller, c.service) for caller, _, c in self.calls() if isinstance(c, Call) and caller != c.service
        )
        if nx.is_directed_acyclic_graph(graph):
            return list(nx.lexicographical_topological_sort(graph, key=list(self.services).index))
        condensed = nx.condensation(graph)  # operations may cross between two services without a cycle
        return [name for part in nx.topological_sort(condensed) for name in sorted(condensed.nodes[part]["members"])]


def _whole(service: str) -> Change:
    return in_whole_calls


def load_spec(path: Path) -> GraphSpec:
    """Read a graph from a YAML file.

    Raises:
        ContentError: with the file, the line and what would be right.
    """
    return spec_in(read_document(path, words=True))


def spec_of(data: Mapping[str, Any], name: str = "graph") -> GraphSpec:
    """A graph from the same keys as in a file. Raises ContentError."""
    return spec_in(Document(Path(name), data, {}))


def spec_in(document: Document) -> GraphSpec:
    """A graph from a parsed document. Raises ContentError."""
    if not isinstance(document.data, Mapping):
        kind = "a list" if isinstance(document.data, list) else f"the value {str(document.data)[:40]!r}"
        raise ContentError(document.path, 1, f"a call graph is a map with the keys services and load, not {kind}")
    spec = model_of(document, GraphSpec, explained)
    _Check(spec, document).all()
    return spec


class _Check:
    """What concerns more than one part of a graph."""

    def __init__(self, spec: GraphSpec, document: Document) -> None:
        self.spec = spec
        self.document = document

    def all(self) -> None:
        """Raise ContentError for the first offence."""
        self.names()
        for name in self.spec.services:
            if "/" in name:
                self.refuse(("services", name), "a service's name has no '/'")
            if name in self.spec.load:
                self.refuse(("load", name), f"a service is also called {name!r}: edges would be ambiguous")
        self.steps()
        self.cycles()
        self.sizes()
        self.loads()
        for index, event in enumerate(self.spec.events):
            _EventCheck(self, event, ("events", index)).all()

    def names(self) -> None:
        """Names can be printed."""
        places: list[Where] = [("services", name) for name in self.spec.services]
        places += [("load", name) for name in self.spec.load]
        for service_name, service in self.spec.services.items():
            places += [("services", service_name, "operations", name) for name in service.operations]
            places += [("services", service_name, "caches", name) for name in service.caches]
        for where in places:
            if not 0 < len(str(where[-1])) <= NAME_MAX or not str(where[-1]).isprintable():
                self.refuse(where, f"a name has 1 to {NAME_MAX} characters that can be printed")

    def refuse(self, where: Where, problem: str) -> None:
        """Raise ContentError at a place."""
        place = ".".join(str(step) for step in where)
        raise ContentError(self.document.path, self.document.line(where), f"{place}: {problem}")

    def known(self, where: Where, kind: str, name: str, names: Mapping[str, Any]) -> None:
        """Refuse a name that nobody has."""
        if name not in names:
            close = nearest(name, names)
            offer = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(names) or 'none'}"
            self.refuse(where, f"unknown {kind} {name!r}; {offer}")

    def steps(self) -> None:
        """Calls reach somebody, look-ups have their cache."""
        pools: dict[str, dict[str, tuple[str, Pool]]] = {}
        for name, service in self.spec.services.items():
            for operation_name, operation in service.operations.items():
                base: Where = ("services", name, "operations", operation_name, "steps")
                for where, step in walk(operation.steps, base):
                    for key, target in (("call", step.call), ("send", step.send)):
                        if target is not None:
                            self.bare((*where, key), target)
                            self.reaches((*where, key), target.service, target.operation)
                        if step.call is not None:
                            self.gives_up((*where, "call"), step.call, step.call.service)
                            self.shares((*where, "call", "pool"), step.call, pools.setdefault(name, {}))
                    if step.cached is not None:
                        self.known((*where, "cached", "cache"), "cache", step.cached.cache, service.caches)

    def bare(self, where: Where, call: Call | Send) -> None:
        """Nothing is said that only an application can say."""
        for key, field in Words.model_fields.items():
            if getattr(call, key, field.default) != field.default:
                self.refuse((*where, key), "only a call of an application has this key; here, say service")

    def reaches(self, where: Where, service: str, operation: str | None) -> None:
        """The service and, if one is named, the operation exist."""
        self.known((*where, "service"), "service", service, self.spec.services)
        if operation is not None:
            self.known(
                (*where, "operation"), f"operation of {service}", operation, self.spec.services[service].operations
            )

    def gives_up(self, where: Where, policy: Policy, service: str) -> None:
        """Who calls a queue that drops requests silently does not wait for ever."""
        endless = policy.timeout is None and policy.deadline is None and policy.patience is None
        if endless and self.spec.services[service].queue.overflow == "drop":
            self.refuse(where, f"{service} drops requests silently: a call needs a timeout, a deadline or patience")

    def shares(self, where: Where, call: Call, known: dict[str, tuple[str, Pool]]) -> None:
        """Pools of one name of one service are the same, and lead to the same service."""
        if call.pool is None or call.pool.name is None:
            return
        callee, pool = known.setdefault(call.pool.name, (call.service, call.pool))
        if callee != call.service:
            self.refuse(where, f"the pool {call.pool.name!r} leads to {callee}, not to {call.service}")
        if pool != call.pool:
            self.refuse(where, f"the pool {call.pool.name!r} of {callee} is described otherwise before")

    def cycles(self) -> None:
        """No operation waits for itself."""
        nx = networkx()
        graph: DiGraph[tuple[str, str]] = nx.DiGraph()
        for service, operation, call in self.spec.calls():
            if isinstance(call, Call):
                graph.add_edge((service, operation), self.spec.callee(call))
        try:
            found = nx.find_cycle(graph)
        except nx.NetworkXNoCycle:
            return
        path = [f"{s}/{o}" for (s, o), _ in found]
        service, operation = found[0][0]
        where: Where = ("services", service, "operations", operation)
        self.refuse(where, f"synchronous calls in a circle: {' -> '.join([*path, path[0]])}; make one of them a send")

    def sizes(self) -> None:
        """Pods in all, and changes of bursts, are as many as memory holds."""
        pods = sum(service.replicas for service in self.spec.services.values())  # integers
        if pods > PODS_MAX:
            self.refuse(("services",), f"{pods} replicas in all; a graph has at most {PODS_MAX}")
        for name, load in self.spec.load.items():
            burst = load.open.burst if load.open is not None else None
            if burst is not None and self.spec.run.duration // (burst.on + burst.off) > SWITCHES_MAX:
                where: Where = ("load", name, "open", "burst")
                self.refuse(where, f"more than {SWITCHES_MAX} bursts in the run: take longer on and off")

    def loads(self) -> None:
        """Targets exist; a replayed trace ends within reason."""
        for name, load in self.spec.load.items():
            for reference in load.targets():
                where: Where = ("load", name, "target") if load.target is not None else ("load", name, "mix", reference)
                service, _, operation = reference.partition("/")
                self.known(where, "service", service, self.spec.services)
                self.gives_up(("load", name), load.call, service)
                if operation:
                    self.known(where, f"operation of {service}", operation, self.spec.services[service].operations)


class _EventCheck:
    """One event acts on something that is there."""

    def __init__(self, check: _Check, event: Event, where: Where) -> None:
        self.check = check
        self.spec = check.spec
        self.event = event
        self.where = where

    def all(self) -> None:
        """Raise ContentError for the first offence."""
        if self.event.at >= self.spec.run.duration:
            self.check.refuse((*self.where, "at"), "the run has ended by then")
        checks: dict[str, Callable[[], None]] = {
            "capacity": self.capacity, "outage": self.edge, "retries": self.edge, "flush": self.flush,
            "load": self.load, "rate": self.load, "loss": self.loss, "restart": self.service,
        }  # fmt: skip
        checks[self.event.kind]()

    @property
    def effect(self) -> Any:
        """The one effect."""
        return getattr(self.event, self.event.kind)

    def service(self) -> None:
        """The service exists."""
        where = (*self.where, self.event.kind, "service")
        self.check.known(where, "service", self.effect.service, self.spec.services)

    def capacity(self) -> None:
        """The replicas exist."""
        self.service()
        there = self.spec.services[self.effect.service].replicas
        for index in self.effect.replicas or ():
            if index >= there:
                self.check.refuse(
                    (*self.where, "capacity", "replicas"), f"there are {there} replicas, 0 to {there - 1}"
                )

    def loss(self) -> None:
        """There are so many replicas."""
        self.service()
        there = self.spec.services[self.effect.service].replicas
        if self.effect.replicas > there:
            self.check.refuse((*self.where, "loss", "replicas"), f"there are only {there} replicas")

    def flush(self) -> None:
        """The cache exists."""
        self.service()
        caches = self.spec.services[self.effect.service].caches
        self.check.known((*self.where, "flush", "cache"), "cache", self.effect.cache, caches)

    def load(self) -> None:
        """The load exists and is open."""
        where = (*self.where, self.event.kind, "name")
        self.check.known(where, "load", self.effect.name, self.spec.load)
        if self.spec.load[self.effect.name].open is None:
            self.check.refuse(where, "only an open load has a rate")

    def edge(self) -> None:
        """Somebody calls over this edge."""
        where = (*self.where, self.event.kind)
        callers = {**self.spec.services, **self.spec.load}
        self.check.known((*where, "from"), "service or load", self.effect.caller, callers)
        self.check.known((*where, "to"), "service", self.effect.to, self.spec.services)
        edges = {(caller, call.service) for caller, _, call in self.spec.calls()}
        edges |= {
            (name, reference.partition("/")[0]) for name, load in self.spec.load.items() for reference in load.targets()
        }
        if (self.effect.caller, self.effect.to) not in edges:
            self.check.refuse(where, f"{self.effect.caller} does not call {self.effect.to}")

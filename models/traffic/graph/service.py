"""Services: replicas, workers, queues, limits, caches, heaps, and what their operations do.

A replica has `workers` threads and one queue in front of them. An operation first does its
`work` and then its `steps`, one after the other. A worker belongs to the request from its
first instant of service to its answer (`blocking: true`), or only while it works
(`blocking: false`, an event-driven server).

Cores serve one burst of work after the other (`sharing: none`), or all at once (`sharing: processor`).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from simcluster.models.traffic.graph.adaptive import Adaptive
from simcluster.models.traffic.graph.laws import (
    FACTOR,
    PLACES,
    THREADS,
    Law,
    NonNegative,
    Number,
    Part,
    Positive,
    Probability,
    Whole,
)
from simcluster.models.traffic.graph.policy import Policy, Priority
from simcluster.models.traffic.graph.refusal import shown
from simcluster.models.traffic.graph.skin import Address, Times, Words

#: Calls that a `fan_out` makes at most.
FAN_MAX = 1000
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
_SIZE = re.compile(r"(\d{1,18})(Ki|Mi|Gi|k|M|G)?")


def _size(value: Any) -> Any:
    if isinstance(value, str):
        match = _SIZE.fullmatch(value)
        if match is None:
            raise ValueError(f"must be a size, written like 256Mi, not {shown(value)}")
        value = int(match[1]) * _UNITS[match[2] or ""]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"must be a size, written like 256Mi, not {shown(value)}")
    return value


#: Bytes, written as a Kubernetes quantity (`256Mi`).
Bytes = Annotated[int, BeforeValidator(_size), Field(ge=0, le=1 << 50)]


class Queue(Part):
    """Requests that wait for a worker, at each replica.

    Attributes:
        bound: how many may wait; None is without bound.
        overflow: a request that finds it full is `reject`ed: its caller hears of it at once; or `drop`ped: its
            caller learns nothing and runs into its time-out (a full accept queue, a lost datagram).
        discipline: `priority` serves the highest priority first, in order of arrival among equals.
    """

    bound: Annotated[Whole, Field(ge=0, le=PLACES)] | None = None
    overflow: Literal["reject", "drop"] = "reject"
    discipline: Literal["fifo", "lifo", "priority"] = "fifo"


class Shedding(Part):
    """Requests given up because there are too many; the caller sees a rejection.

    Attributes:
        max_queue: arrivals are rejected while so many wait (a limit chosen by the operator, below the bound).
        max_delay: a request that waited longer is dropped when its turn comes.
        interval: then `max_delay` only counts if the queue was never empty during the last interval;
            otherwise a request may wait for the interval itself. Source: Maurer, Fail at Scale, ACM Queue 2015.
        max_in_flight: arrivals are rejected while so many are waiting or being served.
        adaptive: the same with a limit that follows the response time.
    """

    max_queue: Annotated[Whole, Field(ge=0, le=PLACES)] | None = None
    max_delay: Positive | None = None
    interval: Positive | None = None
    max_in_flight: Annotated[Whole, Field(ge=1, le=PLACES)] | None = None
    adaptive: Adaptive | None = None

    @model_validator(mode="after")
    def _sheds_something(self) -> Shedding:
        if self.max_queue is None and self.max_delay is None and self.max_in_flight is None and self.adaptive is None:
            raise ValueError("say max_queue, max_delay, max_in_flight or adaptive")
        if self.adaptive is not None and self.max_in_flight is not None:
            raise ValueError("either max_in_flight or adaptive: both limit what is inside")
        if self.interval is not None and (self.max_delay is None or self.interval < self.max_delay):
            raise ValueError("an interval needs a max_delay that is not longer")
        return self


class RateLimit(Part):
    """A token bucket at each replica: `rate` requests a second, `burst` at once; more are rejected."""

    rate: Annotated[Number, Field(gt=0.0, le=PLACES)]
    burst: Annotated[Number, Field(ge=1.0, le=PLACES)] = 1.0


class Cache(Part):
    """A cache of items; its hit rate follows from what it holds.

    Attributes:
        keys: how many different items are asked for.
        popularity: `zipf` (the k-th item with weight k**-exponent) or `uniform`.
        capacity: items it holds.
        eviction: `lru` or `random`.
        ttl: an item is forgotten so long after it was filled; None never.
        warm: it begins with the most popular items.
        shared: one cache for all replicas (a cache server beside the service), or one for each.
        fill: `success`: an item is stored when the steps of the miss succeed for whom waits for them;
            `late`: also when the caller has given up by then (a cache that reads through).
    """

    keys: Annotated[Whole, Field(ge=1, le=2_000_000)]
    popularity: Literal["zipf", "uniform"] = "zipf"
    exponent: Annotated[Number, Field(ge=0.0, le=5.0)] = 1.0
    capacity: Annotated[Whole, Field(ge=1, le=PLACES)]
    eviction: Literal["lru", "random"] = "lru"
    ttl: Positive | None = None
    warm: bool = True
    shared: bool = True
    fill: Literal["success", "late"] = "success"


class Heap(Part):
    """A garbage-collected heap: the world stops while live bytes are traced and copied.

    A collection starts when the allocations since the last one fill what is not live. It stops
    the replica for `pause_base` plus `pause_per_byte` nanoseconds for each live byte. Live are
    `base`, `waiting` for each request in the queue, and `running` for each one being served.
    When live bytes reach the size, a collection follows every allocation.

    Attributes:
        size, base, waiting, running: bytes.
        allocation: bytes that a request allocates in all while it is served.
    """

    size: Annotated[Bytes, Field(gt=0)]
    base: Bytes = 0
    waiting: Bytes = 0
    running: Bytes = 0
    allocation: Annotated[Bytes, Field(gt=0)]
    pause_base: NonNegative = 0
    pause_per_byte: Annotated[Number, Field(ge=0.0, le=FACTOR)] = 1.0

    @model_validator(mode="after")
    def _fits(self) -> Heap:
        if self.base >= self.size:
            raise ValueError(f"base ({self.base} bytes) leaves nothing of the heap ({self.size} bytes)")
        return self


class Call(Policy, Words):
    """A call of another operation; the rest of its keys are those of `Policy`, and what an application says (`Words`).

    Attributes:
        service: whom it calls; an application may say `env` instead.
        operation: what it asks for; without, the service's first one.
        times: calls one after the other; 1.25 is one, and a second one in a quarter of the requests.
        required: whether the caller fails when the call fails; otherwise it goes on without.
    """

    service: str = ""
    operation: str | None = None
    times: Times = 1.0
    required: bool = True

    @model_validator(mode="after")
    def _calls_somebody(self) -> Call:
        return _addressed(self)


class Send(Address):
    """A message nobody waits for: it joins the callee's queue, or is lost if that is full; `times` as of calls."""

    service: str = ""
    operation: str | None = None
    times: Times = 1.0
    network: Law | None = None
    priority: Priority | None = None

    @model_validator(mode="after")
    def _asks_somebody(self) -> Send:
        return _addressed(self)


C = TypeVar("C", Call, Send)


def _addressed(call: C) -> C:
    if not call.service and not call.env:
        raise ValueError("the key 'service' is missing")
    return call


def variable_of(service: str) -> str:
    """The variable in which an application finds a service's address.

    >>> variable_of("cart-db")
    'CART_DB_ADDR'
    """
    return service.upper().replace("-", "_").replace(".", "_") + "_ADDR"


class Chance(Part):
    """One branch of a choice."""

    probability: Annotated[Number, Field(gt=0.0, le=1.0)]
    steps: tuple[Step, ...] = ()


class Cached(Part):
    """Look an item up; on a miss do the steps and store it.

    Attributes:
        cache: one of the service's `caches`.
        hit: time that a look-up takes (no CPU); None is nothing.
    """

    cache: str
    hit: Law | None = None
    miss: Annotated[tuple[Step, ...], Field(min_length=1)]


class FanOut(Part):
    """The same call (or message) so many times at once; goes on when all have answered: short for `parallel`."""

    width: Annotated[Whole, Field(ge=1, le=FAN_MAX)]
    call: Call | None = None
    send: Send | None = None

    @model_validator(mode="after")
    def _asks_somebody(self) -> FanOut:
        if (self.call is None) == (self.send is None):
            raise ValueError("say either call or send")
        return self


class Step(Part):
    """One step of an operation; exactly one of the keys.

    Attributes:
        work: uses the CPU.
        wait: time without CPU (a disk, a sleep); a blocking server's worker is held.
        call: calls and waits for the answer.
        parallel: all at once; goes on when all have answered. `fan_out` is short for many equal calls.
        sequence: one after the other (inside `parallel`).
        choose: one branch by probability; with what is missing to 1, none.
        send: a message nobody waits for.
        cached: a look-up with a miss path.
    """

    work: Law | None = None
    wait: Law | None = None
    call: Call | None = None
    parallel: Annotated[tuple[Step, ...], Field(min_length=1)] | None = None
    sequence: Annotated[tuple[Step, ...], Field(min_length=1)] | None = None
    choose: Annotated[tuple[Chance, ...], Field(min_length=1)] | None = None
    send: Send | None = None
    cached: Cached | None = None
    fan_out: FanOut | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> Step:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a step is exactly one of {', '.join(type(self).model_fields)}; here: {', '.join(given) or 'none'}"
            )
        if self.choose is not None:
            total = sum(round(branch.probability * 1e9) for branch in self.choose)  # integers
            if total > 1_000_001_000:
                raise ValueError(f"the probabilities add up to {total / 1e9:g}, more than 1")
        if self.fan_out is not None:  # engines need not know of it
            one = step_of(call=self.fan_out.call, send=self.fan_out.send)
            self.__dict__.update(fan_out=None, parallel=(one,) * self.fan_out.width)
        return self

    @property
    def kind(self) -> str:
        """Which of the keys it has."""
        return next(name for name in type(self).model_fields if getattr(self, name) is not None)


def step_of(**part: Any) -> Step:
    """A step made of parts that were checked already."""
    return Step.model_construct(**{**dict.fromkeys(Step.model_fields), **part})


class Operation(Part):
    """What a service does for one kind of request.

    Attributes:
        work: CPU time at the beginning; None is none.
        contention: added to the work for every other request in the replica when it begins.
        failure: probability that it answers with an error after its work.
        error_work: CPU time spent on a request that fails, before the error is answered: by itself, by a required call,
            or because its propagated deadline had passed when its turn came (stack traces, logging, rolling back).
            Source: Bronson et al., Metastable Failures in Distributed Systems, HotOS 2021, section 2.3.
        steps: what follows.
        allocation: bytes it allocates, if not as the heap says.
    """

    work: Law | None = None
    contention: NonNegative = 0
    failure: Probability = 0.0
    error_work: Law | None = None
    steps: tuple[Step, ...] = ()
    allocation: Bytes | None = None


class Service(Part):
    """A service and its replicas.

    Attributes:
        replicas: pods; each has its own queue, workers, limits and heap.
        workers: threads of a replica; None is as many as there are requests.
        cores: of a replica: how many workers work at the same time; others wait for a core, first
            come first served. None is a core for each.
        sharing: `processor`: all requests at work share the cores equally, each on at most one; `workers` then limits
            how many do (a multiprogramming limit). Source: Kleinrock, Queueing Systems II, chapter 4.
        speed: work takes its law's time divided by this.
        blocking: a worker waits for the calls of its request.
        balancer: how callers choose a replica: at random, in turn (each caller for itself), or the one
            with the fewest requests waiting and in service (of two drawn at random: `two_choices`).
        operations: name -> operation; the first one answers calls that name none.
    """

    replicas: Annotated[Whole, Field(ge=1, le=100_000)] = 1
    workers: Annotated[Whole, Field(ge=1, le=THREADS)] | None = 1
    cores: Annotated[Whole, Field(ge=1, le=THREADS)] | None = None
    sharing: Literal["none", "processor"] = "none"
    speed: Annotated[Number, Field(ge=1e-6, le=FACTOR)] = 1.0
    blocking: bool = True
    queue: Queue = Field(default_factory=Queue)
    shed: Shedding | None = None
    rate_limit: RateLimit | None = None
    balancer: Literal["random", "round_robin", "least_requests", "two_choices"] = "random"
    caches: dict[str, Cache] = Field(default_factory=dict)
    heap: Heap | None = None
    operations: Annotated[dict[str, Operation], Field(min_length=1)]

    @model_validator(mode="after")
    def _makes_sense(self) -> Service:
        if self.cores is not None and self.workers is not None and self.cores > self.workers:
            raise ValueError(
                f"{self.cores} cores for {self.workers} workers: {self.cores - self.workers} would idle for ever"
            )
        if self.sharing == "processor" and self.cores is None:
            raise ValueError("sharing: processor needs the number of cores that are shared: say cores")
        if self.sharing == "processor" and self.heap is not None:
            raise ValueError("a heap stops workers one by one: it cannot be beside sharing: processor")
        if self.sharing == "processor" and any(operation.contention for operation in self.operations.values()):
            raise ValueError("contention cannot be beside sharing: processor, which slows requests down by itself")
        return self

    def first_operation(self) -> str:
        """The operation of calls that name none."""
        return next(iter(self.operations))

"""How a caller calls: timeout, deadline, cancellation, retries, budgets, breakers, throttling, hedging, pools.

One `Policy` belongs to an edge (a call of an operation, or a source of load). Its state
(tokens, breaker, throttle, pool) belongs to one caller: to each replica of a calling
service, to each of the `clients` of a load.

What is left out: connection set-up, TLS, and HTTP/2 stream limits other than by `pool`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simcluster.models.traffic.graph.laws import FACTOR, PLACES, Law, NonNegative, Number, Part, Positive, Whole

#: Places in a queue, from the last to the first.
Priority = Annotated[Whole, Field(ge=-1000, le=1000)]
#: How an attempt can fail, as its caller sees it.
Failure = Literal["timeout", "rejected", "error"]


class Backoff(Part):
    """Delay before the k-th retry: min(max, base * factor**(k-1)), then jitter.

    Attributes:
        jitter: `none`: that; `full`: uniform between 0 and that; `equal`: half of it plus uniform
            up to the other half; `decorrelated`: min(max, uniform between base and three times the delay before), which
            is base at first. Source: AWS Architecture Blog, Exponential Backoff And Jitter, 2015.
    """

    base: NonNegative
    factor: Annotated[Number, Field(ge=1.0, le=FACTOR)] = 2.0
    max: Positive | None = None
    jitter: Literal["none", "full", "equal", "decorrelated"] = "none"

    @model_validator(mode="after")
    def _makes_sense(self) -> Backoff:
        if self.jitter == "decorrelated" and "factor" in self.model_fields_set:
            raise ValueError("decorrelated jitter takes no factor: it goes up to three times the delay before")
        return self


class Budget(Part):
    """A token bucket that pays for retries; a retry that it cannot pay for is not made.

    Attributes:
        tokens: what the bucket holds at most, and at the beginning.
        per_call: tokens that a first attempt brings (0.1: one retry for ten calls).
        per_success: tokens that a success brings.
        cost, timeout_cost: tokens of a retry, and of a retry after a timeout (by default the same).
    """

    tokens: Annotated[Number, Field(gt=0.0, le=PLACES)]
    per_call: Annotated[Number, Field(ge=0.0, le=PLACES)] = 0.0
    per_success: Annotated[Number, Field(ge=0.0, le=PLACES)] = 0.0
    cost: Annotated[Number, Field(gt=0.0, le=PLACES)] = 1.0
    timeout_cost: Annotated[Number, Field(gt=0.0, le=PLACES)] | None = None


class Retries(Part):
    """When and how often a failed attempt is made again.

    Attributes:
        attempts: attempts in all, the first one included; 1 is no retry.
        on: failures that are retried.
    """

    attempts: Annotated[Whole, Field(ge=1, le=1000)]
    on: tuple[Failure, ...] = ("timeout", "rejected", "error")
    backoff: Backoff | None = None
    budget: Budget | None = None


class Throttle(Part):
    """Adaptive throttling: an attempt is refused by the caller itself with probability
    max(0, (requests - k * accepts) / (requests + 1)), counted over the last `window`.

    Source: Google SRE book, chapter 21, Handling Overload.
    """

    k: Annotated[Number, Field(ge=1.0, le=FACTOR)] = 2.0
    window: Positive = 120_000_000_000


class Breaker(Part):
    """A circuit breaker.

    It opens when, of at least `minimum` attempts in the last `window`, a share above
    `failure_ratio` failed. Open, it refuses attempts (`guards: calls`) or only retries
    (`guards: retries`). After `open_for` it lets `probes` attempts through: the first
    failure opens it again, as many successes close it.

    Attributes:
        window: 0 counts since the beginning, and the breaker then is open exactly while the share is above.
        per: what failed attempts are a share of: of all `attempt`s, or of `call`s (their first attempts).
    """

    failure_ratio: Annotated[Number, Field(gt=0.0, lt=1.0)]
    window: NonNegative = 10_000_000_000
    minimum: Annotated[Whole, Field(ge=1, le=PLACES)] = 5
    open_for: Positive = 5_000_000_000
    per: Literal["attempt", "call"] = "attempt"
    probes: Annotated[Whole, Field(ge=1, le=PLACES)] = 1
    guards: Literal["calls", "retries"] = "calls"


class Hedge(Part):
    """A second attempt beside the first one when that has not answered `after` so long; the first answer counts."""

    after: Positive
    extra: Annotated[Whole, Field(ge=1, le=10)] = 1


class Pool(Part):
    """Connections of one caller; an attempt waits until one is free, within its timeout.

    Attributes:
        size: connections of one caller.
        name: calls of a service whose pools have the same name share the connections; they call the same service.
        reuse: what a connection leads to, and which free one is taken. None: to whichever replica the callee's
            balancer chooses for each attempt, as through a proxy. Else to the replica to which it was opened, when
            first no other was free; then `mru` takes the free connection whose answer came last, `lru` the one that
            has been free for the longest, `random` any. One that is closed is opened anew where the balancer says.
            Ways of unequal speed are replicas of a service that passes requests on. Source of `mru`: Bronson,
            Solving the Mystery of Link Imbalance, Facebook 2014; Bronson et al., HotOS 2021, section 2.4.
        hold: a connection that timed out is free `attempt`: at once (it is closed), or `answer`: when
            the callee at last answers or drops the request.
        waiting: attempts that may wait for a connection; more are refused. None is without bound.
    """

    size: Annotated[Whole, Field(ge=1, le=PLACES)]
    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    reuse: Literal["mru", "lru", "random"] | None = None
    hold: Literal["attempt", "answer"] = "attempt"
    waiting: Annotated[Whole, Field(ge=0, le=PLACES)] | None = None


class Policy(Part):
    """How one edge is called.

    Attributes:
        timeout: of one attempt; None waits for ever.
        patience: further time after which the caller gives an attempt up, drawn for each; the earlier of both counts.
        deadline: of the call with all its attempts; None has none.
        propagate: the callee learns the instant at which its caller gives up and does not begin
            work, nor calls of its own, after it. The remaining time bounds the callee's own timeouts.
        cancel: when a caller gives up, `queued` takes a waiting request out of the callee's queue,
            `running` also stops one that is being served (and what it called, by its own edges' rules).
        network: one-way delay, drawn for each message; None is the graph's.
        priority: of its requests in queues that look at it (higher goes first); None: that of the caller's request.
        retry_priority: the same for second and later attempts.
    """

    timeout: Positive | None = None
    patience: Law | None = None
    deadline: Positive | None = None
    propagate: bool = False
    cancel: Literal["no", "queued", "running"] = "no"
    retries: Retries | None = None
    throttle: Throttle | None = None
    breaker: Breaker | None = None
    hedge: Hedge | None = None
    pool: Pool | None = None
    network: Law | None = None
    priority: Priority | None = None
    retry_priority: Priority | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> Policy:
        if self.hedge is not None and self.timeout is not None and self.hedge.after >= self.timeout:
            raise ValueError("hedge: after is not below the timeout: the second attempt would never be made")
        if self.timeout is not None and self.deadline is not None and self.timeout > self.deadline:
            raise ValueError("the timeout of an attempt is longer than the deadline of the call")
        return self

    @property
    def attempts(self) -> int:
        """Attempts in all, the first one included."""
        return self.retries.attempts if self.retries is not None else 1

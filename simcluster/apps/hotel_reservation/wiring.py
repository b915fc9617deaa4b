"""What variables make of the calls of two programs: a limiter, retries, a search that fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.traffic.cluster.operations import CallSpec, LogTemplate, OperationSpec, ServiceSpec
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.service import Queue

#: What the programs take for a variable that is not set or no number. Source: their `server.go`.
PACE, QUEUE = 20, 256
TIMEOUT_MS, ATTEMPTS, BACKOFF_MS, FACTOR = 750, 3, 50, 2.0
#: What a request of `rate` takes besides waiting for its token; it counts into the pace.
BESIDES_NS = MILLISECOND


def paced(spec: ServiceSpec, environment: Mapping[str, str]) -> ServiceSpec:
    """`rate`'s limiter: requests wait for tokens that come at an even pace; given up ones use theirs up, too.

    One worker that holds each request for the interval of the tokens. Left out: a token kept while nobody
    asks, by which a request after a pause does not wait.
    """
    pace = _positive(environment, "RATE_BACKEND_QPS_LIMIT", PACE)
    bound = _positive(environment, "RATE_QUEUE_CAPACITY", QUEUE)
    interval = max(0, SECOND // pace - BESIDES_NS)
    operations = tuple(replace(op, latency_ns=op.latency_ns + interval, latency_cv=0.0) for op in spec.operations)
    return replace(spec, operations=operations, workers=1, queue=bound, queueing=Queue(bound=bound))


def retrying(spec: ServiceSpec, environment: Mapping[str, str]) -> ServiceSpec:
    """`search`'s time-out and retries of `rate`, as its variables say."""
    timeout_ms = _positive(environment, "RATE_RPC_TIMEOUT_MS", TIMEOUT_MS)
    attempts = min(1000, _positive(environment, "RATE_RPC_MAX_ATTEMPTS", ATTEMPTS))
    backoff = {
        "base": f"{_positive(environment, 'RATE_RPC_INITIAL_BACKOFF_MS', BACKOFF_MS)}ms",
        "factor": max(1.0, _number(environment, "RATE_RPC_BACKOFF_MULTIPLIER", FACTOR)),
    }
    retries = {"attempts": attempts, "backoff": backoff}
    policy = Policy.model_validate({"timeout": f"{timeout_ms}ms", "retries": retries})

    def own(call: CallSpec) -> CallSpec:
        if call.operation != "GetRates":
            return call
        return replace(call, timeout_ns=timeout_ms * MILLISECOND, retries=attempts - 1, policy=policy)

    operations = (
        replace(op, steps=tuple(tuple(own(call) for call in step) for step in op.steps)) for op in spec.operations
    )
    return replace(spec, operations=tuple(operations))


def failing(spec: ServiceSpec, operations: tuple[str, ...], line: str) -> ServiceSpec:
    """Some operations answer 500 and say so in the log; they ask nobody."""
    broken = CallSpec("", "", log=(LogTemplate(line),))

    def changed(op: OperationSpec) -> OperationSpec:
        return replace(op, steps=((broken,),)) if op.name in operations else op

    return replace(spec, operations=tuple(changed(op) for op in spec.operations))


def _positive(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, "")
    return int(text) if text.isdigit() and int(text) > 0 else default


def _number(environment: Mapping[str, str], name: str, default: float) -> float:
    whole, _, rest = environment.get(name, "").partition(".")
    return float(f"{whole}.{rest or 0}") if whole.isdigit() and (not rest or rest.isdigit()) else default

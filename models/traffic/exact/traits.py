"""What a graph has that decides by which strategies it may be evaluated (`traffic.strategies`), as its file says it."""

from __future__ import annotations

from simcluster.models.traffic.graph.load import Load
from simcluster.models.traffic.graph.policy import Policy
from simcluster.models.traffic.graph.service import Service
from simcluster.models.traffic.graph.spec import GraphSpec

_CONTINUOUS = ("exponential", "uniform", "erlang", "gamma", "lognormal", "hyperexponential")
#: Events that change the speed of a queue, the rate of a load, or what reaches it.
_PLAIN_EVENTS = ("capacity", "load", "rate", "outage")


def traits_of(spec: GraphSpec) -> frozenset[str]:
    """Names of the traits, of any service, call or load."""
    has = {
        "branching": len(spec.services) != 1 or len(spec.load) != 1 or spec.network is not None,
        "disturbed": bool(spec.events),
        "rewired": any(event.kind not in _PLAIN_EVENTS for event in spec.events),
    }
    found = [name for name, given in has.items() if given]
    for service in spec.services.values():
        found += _of_service(service)
    for load in spec.load.values():
        found += _of_load(load)
    return frozenset(found)


def _of_service(service: Service) -> list[str]:
    operations = service.operations.values()
    has = {
        "branching": len(operations) != 1
        or service.replicas != 1
        or service.workers is None
        or service.cores not in (None, service.workers)
        or any(operation.work is None or operation.steps for operation in operations),
        "lattice": any(o.work is not None and o.work.law not in _CONTINUOUS for o in operations),
        "failing": any(operation.failure for operation in operations),
        "contended": any(operation.contention for operation in operations),
        "reordered": service.queue.discipline != "fifo",
        "dropping": service.queue.overflow == "drop",
        "shedding": service.shed is not None,
        "rate_limited": service.rate_limit is not None,
        "heaped": service.heap is not None,
        "sharing": service.sharing == "processor",
        "costly_failures": any(operation.error_work is not None for operation in operations),
    }
    return [name for name, given in has.items() if given]


def _of_load(load: Load) -> list[str]:
    """Of a load and how its users call."""
    call, retries = load.call, load.call.retries
    plain = call.model_copy(update=dict.fromkeys(("timeout", "retries", "priority", "retry_priority")))
    later = retries is not None and (retries.backoff is not None or retries.budget is not None)
    has = {
        "closed": load.closed is not None,
        "bursty": load.replay is not None or (load.open is not None and load.open.burst is not None),
        "uneven": load.open is None or load.open.arrivals != "poisson",
        "staged": load.open is None or load.open.rate is None,
        "varying": load.is_curved(),
        "timed": call.timeout is not None,
        "untimed": call.timeout is None,
        "retried": retries is not None or call.retry_priority is not None,
        "cautious": plain != Policy() or later,
    }
    return [name for name, given in has.items() if given]

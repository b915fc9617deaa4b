"""Checks of behaviour: users, requests, and how much of their time containers are stopped."""

from __future__ import annotations

from pydantic import Field

from simcluster.api.objects import labels_of
from simcluster.engine import SECOND
from simcluster.engine.content import Content, Nanoseconds
from simcluster.eval.oracles.check import Check, Context
from simcluster.eval.trajectory import observe
from simcluster.eval.trajectory.recorder import USERS_LAG_NS
from simcluster.faults.target import pods_of

#: By which an EndpointSlice belongs to a Service.
SERVICE_LABEL = "kubernetes.io/service-name"
#: Fewer requests say nothing about a ratio.
REQUESTS_MIN = 20


class UsersArgs(Content):
    """Users of the Service `entry` must succeed in at least `ratio` of their requests, `for` so long."""

    entry: str
    ratio: float = Field(gt=0, le=1)
    for_ns: Nanoseconds = Field(alias="for", default=60 * SECOND)


class UsersSucceed(Check):
    """Users who enter by a Service get what they ask for, over the last part of the window."""

    Args = UsersArgs
    lasting = False
    args: UsersArgs

    def why_not(self, ctx: Context) -> str:
        """Count their requests."""
        end = ctx.world.sim.now - USERS_LAG_NS
        sent = ok = 0
        for load in ctx.world.traffic.users.values():
            if load.service == self.args.entry and load.namespace == ctx.namespace:
                stats = load.window(end - self.args.for_ns, end)
                sent += stats.ended
                ok += stats.ok
        if sent < REQUESTS_MIN:
            return f"only {sent} requests of users of {self.args.entry} were made"
        if ok < self.args.ratio * sent:
            return f"{ok} of {sent} requests of users of {self.args.entry} succeeded, under {self.args.ratio}"
        return ""


class ReachableArgs(Content):
    """A Service of the application; `port` is its first one unless given."""

    service: str
    port: int | None = None


class ServiceReachable(Check):
    """A request from inside the cluster to the Service is answered with 200 within 3 s."""

    Args = ReachableArgs
    args: ReachableArgs

    def why_not(self, ctx: Context) -> str:
        """Make one."""
        answer = observe.reach(ctx.world, ctx.namespace, self.args.service, self.args.port)
        if answer.reachable:
            return ""
        got = f"status {answer.status}" if answer.status else "no answer"
        return f"a request to Service {self.args.service} got {got} after {answer.latency_ns / 1e9:.1f} s"


class AttemptsArgs(Content):
    """Calls that a Deployment makes to a Service: at most `ratio` attempts for each of its own requests, `for` so long.

    Requests are those that come to the Service `caller`.
    """

    caller: str
    callee: str
    ratio: float = Field(gt=0)
    for_ns: Nanoseconds = Field(alias="for", default=30 * SECOND)


class AttemptsPerRequest(Check):
    """Retries do not amplify the load: attempts at a callee, for each request of its caller."""

    Args = AttemptsArgs
    lasting = False
    args: AttemptsArgs

    def why_not(self, ctx: Context) -> str:
        """Count the calls on both edges."""
        end = ctx.world.sim.now - USERS_LAG_NS
        sent = {self.args.caller: 0, self.args.callee: 0}
        found = {address: name for name in sent for address in addresses(ctx, name)}
        for edge in ctx.world.traffic.history.between(end - self.args.for_ns, end):
            name, _, namespace = edge.key.host.partition(".")
            here = edge.key.namespace == ctx.namespace and namespace.partition(".")[0] in ("", ctx.namespace)
            name = found.get(edge.key.host, name if here else "")
            if edge.key.namespace == ctx.namespace and name in sent:
                sent[name] += edge.sent
        requests, attempts = sent[self.args.caller], sent[self.args.callee]
        if requests < REQUESTS_MIN:
            return f"only {requests} requests came to {self.args.caller}"
        if attempts > self.args.ratio * requests:
            return f"{self.args.caller} makes {attempts / requests:.2f} attempts a request, over {self.args.ratio}"
        return ""


def addresses(ctx: Context, service: str) -> list[str]:
    """Where a Service is reached besides its name: its own address, and those of its pods."""
    store = ctx.world.api.store
    own = store.get("services", ctx.namespace, service)
    slices = store.objects("endpointslices.discovery.k8s.io", ctx.namespace)
    mine = [one for one in slices if labels_of(one).get(SERVICE_LABEL) == service]
    found = [address for one in mine for each in one.get("endpoints") or () for address in each["addresses"]]
    return [*found, *((own["spec"].get("clusterIPs") or ()) if own is not None else ())]


class ThrottledArgs(Content):
    """A container of a Deployment may be stopped by its quota for at most `share` of the window."""

    deployment: str
    share: float = Field(gt=0, le=1)
    container: str = ""


class NotThrottled(Check):
    """The CFS quota does not hold a Deployment's containers back."""

    Args = ThrottledArgs
    lasting = False
    args: ThrottledArgs

    def begin(self, ctx: Context) -> None:
        """Note the counters at the start of the window."""
        ctx.memo[self.index] = self._counters(ctx)

    def why_not(self, ctx: Context) -> str:
        """Compare the counters with those at the start; a new container started at zero."""
        before: dict[str, int] = ctx.memo.get(self.index, {})
        counters = self._counters(ctx)
        if not counters:
            return f"Deployment {self.args.deployment} has no running container"
        window_ns = max(1, ctx.world.sim.now - ctx.opened_ns)
        worst = max(throttled - before.get(container, 0) for container, throttled in counters.items())
        if worst <= self.args.share * window_ns:
            return ""
        return f"a container of Deployment {self.args.deployment} was throttled for {worst / window_ns:.0%} of the time"

    def _counters(self, ctx: Context) -> dict[str, int]:
        """Container id -> nanoseconds in which the quota stopped it."""
        workload = ctx.deployment(self.args.deployment)
        found: dict[str, int] = {}
        for pod in [] if workload is None else pods_of(ctx.world.api.store, workload):
            machine = ctx.world.machines.get(pod["spec"].get("nodeName", ""))
            for container in [] if machine is None else machine.runtime.containers():
                named = not self.args.container or container.spec.name == self.args.container
                if container.running and named and container.spec.pod_uid == pod["metadata"]["uid"]:
                    found[container.container_id] = container.throttled_ns
        return found

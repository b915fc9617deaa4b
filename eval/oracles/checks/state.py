"""Checks of state: objects, nodes and units."""

from __future__ import annotations

from pydantic import field_validator, model_validator

from simcluster.api.objects import ApiObject
from simcluster.api.quantity import to_millicores
from simcluster.engine.content import Content
from simcluster.eval.oracles.baseline import damage
from simcluster.eval.oracles.check import Check, Context
from simcluster.eval.trajectory import observe
from simcluster.faults.mechanism import container_named
from simcluster.faults.target import ObjectRef, ready_pods_of


class NoArgs(Content):
    """No arguments."""


class EndpointsArgs(Content):
    """The Service, and the Deployment whose ready pods must be exactly its endpoints."""

    service: str
    pods_of: str


class EndpointsAre(Check):
    """The Service's ready endpoints are the ready pods of a Deployment, and there is at least one."""

    Args = EndpointsArgs
    args: EndpointsArgs

    def why_not(self, ctx: Context) -> str:
        """Compare addresses."""
        store = ctx.world.api.store
        if store.get("services", ctx.namespace, self.args.service) is None:
            return f"Service {self.args.service} does not exist"
        workload = ctx.deployment(self.args.pods_of)
        pods = [] if workload is None else ready_pods_of(store, workload)
        wanted = sorted((pod.get("status") or {}).get("podIP", "") for pod in pods)
        found = observe.ready_endpoints(store, ctx.namespace, self.args.service)
        if not found:
            return f"Service {self.args.service} has no ready endpoint"
        if found != wanted:
            return f"endpoints of Service {self.args.service} are {found}, not the ready pods {wanted}"
        return ""


class DeploymentArgs(Content):
    """A Deployment of the application."""

    deployment: str


class DeploymentAvailable(Check):
    """The Deployment has as many available replicas as it asked for before the incident."""

    Args = DeploymentArgs
    args: DeploymentArgs

    def why_not(self, ctx: Context) -> str:
        """Look at its status."""
        workload = ctx.deployment(self.args.deployment)
        if workload is None:
            return f"Deployment {self.args.deployment} does not exist"
        wanted = max(1, ctx.baseline.replicas(self.args.deployment))
        available = (workload.get("status") or {}).get("availableReplicas", 0)
        return "" if available >= wanted else f"{available} of {wanted} replicas are available"


class RolloutComplete(Check):
    """The newest template of the Deployment is rolled out, and no pod of an older one is left."""

    Args = DeploymentArgs
    args: DeploymentArgs

    def why_not(self, ctx: Context) -> str:
        """As `kubectl rollout status` decides it (kubectl, pkg/polymorphichelpers/rollout_status.go)."""
        workload = ctx.deployment(self.args.deployment)
        if workload is None:
            return f"Deployment {self.args.deployment} does not exist"
        replicas = workload["spec"].get("replicas", 1)
        status = workload.get("status") or {}
        if replicas < max(1, ctx.baseline.replicas(self.args.deployment)):
            return f"scaled to {replicas}"
        if status.get("observedGeneration", 0) < workload["metadata"].get("generation", 0):
            return "the newest spec has not been observed"
        updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
        if updated < replicas:
            return f"{updated} of {replicas} replicas are updated"
        if status.get("replicas", 0) > updated:
            return "old replicas are pending termination"
        return "" if available >= updated else f"{available} of {updated} updated replicas are available"


class ImageArgs(Content):
    """A Deployment and the tag that no container of it may ask for."""

    deployment: str
    tag: str


class ImageIsNot(Check):
    """No container of the Deployment asks for an image with the tag."""

    Args = ImageArgs
    args: ImageArgs

    def why_not(self, ctx: Context) -> str:
        """Look at the pod template."""
        workload = ctx.deployment(self.args.deployment)
        if workload is None:
            return f"Deployment {self.args.deployment} does not exist"
        images = [c["image"] for c in workload["spec"]["template"]["spec"]["containers"]]
        wrong = [image for image in images if image.endswith(f":{self.args.tag}")]
        return f"Deployment {self.args.deployment} asks for {wrong[0]}" if wrong else ""


class EnvArgs(Content):
    """A variable of a Deployment: its exact value, or the Service that its host:port must reach."""

    deployment: str
    variable: str
    value: str = ""
    reaches: str = ""
    container: str = ""

    @model_validator(mode="after")
    def _one_way(self) -> EnvArgs:
        if bool(self.value) == bool(self.reaches):
            raise ValueError("give either value or reaches")
        return self


class EnvValueIs(Check):
    """An environment variable has a value, or holds an address that leads to a Service.

    The second form accepts every right spelling: short name, with namespace, fully qualified,
    or the cluster IP.
    """

    Args = EnvArgs
    args: EnvArgs

    def why_not(self, ctx: Context) -> str:
        """Look at the pod template, and resolve as a pod does."""
        workload = ctx.deployment(self.args.deployment)
        container = None if workload is None else container_named(workload, self.args.container)
        values = [e for e in (container or {}).get("env") or () if e["name"] == self.args.variable]
        if not values:
            return f"Deployment {self.args.deployment} has no variable {self.args.variable}"
        value = values[-1].get("value", "")
        if self.args.value:
            return "" if value == self.args.value else f"{self.args.variable} is {value!r}"
        host, _, port = value.rpartition(":")
        address = ctx.world.network.lookup(host, ctx.namespace)
        service = ctx.world.api.store.get("services", ctx.namespace, self.args.reaches)
        if service is None or address is None or address != service["spec"].get("clusterIP"):
            return f"{self.args.variable}={value} does not lead to Service {self.args.reaches}"
        if port not in [str(p["port"]) for p in service["spec"].get("ports") or ()]:
            return f"{self.args.variable}={value}: Service {self.args.reaches} has no port {port}"
        return ""


class NodeArgs(Content):
    """A node."""

    node: str


class NodeReady(Check):
    """The node exists, is Ready and may be scheduled on as before."""

    Args = NodeArgs
    args: NodeArgs

    def why_not(self, ctx: Context) -> str:
        """Look at the Node."""
        node: ApiObject | None = ctx.world.api.store.get("nodes", "", self.args.node)
        if node is None:
            return f"Node {self.args.node} does not exist"
        return "" if observe.is_node_ready(node) else f"Node {self.args.node} is not Ready"


class UnitArgs(Content):
    """A systemd unit of a node."""

    node: str
    unit: str


class UnitActive(Check):
    """The unit runs."""

    Args = UnitArgs
    args: UnitArgs

    def why_not(self, ctx: Context) -> str:
        """Ask systemd."""
        machine = ctx.world.machines.get(self.args.node)
        unit = None if machine is None else machine.unit(self.args.unit)
        return "" if unit is not None and unit.active else f"{self.args.unit} does not run on {self.args.node}"


class CpuLimitArgs(Content):
    """A container of a Deployment, and the least CPU limit it must have; none at all is fine too."""

    deployment: str
    cpu: str
    container: str = ""

    @field_validator("cpu")
    @classmethod
    def _quantity(cls, value: str) -> str:
        try:
            to_millicores(value)
        except ValueError:
            raise ValueError(f"{value!r} is no amount of CPU: write 200m or 0.2") from None
        return value


class CpuLimitAtLeast(Check):
    """The CPU limit of a container is high enough."""

    Args = CpuLimitArgs
    args: CpuLimitArgs

    def why_not(self, ctx: Context) -> str:
        """Look at the pod template."""
        workload = ctx.deployment(self.args.deployment)
        container = None if workload is None else container_named(workload, self.args.container)
        if container is None:
            return f"Deployment {self.args.deployment} has no such container"
        limit = ((container.get("resources") or {}).get("limits") or {}).get("cpu")
        if limit is None or to_millicores(limit) >= to_millicores(self.args.cpu):
            return ""
        return f"the CPU limit of Deployment {self.args.deployment} is {limit}, under {self.args.cpu}"


class CauseGone(Check):
    """What the incident did is no longer so, for every fault of it."""

    Args = NoArgs
    stands_in = True

    def why_not(self, ctx: Context) -> str:
        """Ask each mechanism."""
        return "; ".join(filter(None, (m.still_present(ctx.world) for m in ctx.mechanisms if m.lasting)))


class WorseArgs(Content):
    """Objects besides the faulted ones that a right remedy may change: `Kind/name` in `may_change`."""

    may_change: tuple[str, ...] = ()

    @field_validator("may_change")
    @classmethod
    def _kinds_and_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            ObjectRef.parse(text)
        return value


class NothingWorseThanBefore(Check):
    """Nothing that was there before the incident is deleted, smaller, changed or stopped."""

    Args = WorseArgs
    stands_in = True
    args: WorseArgs

    @property
    def refs(self) -> list[ObjectRef]:
        """What may change."""
        return [ObjectRef.parse(text) for text in self.args.may_change]

    def why_not(self, ctx: Context) -> str:
        """Compare with the baseline."""
        refs = [*((m.ref, m.namespace) for m in ctx.mechanisms), *((ref, ctx.namespace) for ref in self.refs)]
        faulted = tuple(ref.key_in(ctx.world.api, where) for ref, where in refs)
        found = damage(ctx.baseline, ctx.world, faulted)
        return "; ".join(found[:5]) + ("" if len(found) <= 5 else f" and {len(found) - 5} more")

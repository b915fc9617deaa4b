"""A CPU limit far below what a container needs."""

from __future__ import annotations

from pydantic import field_validator

from simcluster.api.objects import Json
from simcluster.api.quantity import QuantityError, to_millicores
from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.deployer import redeploy
from simcluster.faults.mechanism import ContainerMechanism, container_named
from simcluster.faults.target import FaultTarget, ImpossibleTarget


class CpuParams(Content):
    """The limit to deploy, in Kubernetes' units (`20m`); `container` is the first one unless named."""

    limit: str
    container: str = ""

    @field_validator("limit")
    @classmethod
    def _quantity(cls, value: str) -> str:
        try:
            to_millicores(value)
        except QuantityError:
            raise ValueError(f"{value!r} is no quantity of CPU; write one like 20m or 0.5") from None
        return value


class ContainerCpu(ContainerMechanism):
    """A Deployment is rolled out with a CPU limit that its load exceeds.

    The request is lowered with the limit, because the API refuses a request above it.

    Symptoms: the container runs but the CFS quota stops it most of the time; answers are
    slow, callers time out, probes with a 1 s timeout may fail and restart it.
    Shows in: the pod template, `top`, latency, probe Events, callers' logs, users.
    Undone by: a limit that fits, no limit, rolling back, or applying the right manifest.
    """

    sheet = DataSheet(
        layer="configuration",
        family="cpu_limit",
        changes=(
            "spec.template.spec.containers[*].resources.limits.cpu",
            "spec.template.spec.containers[*].resources.requests.cpu",
        ),
        follows="The CFS quota stops the container most of the time; its answers are late, its callers time "
        "out, its probes may fail.",
        undone_by=("a limit that fits", "no limit", "rolling back"),
        units={"limit": "Kubernetes quantity of CPU"},
        source="Linux CFS bandwidth control; Kubernetes, resource management for pods",
    )
    Params = CpuParams
    params: CpuParams

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"cpu": self.params.limit}

    def check(self, target: FaultTarget) -> None:
        """The present limit, if there is one, must be above the new one."""
        super().check(target)
        limit = ((self.container(target).get("resources") or {}).get("limits") or {}).get("cpu")
        if limit is not None and to_millicores(limit) <= to_millicores(self.params.limit):
            raise ImpossibleTarget(f"the CPU limit of {self.ref} is already {limit}")

    def inject(self, target: FaultTarget) -> None:
        """Deploy the low limit."""
        redeploy(target, self.deployer, self.namespace, self.ref, self._edit)

    def _edit(self, manifest: Json) -> None:
        container = container_named(manifest, self.params.container)
        if container is None:
            return
        resources = container.setdefault("resources", {})
        resources.setdefault("limits", {})["cpu"] = self.params.limit
        request = (resources.get("requests") or {}).get("cpu")
        if request is not None and to_millicores(request) > to_millicores(self.params.limit):
            resources["requests"]["cpu"] = self.params.limit

    def still_present(self, target: FaultTarget) -> str:
        """The limit is still no higher than the one that was deployed."""
        container = self.current(target)
        limit = (((container or {}).get("resources") or {}).get("limits") or {}).get("cpu")
        if limit is None or to_millicores(limit) > to_millicores(self.params.limit):
            return ""
        return f"{self.ref} still has the CPU limit {limit}"

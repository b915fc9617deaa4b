"""An environment variable of a container with a wrong value."""

from __future__ import annotations

from typing import Any

from simcluster.api.objects import Json
from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.deployer import redeploy
from simcluster.faults.mechanism import ContainerMechanism, container_named
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ObjectRef


class EnvParams(Content):
    """The variable and its wrong value; `container` is the first one unless named."""

    variable: str
    value: str
    container: str = ""


class ContainerEnv(ContainerMechanism):
    """A Deployment is rolled out with a wrong address in an environment variable.

    Symptoms: all pods stay Ready; the program cannot reach one of its dependencies and says
    so in its log (`no such host`, `connection refused`), and its callers fail with it.
    Shows in: the pod template, the program's and its callers' logs, users.
    Undone by: setting the right value, rolling back, or applying the right manifest.
    Source of the symptoms: Cloud-OpsBench, service_env_var_address_mismatch.
    """

    sheet = DataSheet(
        layer="configuration",
        family="wrong_env",
        changes=("spec.template.spec.containers[*].env[*].value",),
        follows="The program calls a wrong address, or calls as often as it should not, and its callers fail with it.",
        undone_by=("the right value", "rolling back"),
        source="Cloud-OpsBench, service_env_var_address_mismatch",
    )
    Params = EnvParams
    params: EnvParams

    @classmethod
    def drawn(cls, target: FaultTarget, ref: ObjectRef, namespace: str) -> list[dict[str, Any]]:
        """Each address of the first container, with the port beside it."""
        found = ref.find(target.api, namespace)
        container = None if found is None else container_named(found, "")
        addresses = [(e["name"], *str(e.get("value", "")).rpartition(":")) for e in (container or {}).get("env") or ()]
        return [
            {"variable": name, "value": f"{host}:{int(port) + 1}"}
            for name, host, colon, port in addresses
            if colon and "/" not in host and port.isdigit()
        ]

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return f"variable {self.params.variable}"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {self.params.variable: self.params.value}

    def check(self, target: FaultTarget) -> None:
        """The container must have the variable, with another literal value."""
        super().check(target)
        values = [e for e in self.container(target).get("env") or () if e["name"] == self.params.variable]
        if not values:
            raise ImpossibleTarget(f"{self.ref} has no environment variable {self.params.variable}")
        if "value" not in values[0] or values[0]["value"] == self.params.value:
            raise ImpossibleTarget(f"{self.params.variable} of {self.ref} has no other literal value")

    def inject(self, target: FaultTarget) -> None:
        """Deploy the wrong value."""
        redeploy(target, self.deployer, self.namespace, self.ref, self._edit)

    def _edit(self, manifest: Json) -> None:
        container = container_named(manifest, self.params.container)
        for entry in (container or {}).get("env") or ():
            if entry["name"] == self.params.variable:
                entry["value"] = self.params.value

    def still_present(self, target: FaultTarget) -> str:
        """The wrong value is the one that counts: the last entry of a repeated name wins."""
        container = self.current(target)
        values = [e.get("value") for e in (container or {}).get("env") or () if e["name"] == self.params.variable]
        if not values or values[-1] != self.params.value:
            return ""
        return f"{self.ref} still has {self.params.variable}={self.params.value}"

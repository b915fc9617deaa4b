"""A Service that selects by a label value which no pod carries."""

from __future__ import annotations

from simcluster.api.objects import Json, labels_of, namespace_of
from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.deployer import redeploy
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import FaultTarget, ImpossibleTarget, matches


class SelectorParams(Content):
    """`label: value` is added to the selector, or takes the place of the value it has."""

    label: str
    value: str


class ServiceSelector(Mechanism):
    """The selector of a Service is changed so that it matches nothing.

    Symptoms: the Service's endpoints are empty while all pods stay Ready; callers get
    `connection refused` at the cluster IP. No Event is written anywhere.
    Shows in: Service, Endpoints, EndpointSlices, callers' logs, users.
    Undone by: correcting or removing the label in the selector, or applying the right manifest.
    Source of the symptoms: Cloud-OpsBench, service_selector_mismatch.
    """

    sheet = DataSheet(
        layer="service",
        family="service_selector",
        changes=("spec.selector*",),
        follows="The Service has no endpoints; its callers get connection refused while all pods are Ready.",
        undone_by=("the right selector", "pods that carry the label"),
        source="Cloud-OpsBench, service_selector_mismatch",
    )
    Params = SelectorParams
    kinds = ("Service",)
    params: SelectorParams

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {self.params.label: self.params.value}

    def check(self, target: FaultTarget) -> None:
        """The Service must select pods now, and none after the change."""
        super().check(target)
        service = self.object(target)
        selector = dict(service["spec"].get("selector") or {})
        pods = [labels_of(pod) for pod in target.api.store.objects("pods", namespace_of(service))]
        if not any(matches(selector, labels) for labels in pods):
            raise ImpossibleTarget(f"{self.ref} selects no pod even without the fault")
        selector[self.params.label] = self.params.value
        if any(matches(selector, labels) for labels in pods):
            raise ImpossibleTarget(f"{self.ref} still selects pods with {self.params.label}={self.params.value}")

    def inject(self, target: FaultTarget) -> None:
        """Deploy the Service with the wrong selector."""
        redeploy(target, self.deployer, self.namespace, self.ref, self._edit)

    def _edit(self, manifest: Json) -> None:
        manifest["spec"].setdefault("selector", {})[self.params.label] = self.params.value

    def still_present(self, target: FaultTarget) -> str:
        """The wrong value stands in the selector and no pod template carries it."""
        service = self.ref.find(target.api, self.namespace)
        if service is None:
            return ""
        selector = service["spec"].get("selector") or {}
        if selector.get(self.params.label) != self.params.value:
            return ""
        for workload in target.api.store.objects("deployments.apps", self.namespace):
            if matches(selector, workload["spec"]["template"]["metadata"].get("labels") or {}):
                return ""
        return f"{self.ref} still selects {self.params.label}={self.params.value}, which no workload's pods carry"

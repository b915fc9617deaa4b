"""Which strategy a resource has."""

from __future__ import annotations

from typing import Any

from simcluster.api.authorization import escalation
from simcluster.api.defaults import count_template_generation, generate_job_selector
from simcluster.api.objects import ApiObject, Json
from simcluster.api.registry.attributes import Attributes
from simcluster.api.registry.customresources import CustomResourceStrategy, DefinitionStrategy
from simcluster.api.registry.namespaces import NamespaceStrategy
from simcluster.api.registry.pods import PodStrategy
from simcluster.api.registry.services import ServiceStrategy
from simcluster.api.registry.strategy import Strategy
from simcluster.api.resources import Resource


class EndpointSliceStrategy(Strategy):
    """The generation counts changes of anything but annotations."""

    def is_spec_changed(self, obj: Json, old: ApiObject) -> bool:
        """Whether addresses, ports or labels differ."""
        if obj["metadata"].get("labels") != old["metadata"].get("labels"):
            return True
        return {k: v for k, v in obj.items() if k != "metadata"} != {k: v for k, v in old.items() if k != "metadata"}


class CertificateSigningRequestStrategy(Strategy):
    """A request carries the identity of who asks."""

    def prepare_for_create(self, attributes: Attributes, state: Any) -> None:
        """Note the requesting user."""
        super().prepare_for_create(attributes, state)
        obj = attributes.new
        user = attributes.user
        obj["spec"] = {**(obj.get("spec") or {}), "username": user.name, "groups": list(user.groups)}


class RoleStrategy(Strategy):
    """Nobody may put rules into a role that he does not have himself."""

    def prepare_for_create(self, attributes: Attributes, state: Any) -> None:
        """Check the writer's own rules."""
        super().prepare_for_create(attributes, state)
        if state.authorizer is not None:
            escalation.check_role(attributes, state.authorizer)

    def prepare_for_update(self, attributes: Attributes, state: Any) -> None:
        """Check the writer's own rules."""
        super().prepare_for_update(attributes, state)
        if state.authorizer is not None:
            escalation.check_role(attributes, state.authorizer)


class BindingStrategy(Strategy):
    """Nobody may bind to a role whose rules he does not have himself."""

    def prepare_for_create(self, attributes: Attributes, state: Any) -> None:
        """Check the writer's own rules."""
        super().prepare_for_create(attributes, state)
        if state.authorizer is not None:
            escalation.check_binding(attributes, state.authorizer)

    def prepare_for_update(self, attributes: Attributes, state: Any) -> None:
        """Check the writer's own rules."""
        super().prepare_for_update(attributes, state)
        if state.authorizer is not None:
            escalation.check_binding(attributes, state.authorizer)


class JobStrategy(Strategy):
    """A Job gets its selector and labels from its uid."""

    def prepare_for_create(self, attributes: Attributes, state: Any) -> None:
        """Fix the uid and what follows from it."""
        super().prepare_for_create(attributes, state)
        metadata = attributes.new["metadata"]
        metadata["uid"] = state.identities.uid("jobs.batch", attributes.namespace, metadata.get("name", ""))
        generate_job_selector(attributes.new, metadata["uid"])


class DaemonSetStrategy(Strategy):
    """An annotation counts the changes of the pod template."""

    def prepare_for_create(self, attributes: Attributes, state: Any) -> None:
        """Begin to count."""
        super().prepare_for_create(attributes, state)
        count_template_generation(attributes.new, None)

    def prepare_for_update(self, attributes: Attributes, state: Any) -> None:
        """Count on."""
        super().prepare_for_update(attributes, state)
        count_template_generation(attributes.new, attributes.current)


class DeploymentStrategy(Strategy):
    """Annotations are part of what a deployment's generation counts."""

    def is_spec_changed(self, obj: Json, old: ApiObject) -> bool:
        """Whether the spec or an annotation differs."""
        before, after = old["metadata"].get("annotations") or {}, obj["metadata"].get("annotations") or {}
        return super().is_spec_changed(obj, old) or dict(before) != dict(after)


_GENERIC = Strategy()
_CUSTOM = CustomResourceStrategy()
_STRATEGIES: dict[str, Strategy] = {
    "certificatesigningrequests.certificates.k8s.io": CertificateSigningRequestStrategy(),
    "customresourcedefinitions.apiextensions.k8s.io": DefinitionStrategy(),
    "daemonsets.apps": DaemonSetStrategy(),
    "deployments.apps": DeploymentStrategy(),
    "endpointslices.discovery.k8s.io": EndpointSliceStrategy(),
    "jobs.batch": JobStrategy(),
    "clusterrolebindings.rbac.authorization.k8s.io": BindingStrategy(),
    "clusterroles.rbac.authorization.k8s.io": RoleStrategy(),
    "namespaces": NamespaceStrategy(),
    "pods": PodStrategy(),
    "rolebindings.rbac.authorization.k8s.io": BindingStrategy(),
    "roles.rbac.authorization.k8s.io": RoleStrategy(),
    "services": ServiceStrategy(),
}


def strategy_of(resource: Resource) -> Strategy:
    """The strategy of a resource."""
    return _CUSTOM if resource.custom is not None else _STRATEGIES.get(resource.storage, _GENERIC)

"""What an admission plugin is, and what it may look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from simcluster.api import errors
from simcluster.api.admission.policies.source import PolicySource
from simcluster.api.admission.webhooks.source import WebhookSource
from simcluster.api.backends import WebhookBackend
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject
from simcluster.api.registry.attributes import Attributes
from simcluster.api.resources import BUILT_IN, ResourceTable
from simcluster.api.store import Store
from simcluster.engine import Simulation
from simcluster.telemetry.klog import ComponentLog

if TYPE_CHECKING:
    from simcluster.api.authorization.authorizer import Authorizer
    from simcluster.api.registry.identity import Identities


class Cluster:
    """What plugins see of the cluster.

    Attributes:
        resources: what is served now.
        policies, hooks: the admission policies and webhooks in force.
        authorizer: decides who may do what; None allows everything.
        backend: reaches the webhooks' servers; None if there is no network.
        log: what the API server says.
        spent_ns, warnings: what webhooks and policies cost and said during the present request.
    """

    def __init__(self, sim: Simulation, store: Store, identities: Identities) -> None:
        self.sim = sim
        self.store = store
        self.identities = identities
        self.resources: ResourceTable = BUILT_IN
        self.policies = PolicySource(sim, store)
        self.hooks = WebhookSource(sim, store)
        self.backend: WebhookBackend | None = None
        self.authorizer: Authorizer | None = None
        self.log = ComponentLog(sim)
        self.spent_ns = 0
        self.warnings: list[str] = []

    @property
    def is_bootstrapped(self) -> bool:
        """Whether the namespace `default` exists: before, nothing can live in a namespace."""
        return self.store.get("namespaces", "", "default") is not None

    def by_name(self, resource: str, namespace: str, name: str) -> ApiObject | None:
        """An object of the store."""
        return self.store.get(resource, namespace, name)


class Plugin:
    """An admission plugin: no state; changes only `attributes.obj`.

    Attributes:
        operations: those it wants to see.
        resources: those it wants to see, by storage name; None for all.
        sees_parts: whether it is asked about what is written to subresources, as Evictions.
    """

    operations: ClassVar[tuple[str, ...]] = ("CREATE",)
    resources: ClassVar[tuple[str, ...] | None] = None
    sees_parts: ClassVar[bool] = False

    @classmethod
    def may_act(cls, operation: str, resource: str, step: str) -> bool:
        """Whether it ever does anything in a step (`mutate` or `validate`) of such writes, whatever they say."""
        return True

    def wants(self, attributes: Attributes) -> bool:
        """Whether the plugin is called for this write."""
        if attributes.operation not in self.operations:
            return False
        return self.resources is None or attributes.resource.storage in self.resources

    def mutate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Change the new object. Raises ApiError to refuse."""

    def validate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Raises ApiError to refuse."""


def refuse(attributes: Attributes, why: str) -> ApiError:
    """The 403 of an admission plugin."""
    return errors.forbidden(attributes.resource.name, attributes.shown_name, why)

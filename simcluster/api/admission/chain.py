"""The admission plugins in the order of kube-apiserver's AllOrderedPlugins.

Left out, being of no effect without what they serve: RuntimeClass, certificate plugins.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from simcluster.api.admission.default_toleration_seconds import DefaultTolerationSeconds
from simcluster.api.admission.limit_ranger import LimitRanger
from simcluster.api.admission.namespace_lifecycle import NamespaceLifecycle
from simcluster.api.admission.node_restriction import NodeRestriction
from simcluster.api.admission.plugin import Cluster, Plugin
from simcluster.api.admission.pod_security import PodSecurity
from simcluster.api.admission.policies.plugin import ValidatingAdmissionPolicy
from simcluster.api.admission.priority import Priority
from simcluster.api.admission.resource_quota import ResourceQuota
from simcluster.api.admission.runtime_class import RuntimeClass
from simcluster.api.admission.service_account import ServiceAccount
from simcluster.api.admission.storage import DefaultStorageClass, StorageObjectInUseProtection
from simcluster.api.admission.volume_resize import VolumeClaimResize
from simcluster.api.admission.webhooks.plugins import MutatingAdmissionWebhook, ValidatingAdmissionWebhook
from simcluster.api.registry.attributes import Attributes

PLUGINS: tuple[Plugin, ...] = (
    NamespaceLifecycle(),
    LimitRanger(),
    ServiceAccount(),
    NodeRestriction(),
    PodSecurity(),
    Priority(),
    DefaultTolerationSeconds(),
    DefaultStorageClass(),
    StorageObjectInUseProtection(),
    VolumeClaimResize(),
    RuntimeClass(),
    MutatingAdmissionWebhook(),
    ValidatingAdmissionPolicy(),
    ValidatingAdmissionWebhook(),
    ResourceQuota(),
)


class _Concerned(NamedTuple):
    """A plugin that may want writes of some kind; `asks` if it has to see them to know."""

    plugin: Plugin
    asks: bool


@functools.cache
def _candidates(operation: str, resource: str, step: str) -> tuple[_Concerned, ...]:
    """The plugins that may want writes of this kind and do something in this step (`mutate` or `validate`)."""
    found = []
    for plugin in PLUGINS:
        kind = type(plugin)
        asks = kind.wants is not Plugin.wants
        wants = operation in plugin.operations and (plugin.resources is None or resource in plugin.resources)
        does = getattr(kind, step) is not getattr(Plugin, step) and kind.may_act(operation, resource, step)
        if (asks or wants) and does:
            found.append(_Concerned(plugin, asks))
    return tuple(found)


class AdmissionChain:
    """Calls the plugins."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def mutate(self, attributes: Attributes) -> None:
        """Let every plugin change the new object. Raises ApiError."""
        for plugin, asks in _candidates(attributes.operation, attributes.resource.storage, "mutate"):
            if not asks or plugin.wants(attributes):
                plugin.mutate(attributes, self.cluster)
        if attributes.is_changed_by_webhooks:
            self._complete(attributes)

    def _complete(self, attributes: Attributes) -> None:
        """Plugins complete once more what webhooks have changed."""
        for plugin in PLUGINS:
            if not isinstance(plugin, MutatingAdmissionWebhook) and plugin.wants(attributes):
                plugin.mutate(attributes, self.cluster)

    def admit_part(self, attributes: Attributes) -> None:
        """Ask those who care for writes of subresources, and for connections. Raises ApiError."""
        concerned = [plugin for plugin in PLUGINS if plugin.sees_parts and plugin.wants(attributes)]
        for plugin in concerned:
            plugin.mutate(attributes, self.cluster)
        for plugin in concerned:
            plugin.validate(attributes, self.cluster)

    def validate(self, attributes: Attributes) -> None:
        """Ask every plugin whether it agrees. Raises ApiError."""
        for plugin, asks in _candidates(attributes.operation, attributes.resource.storage, "validate"):
            if not asks or plugin.wants(attributes):
                plugin.validate(attributes, self.cluster)

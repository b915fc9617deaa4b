"""One object under customization, and what it was called on the way."""

from __future__ import annotations

from dataclasses import dataclass, field

from simcluster.api.objects import Json

#: Built-in kinds outside namespaces (kyaml openapi, namespaceability of the built-in schema).
CLUSTER_SCOPED = frozenset(
    {
        *("APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding"),
        *("ComponentStatus", "CustomResourceDefinition", "FlowSchema", "IngressClass", "MutatingWebhookConfiguration"),
        *("Namespace", "Node", "PersistentVolume", "PriorityClass", "PriorityLevelConfiguration", "RuntimeClass"),
        *("SelfSubjectAccessReview", "SelfSubjectRulesReview", "StorageClass", "SubjectAccessReview", "TokenReview"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"),
        "VolumeAttachment",
    }
)


@dataclass
class Item:
    """One object.

    Attributes:
        obj: as it is now; private, may be changed.
        names: earlier names with the namespaces of those times, oldest first.
        hashed: whether its name gets a hash of its content at the end.
        behavior: of a generated object: `create`, `merge` or `replace`.
    """

    obj: Json
    names: list[tuple[str, str]] = field(default_factory=list)
    hashed: bool = False
    behavior: str = "create"

    @property
    def kind(self) -> str:
        """`Deployment`."""
        return str(self.obj["kind"])

    @property
    def group(self) -> str:
        """`apps`; empty for the core group."""
        return str(self.obj["apiVersion"]).rpartition("/")[0]

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return str(self.obj.get("metadata", {}).get("name", ""))

    @property
    def namespace(self) -> str:
        """`metadata.namespace`, or empty."""
        return str(self.obj.get("metadata", {}).get("namespace", ""))

    @property
    def namespaced(self) -> bool:
        """Whether it lives in a namespace; unknown kinds do."""
        return self.kind not in CLUSTER_SCOPED

    def rename(self, name: str) -> None:
        """Give it another name and remember the present one."""
        if name != self.name:
            self.names.append((self.name, self.namespace))
            self.obj["metadata"]["name"] = name

    def was_called(self, name: str) -> bool:
        """Whether this is or was its name."""
        return self.name == name or any(name == old for old, _ in self.names)

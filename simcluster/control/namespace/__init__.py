"""The namespace controller: empties and removes namespaces that are being deleted."""

from simcluster.control.namespace.controller import NamespaceController

__all__ = ["NamespaceController"]

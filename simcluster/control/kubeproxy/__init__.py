"""kube-proxy: turns Services and EndpointSlices into the service rules of one node."""

from simcluster.control.kubeproxy.proxy import KubeProxy

__all__ = ["KubeProxy"]

"""kube-proxy: turns Services and EndpointSlices into the service rules of one node."""

from simcluster.control.kubeproxy.program import ProxyProgram
from simcluster.control.kubeproxy.proxy import KubeProxy
from simcluster.control.kubeproxy.rulebook import RuleBook

__all__ = ["KubeProxy", "ProxyProgram", "RuleBook"]

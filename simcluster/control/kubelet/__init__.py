"""The kubelet: the agent that runs a node's pods and reports what became of them."""

from simcluster.control.kubelet.config import KubeletConfig
from simcluster.control.kubelet.kubelet import Kubelet
from simcluster.control.kubelet.server import KubeletServers

__all__ = ["Kubelet", "KubeletConfig", "KubeletServers"]

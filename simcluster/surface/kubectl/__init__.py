"""kubectl in process: the requests and the printed bytes of the real one, version 1.32.

Start at `kubectl.Kubectl.run`; every verb or family of verbs has its own module.
"""

from simcluster.surface.kubectl.kubeconfig import KubeConfig
from simcluster.surface.kubectl.kubectl import Kubectl

__all__ = ["KubeConfig", "Kubectl"]

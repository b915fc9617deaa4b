"""A pod is deleted, as node maintenance and reclaimed spot machines do; its controller replaces it."""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import name_of
from simcluster.engine import Stream
from simcluster.engine.content import Content
from simcluster.noise.bystanders import pods
from simcluster.noise.mechanism import Disturbance, NoiseTarget


class PodKillParams(Content):
    """Under whose name pods are deleted: the user and its user agent."""

    user: str = "system:serviceaccount:kube-system:node-maintenance"
    agent: str = "node-maintenance/v0.14.2"


class PodKill(Disturbance):
    """Deletes one ready pod of the application, drawn at random, with its own grace period.

    Only pods that a ReplicaSet replaces and that have nothing to do with the incident. Users may see some failed
    requests until the replacement is ready. Source of the kind: Chaos Mesh PodChaos pod-kill, mode one.
    """

    Params = PodKillParams
    params: PodKillParams

    def begin(self, target: NoiseTarget, stream: Stream) -> str:
        """Delete the pod."""
        found = pods(target, self.namespace, self.spared)
        if not found:
            return ""
        name = name_of(stream.choice(found))
        try:
            target.client(self.params.user, self.params.agent).delete("pods", self.namespace, name)
        except ApiError as error:
            if error.code not in (404, 409):  # somebody else was faster
                raise
            return ""
        return name

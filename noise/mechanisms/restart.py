"""Somebody restarts a Deployment: its pods are replaced one after the other."""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import name_of
from simcluster.engine import Stream, format_rfc3339
from simcluster.engine.content import Content
from simcluster.noise.bystanders import deployments
from simcluster.noise.mechanism import Disturbance, NoiseTarget


class RestartParams(Content):
    """Under whose name: the user and its user agent."""

    user: str = "release-bot"
    agent: str = "kubectl/v1.32.4 (linux/amd64) kubernetes/59526cd"


class Restart(Disturbance):
    """`kubectl rollout restart` of one Deployment of the application, drawn at random: an unrelated rollout.

    Heals by itself: its controller replaces the pods as its strategy says.
    """

    Params = RestartParams
    params: RestartParams

    def begin(self, target: NoiseTarget, stream: Stream) -> str:
        """Set the annotation that kubectl sets."""
        found = deployments(target, self.namespace, self.spared)
        if not found:
            return ""
        name = name_of(stream.choice(found))
        noted = {"kubectl.kubernetes.io/restartedAt": format_rfc3339(target.sim.now)}
        patch = {"spec": {"template": {"metadata": {"annotations": noted}}}}
        try:
            target.client(self.params.user, self.params.agent).patch(
                "deployments.apps", self.namespace, name, patch, kind="strategic"
            )
        except ApiError as error:
            if error.code not in (404, 409):  # somebody else was faster
                raise
            return ""
        return name

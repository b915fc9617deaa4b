"""A pod is put out of service for a while: its containers run a program that does nothing."""

from __future__ import annotations

from typing import Any

from simcluster.api.errors import ApiError
from simcluster.api.objects import name_of
from simcluster.engine import Stream
from simcluster.engine.content import Content
from simcluster.noise.bystanders import pods
from simcluster.noise.mechanism import Disturbance, NoiseTarget


class PodFailureParams(Content):
    """The image that does nothing, and under whose name it is set: the user and its user agent."""

    image: str = "registry.k8s.io/pause:3.10"
    user: str = "system:serviceaccount:resilience:gameday"
    agent: str = "gameday/v1.8.0"


class PodFailure(Disturbance):
    """Sets the images of one ready pod of the application, drawn at random, and sets them back.

    Its containers are started again twice, and their restart counts keep that. Readiness probes notice; without
    them users meet refused connections meanwhile. Source of the kind: Chaos Mesh PodChaos pod-failure, mode one.
    """

    Params = PodFailureParams
    params: PodFailureParams

    def begin(self, target: NoiseTarget, stream: Stream) -> str:
        """Replace the images; tells the pod and what it had."""
        found = pods(target, self.namespace, self.spared)
        if not found:
            return ""
        pod = stream.choice(found)
        had = [(str(one["name"]), str(one["image"])) for one in pod["spec"]["containers"]]
        if not self._set(target, name_of(pod), [(name, self.params.image) for name, _ in had]):
            return ""
        return " ".join([name_of(pod), *(f"{name}={image}" for name, image in had)])

    def end(self, target: NoiseTarget, what: str) -> None:
        """Set back what it had, unless somebody else has deleted or changed it."""
        name, *had = what.split()
        pod = target.api.store.get("pods", self.namespace, name)
        if pod is not None and all(one["image"] == self.params.image for one in pod["spec"]["containers"]):
            images = [(container, image) for container, _, image in (one.partition("=") for one in had)]
            self._set(target, name, images)

    def _set(self, target: NoiseTarget, name: str, images: list[tuple[str, str]]) -> bool:
        containers: list[dict[str, Any]] = [{"name": container, "image": image} for container, image in images]
        client = target.client(self.params.user, self.params.agent)
        try:
            client.patch("pods", self.namespace, name, {"spec": {"containers": containers}}, kind="strategic")
        except ApiError as error:
            if error.code not in (404, 409):  # somebody else was faster
                raise
            return False
        return True

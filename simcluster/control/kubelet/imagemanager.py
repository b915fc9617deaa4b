"""Getting a container's image onto the node: policies, pulls, back-off, and their events.

Source: pkg/kubelet/images/image_manager.go (EnsureImageExists) of 1.32; wording from a
recorded 1.32 cluster.
"""

from __future__ import annotations

from typing import Protocol

from simcluster.api.objects import Json
from simcluster.control.kubelet.backoff import Backoff
from simcluster.control.kubelet.goduration import truncated
from simcluster.control.kubelet.klog import KubeletLog
from simcluster.control.kubelet.podspec import image_of, pull_policy
from simcluster.control.kubelet.status import Waiting
from simcluster.engine import Simulation
from simcluster.models.machine.imagereference import InvalidImageName
from simcluster.models.machine.imagestore import ImageStore, PullResult


class ImageUser(Protocol):
    """The sync of a pod that needs images for its containers."""

    @property
    def pod_uid(self) -> str:
        """Of which pod."""

    @property
    def over(self) -> bool:
        """Whether nobody waits for the image any more."""

    def pull_keys(self) -> dict[str, str] | None:
        """Credentials of registries, by host: those of the pod's pull secrets; None if it names none."""

    def image_event(self, container: Json, kind: str, reason: str, message: str) -> None:
        """Record an event about a container."""

    def image_ready(self, container: Json) -> None:
        """The image is on the node."""

    def image_failed(self, container: Json, why: Waiting) -> None:
        """The image could not be had."""


class Pull:
    """One pull for one container of a pod; reports to the pod's sync."""

    def __init__(self, manager: ImageManager, user: ImageUser, container: Json) -> None:
        self.manager = manager
        self.user = user
        self.container = container

    def done(self, result: PullResult) -> None:
        """The store has finished the pull."""
        if not self.user.over:
            self.manager.pulled(self, result)


class ImageManager:
    """The image part of one kubelet."""

    def __init__(self, sim: Simulation, store: ImageStore, klog: KubeletLog) -> None:
        self.sim = sim
        self.store = store
        self.klog = klog
        self.backoff = Backoff(sim)
        self._errors: dict[str, str] = {}  # back-off key -> error of the last pull

    def ensure(self, user: ImageUser, container: Json) -> None:
        """Make the image present; answers with `image_ready` or `image_failed`."""
        image = image_of(container)
        try:
            present = self.store.find(image) is not None
        except InvalidImageName as error:
            text = f'Failed to apply default image tag "{image}": {error}'
            user.image_event(container, "Warning", "InspectFailed", text)
            user.image_failed(container, Waiting("InvalidImageName", text))
            return
        policy = pull_policy(container)
        if present and policy != "Always":
            user.image_event(container, "Normal", "Pulled", f'Container image "{image}" already present on machine')
            user.image_ready(container)
        elif policy == "Never":
            text = f'Container image "{image}" is not present with pull policy of Never'
            user.image_event(container, "Warning", "ErrImageNeverPull", text)
            user.image_failed(container, Waiting("ErrImageNeverPull", text))
        else:
            self._pull(user, container)

    def _pull(self, user: ImageUser, container: Json) -> None:
        image, key = image_of(container), f"{user.pod_uid}_{image_of(container)}"
        if self.backoff.in_backoff(key):
            text = f'Back-off pulling image "{image}"'
            user.image_event(container, "Normal", "BackOff", text)
            user.image_failed(container, Waiting("ImagePullBackOff", f"{text}: ErrImagePull: {self._errors[key]}"))
            return
        user.image_event(container, "Normal", "Pulling", f'Pulling image "{image}"')
        self.store.pull(image, Pull(self, user, container).done, user.pull_keys())

    def pulled(self, pull: Pull, result: PullResult) -> None:
        """A pull ended."""
        user, container = pull.user, pull.container
        image, key = image_of(container), f"{user.pod_uid}_{image_of(container)}"
        if result.image is None:
            user.image_event(container, "Warning", "Failed", f'Failed to pull image "{image}": {result.error}')
            self.klog.error("kuberuntime_image.go:55", result.error, "Failed to pull image", image=image)
            self.backoff.raise_delay(key, self.sim.now)
            self._errors[key] = result.error
            user.image_failed(container, Waiting("ErrImagePull", result.error))
            return
        self.backoff.forget(key)
        self._errors.pop(key, None)
        took, waited = truncated(result.pull_ns), truncated(result.total_ns)
        text = f'Successfully pulled image "{image}" in {took} ({waited} including waiting). '
        user.image_event(container, "Normal", "Pulled", f"{text}Image size: {result.image.size_bytes} bytes.")
        user.image_ready(container)

    def forget_pod(self, uid: str) -> None:
        """The pod is gone."""
        self.backoff.forget(uid)
        for key in [key for key in self._errors if key.startswith(uid)]:
            del self._errors[key]

"""Getting a container's image onto the node: policies, pulls, back-off, and their events.

Source: pkg/kubelet/images/image_manager.go (EnsureImageExists) of 1.32; wording from a
recorded 1.32 cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.api.objects import Json
from simcluster.control.kubelet.backoff import Backoff
from simcluster.control.kubelet.goduration import truncated
from simcluster.control.kubelet.podspec import pull_policy
from simcluster.control.kubelet.status import Waiting
from simcluster.engine import Simulation
from simcluster.models.machine.imagereference import InvalidImageName
from simcluster.models.machine.imagestore import ImageStore, PullResult

if TYPE_CHECKING:
    from simcluster.control.kubelet.podworker import PodWorker


class Pull:
    """One pull for one container of a pod; reports to the pod's worker."""

    def __init__(self, manager: ImageManager, worker: PodWorker, container: Json) -> None:
        self.manager = manager
        self.worker = worker
        self.container = container

    def done(self, result: PullResult) -> None:
        """The store has finished the pull."""
        if not self.worker.dead:
            self.manager.pulled(self, result)


class ImageManager:
    """The image part of one kubelet."""

    def __init__(self, sim: Simulation, store: ImageStore) -> None:
        self.store = store
        self.backoff = Backoff(sim)
        self._errors: dict[str, str] = {}  # back-off key -> error of the last pull

    def ensure(self, worker: PodWorker, container: Json) -> None:
        """Make the image present; answers with `image_ready` or `image_failed` of the pod's sync."""
        image, name = container["image"], container["name"]
        try:
            present = self.store.find(image) is not None
        except InvalidImageName as error:
            text = f'Failed to apply default image tag "{image}": {error}'
            worker.container_event(name, "Warning", "InspectFailed", text)
            worker.sync.image_failed(container, Waiting("InvalidImageName", text))
            return
        policy = pull_policy(container)
        if present and policy != "Always":
            worker.container_event(name, "Normal", "Pulled", f'Container image "{image}" already present on machine')
            worker.sync.image_ready(container)
        elif policy == "Never":
            text = f'Container image "{image}" is not present with pull policy of Never'
            worker.container_event(name, "Warning", "ErrImageNeverPull", text)
            worker.sync.image_failed(container, Waiting("ErrImageNeverPull", text))
        else:
            self._pull(worker, container)

    def _pull(self, worker: PodWorker, container: Json) -> None:
        image, name, key = container["image"], container["name"], f"{worker.uid}_{container['image']}"
        if self.backoff.in_backoff(key):
            text = f'Back-off pulling image "{image}"'
            worker.container_event(name, "Normal", "BackOff", text)
            worker.sync.image_failed(
                container, Waiting("ImagePullBackOff", f"{text}: ErrImagePull: {self._errors[key]}")
            )
            return
        worker.container_event(name, "Normal", "Pulling", f'Pulling image "{image}"')
        self.store.pull(image, Pull(self, worker, container).done)

    def pulled(self, pull: Pull, result: PullResult) -> None:
        """A pull ended."""
        worker, container = pull.worker, pull.container
        image, name, key = container["image"], container["name"], f"{worker.uid}_{container['image']}"
        if result.image is None:
            worker.container_event(name, "Warning", "Failed", f'Failed to pull image "{image}": {result.error}')
            worker.kubelet.klog.error("kuberuntime_image.go:55", result.error, "Failed to pull image", image=image)
            self.backoff.raise_delay(key, worker.kubelet.sim.now)
            self._errors[key] = result.error
            worker.sync.image_failed(container, Waiting("ErrImagePull", result.error))
            return
        self.backoff.forget(key)
        self._errors.pop(key, None)
        took, waited = truncated(result.pull_ns), truncated(result.total_ns)
        text = f'Successfully pulled image "{image}" in {took} ({waited} including waiting). '
        worker.container_event(name, "Normal", "Pulled", f"{text}Image size: {result.image.size_bytes} bytes.")
        worker.sync.image_ready(container)

    def forget_pod(self, uid: str) -> None:
        """The pod is gone."""
        self.backoff.forget(uid)
        for key in [key for key in self._errors if key.startswith(uid)]:
            del self._errors[key]

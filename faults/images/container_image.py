"""A container image that the registry does not have."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.deployer import redeploy
from simcluster.faults.mechanism import ContainerMechanism, container_named
from simcluster.faults.target import FaultTarget, ImpossibleTarget


class ImageParams(Content):
    """The tag to deploy; `container` is the first one unless named."""

    tag: str
    container: str = ""


class ContainerImage(ContainerMechanism):
    """A Deployment is rolled out with an image tag that does not exist.

    Symptoms: the new pod's container waits with ErrImagePull and ImagePullBackOff, Events
    Pulling, Failed and BackOff. A rolling update keeps the old pod: where users are to
    notice, the rollout must have taken the old pods down first (step `scale`).
    Shows in: pods, Events, Deployment status, callers' logs, users.
    Undone by: setting the right tag, rolling back, or applying the right manifest.
    Source of the symptoms: Cloud-OpsBench, incorrect_image_reference.
    """

    sheet = DataSheet(
        layer="release",
        family="wrong_image",
        changes=("spec.template.spec.containers[*].image",),
        follows="New pods wait in ErrImagePull and ImagePullBackOff; where no old one is left, the Service has "
        "no endpoints.",
        undone_by=("a tag that exists", "rolling back"),
        source="Cloud-OpsBench, incorrect_image_reference",
    )
    Params = ImageParams
    params: ImageParams

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return "the image"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"tag": self.params.tag}

    def check(self, target: FaultTarget) -> None:
        """The container must exist and run another tag."""
        super().check(target)
        image = self.container(target)["image"]
        if image == self._wrong(image):
            raise ImpossibleTarget(f"{self.ref} already runs {image}")

    def inject(self, target: FaultTarget) -> None:
        """Deploy the wrong tag."""
        redeploy(target, self.deployer, self.namespace, self.ref, self._edit)

    def _edit(self, manifest: Json) -> None:
        container = container_named(manifest, self.params.container)
        if container is not None:
            container["image"] = self._wrong(container["image"])

    def _wrong(self, image: str) -> str:
        """The same repository with the wrong tag. A colon before the last slash is a port."""
        repository, colon, tag = image.partition("@")[0].rpartition(":")
        if not colon or "/" in tag:
            repository = image.partition("@")[0]
        return f"{repository}:{self.params.tag}"

    def still_present(self, target: FaultTarget) -> str:
        """The Deployment still asks for the wrong tag."""
        container = self.current(target)
        if container is None or container["image"] != self._wrong(container["image"]):
            return ""
        return f"{self.ref} still asks for image {container['image']}"

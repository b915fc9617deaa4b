"""Base of faults that come with a new version of a program: it is published, then rolled out."""

from __future__ import annotations

from abc import abstractmethod

from pydantic import Field

from simcluster.api.objects import Json
from simcluster.engine.content import Content
from simcluster.faults.deployer import redeploy
from simcluster.faults.mechanism import ContainerMechanism, container_named
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.models.apps.catalog import AppCatalog, tag_of
from simcluster.models.apps.defects import Defect
from simcluster.models.machine.images import ImageRegistry


class ReleaseParams(Content):
    """The tag that comes out and is deployed; `container` is the first one unless named."""

    tag: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$")
    container: str = ""


class Release(ContainerMechanism):
    """A new version with a defect is published and deployed."""

    params: ReleaseParams

    @abstractmethod
    def defect(self) -> Defect:
        """What the version does that the others do not."""

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return "the image"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"tag": self.params.tag}

    def check(self, target: FaultTarget) -> None:
        """The program must be known and must not have such a tag."""
        super().check(target)
        image = self.container(target)["image"]
        catalog, _ = _workshop(target)
        facts = catalog.describe(image)
        if facts is None:
            raise ImpossibleTarget(f"nothing is known of the program of {image}, so it can have no such version")
        if self.params.tag in facts.tags:
            raise ImpossibleTarget(f"{image}: there is a version {self.params.tag} already")

    def inject(self, target: FaultTarget) -> None:
        """Publish the version and deploy it."""
        catalog, registry = _workshop(target)
        catalog.release(registry, self.container(target)["image"], self.params.tag, self.defect())
        redeploy(target, self.deployer, self.namespace, self.ref, self._edit)

    def _edit(self, manifest: Json) -> None:
        container = container_named(manifest, self.params.container)
        if container is not None:
            head, slash, last = container["image"].partition("@")[0].rpartition("/")
            container["image"] = f"{head}{slash}{last.partition(':')[0]}:{self.params.tag}"

    def still_present(self, target: FaultTarget) -> str:
        """The Deployment still asks for that version."""
        container = self.current(target)
        if container is None or tag_of(container["image"]) != self.params.tag:
            return ""
        return f"{self.ref} still runs the version {self.params.tag}"


def _workshop(target: FaultTarget) -> tuple[AppCatalog, ImageRegistry]:
    """Where programs are described and published. Raises ImpossibleTarget."""
    catalog, registry = getattr(target, "catalog", None), getattr(target, "registry", None)
    if not isinstance(catalog, AppCatalog) or not isinstance(registry, ImageRegistry):
        raise ImpossibleTarget("nobody can publish an image in this cluster")
    return catalog, registry

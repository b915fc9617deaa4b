"""The images on one node's disk, and pulling more of them, one after another.

The kubelet asks for one pull at a time (`serializeImagePulls: true`, its default), so a
large image delays every other pull of the node. Leaves out: image garbage collection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simcluster.engine import SECOND, FlatDict, Shared, Simulation
from simcluster.models.machine.imagereference import ImageReference, parse_image
from simcluster.models.machine.images import (
    LOOKUP_MEDIAN_NS,
    RESOLVE_MEDIAN_NS,
    RESOLVE_SIGMA,
    ImageRegistry,
    Manifest,
    PullError,
)
from simcluster.models.machine.unpacking import image_bytes

#: Download and unpack together, bytes a second: a pull is bound by decompression at some
#: 60 MB/s on a node with a 1 Gbit/s link (estimate; the knob of the model).
PULL_BYTES_PER_S = 60_000_000
#: Where containerd keeps what it downloads.
_CONTENT = "/var/lib/containerd/io.containerd.content.v1.content"


@dataclass(frozen=True)
class LocalImage(Shared):
    """An image on the node's disk: full name, digest, size in bytes."""

    name: str
    repository: str
    digest: str
    size_bytes: int

    @property
    def image_id(self) -> str:
        """`imageID` of a container status under containerd: repository and digest."""
        return f"{self.repository}@{self.digest}"


class PullResult:
    """The outcome of one pull, handed to whoever asked for it.

    Attributes:
        image: the local image, or None when it failed.
        error: containerd's text when it failed.
        pull_ns, total_ns: time of the pull itself, and with waiting in the queue.
    """

    __slots__ = ("error", "image", "pull_ns", "total_ns")

    def __init__(self, image: LocalImage | None, error: str, pull_ns: int, total_ns: int) -> None:
        self.image = image
        self.error = error
        self.pull_ns = pull_ns
        self.total_ns = total_ns


@dataclass
class _Job:
    reference: ImageReference
    asked_ns: int
    done: Callable[[PullResult], None]
    keys: Mapping[str, str] | None


class ImageStore:
    """One node's images and its queue of pulls."""

    def __init__(self, sim: Simulation, node: str, registry: ImageRegistry) -> None:
        self.sim = sim
        self.registry = registry
        self.images: dict[str, LocalImage] = FlatDict()
        self.changes = 0  # how often an image came or went
        self._sized = (-1, 0)  # bytes of all images, as of so many changes
        self.bytes_per_s = sim.parameter("image.bandwidth", PULL_BYTES_PER_S)
        self.resolve_median_ns = sim.parameter("image.resolve", RESOLVE_MEDIAN_NS)
        self.lookup_median_ns = LOOKUP_MEDIAN_NS
        self._stream = sim.stream("pull", node)
        self._queue: list[_Job] = []
        self._busy = False
        self.refusal: Callable[[str, int], str] | None = None  # why the disk takes no more bytes at a path, or ""
        self.say: Callable[[str, str, str], None] | None = None  # writes a line of the daemon: level, text, error

    def find(self, text: str) -> LocalImage | None:
        """The local image of a reference. Raises InvalidImageName."""
        return self.images.get(str(parse_image(text)))

    @property
    def size_bytes(self) -> int:
        """Compressed size of all images together."""
        if self._sized[0] != self.changes:
            self._sized = (self.changes, sum(image.size_bytes for image in self.images.values()))  # integers
        return self._sized[1]

    def runs_as_root(self, text: str) -> bool:
        """Whether the image of a reference names no user of its own. Raises InvalidImageName."""
        return self.registry.runs_as_root(parse_image(text))

    def preload(self, text: str) -> LocalImage:
        """Put an image on the disk without a pull (baked into the node). Raises PullError."""
        reference = parse_image(text)
        return self._add(reference, self.registry.resolve(reference))

    def forget(self, text: str) -> None:
        """Remove an image from the disk."""
        self.images.pop(str(parse_image(text)), None)
        self.changes += 1

    def pull(self, text: str, done: Callable[[PullResult], None], keys: Mapping[str, str] | None = None) -> None:
        """Queue a pull; `done` is called with its result.

        Args:
            keys: `user:password` by registry host, with which it is asked for; None: no credentials are expected.

        Raises:
            InvalidImageName: the text is no reference.
        """
        self._queue.append(_Job(parse_image(text), self.sim.now, done, keys))
        if not self._busy:
            self._next()

    def drop_queue(self) -> None:
        """Forget the pulls that wait (their kubelet is gone); the one in work ends."""
        self._queue.clear()

    def _next(self) -> None:
        self._busy = bool(self._queue)
        if not self._queue:
            return
        job = self._queue.pop(0)
        self._tell("info", f'PullImage "{job.reference}"')
        try:
            manifest = self.registry.resolve(job.reference, job.keys)
        except PullError as error:
            delay = self.failing_pull_ns(job.reference, str(error))
            self.sim.after(delay, self._failed, job, str(error), self.sim.now)
            return
        self.sim.after(self.pull_ns(job.reference, manifest), self._pulled, job, manifest, self.sim.now)

    def pull_ns(self, reference: ImageReference, manifest: Manifest) -> int:
        """How long a pull takes: an image that is there already is only looked up in the registry."""
        delay = self._stream.lognormal_ns(self.resolve_median_ns, RESOLVE_SIGMA)
        local = self.images.get(str(reference))
        if local is None or local.digest != manifest.digest:
            delay += manifest.size_bytes * SECOND // self.bytes_per_s
        return delay

    def failing_pull_ns(self, reference: ImageReference, error: str) -> int:
        """How long a pull takes that ends in `error`."""
        median = self.lookup_median_ns if "lookup" in error else self.resolve_median_ns
        return self._stream.lognormal_ns(median, RESOLVE_SIGMA)

    def _pulled(self, job: _Job, manifest: Manifest, began_ns: int) -> None:
        refused = self._refused(manifest)
        if refused:
            self._failed(job, f'failed to pull and unpack image "{job.reference}": {refused}', began_ns)
            return
        image = self._add(job.reference, manifest)
        self._tell("info", f'PullImage "{job.reference}" returns image reference "{manifest.digest}"')
        job.done(PullResult(image, "", self.sim.now - began_ns, self.sim.now - job.asked_ns))
        self._next()

    def _refused(self, manifest: Manifest) -> str:
        """Why a downloaded image cannot be written to the disk, as containerd says it; "" if it can."""
        if self.refusal is None or any(image.digest == manifest.digest for image in self.images.values()):
            return ""
        error = self.refusal(_CONTENT, image_bytes(manifest.size_bytes))
        ingest = f"{_CONTENT}/ingest/{manifest.digest.partition(':')[2]}/data"
        return f"failed to copy: write {ingest}: {error[:1].lower()}{error[1:]}" if error else ""

    def _tell(self, level: str, message: str, error: str = "") -> None:
        if self.say is not None:
            self.say(level, message, error)

    def _failed(self, job: _Job, error: str, began_ns: int) -> None:
        self._tell("error", f'PullImage "{job.reference}" failed', error)
        job.done(PullResult(None, error, self.sim.now - began_ns, self.sim.now - job.asked_ns))
        self._next()

    def _add(self, reference: ImageReference, manifest: Manifest) -> LocalImage:
        image = LocalImage(str(reference), reference.repository, manifest.digest, manifest.size_bytes)
        self.images[str(reference)] = image
        self.changes += 1
        return image

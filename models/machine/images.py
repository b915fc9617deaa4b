"""The registries of the world: which images exist, how large they are, how a pull fails.

Three kinds of repositories: those that somebody described (an application, a fault), with
exactly their tags; every other repository on a public registry's host, which has any tag
that looks like one; and hosts that nobody knows, whose name does not resolve. A host known
only by what is described there, a company's own, has nothing else. Beside a described
repository a near miss of its name does not exist: it is a typing mistake.
A repository may be guarded: then who pulls needs the credentials that its registry knows.
Leaves out: layers shared between images, tokens that expire.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from simcluster.engine import MILLISECOND, FlatDict, Shared, Simulation
from simcluster.engine.streams import Streams
from simcluster.models.machine.imagefacts import facts_of, is_published
from simcluster.models.machine.imagereference import ImageReference, InvalidImageName, parse_image

#: Hosts that serve public images. `.pkg.dev`, `.gcr.io` and `.azurecr.io` cover their regions.
PUBLIC_HOSTS = (
    "docker.io",
    "gcr.io",
    "ghcr.io",
    "quay.io",
    "registry.k8s.io",
    "k8s.gcr.io",
    "mcr.microsoft.com",
    "public.ecr.aws",
    "docker.elastic.co",
    "registry.gitlab.com",
    "cr.l5d.io",
    "nvcr.io",
    "localhost",
)
PUBLIC_SUFFIXES = (".pkg.dev", ".gcr.io", ".amazonaws.com", ".azurecr.io", ".redhat.com", ".opensuse.org")

#: Words of which tags are made, beside numbers.
_TAG_WORDS = frozenset(
    (
        "agent",
        "all",
        "alpha",
        "alpine",
        "amd64",
        "apache",
        "api",
        "arm",
        "arm64",
        "base",
        "beta",
        "bookworm",
        "build",
        "bullseye",
        "buster",
        "canary",
        "cli",
        "client",
        "commit",
        "community",
        "controller",
        "core",
        "corretto",
        "cpu",
        "cuda",
        "current",
        "debian",
        "debug",
        "demo",
        "dev",
        "develop",
        "distroless",
        "edge",
        "enterprise",
        "example",
        "final",
        "focal",
        "fpm",
        "full",
        "ga",
        "git",
        "glibc",
        "go",
        "gpu",
        "hotfix",
        "init",
        "jammy",
        "java",
        "jdk",
        "jre",
        "latest",
        "legacy",
        "linux",
        "lite",
        "local",
        "lts",
        "main",
        "mainline",
        "management",
        "master",
        "minimal",
        "musl",
        "new",
        "next",
        "nginx",
        "nightly",
        "noble",
        "node",
        "nonroot",
        "old",
        "oss",
        "otel",
        "perl",
        "php",
        "prod",
        "production",
        "proxy",
        "python",
        "rc",
        "release",
        "ruby",
        "scratch",
        "server",
        "sha",
        "slim",
        "snapshot",
        "stable",
        "staging",
        "static",
        "temurin",
        "test",
        "ubuntu",
        "uclibc",
        "v",
        "web",
        "worker",
        "x86",
    )
)
_TAG_TOKEN = re.compile(r"v?\d+[a-z]?\d*|[a-z]{1,8}\d+|[0-9a-f]{7,64}|[a-z]", re.IGNORECASE)
#: Bytes of an image nobody described: log-normal, a small service image of some 45 MB
#: (the recorded cluster's images: 39 to 106 MB), between 2 MB and 1 GB.
_SIZE_MEDIAN = 45_000_000
_SIZE_SIGMA = 0.6

#: A manifest's and config's round trips; the recorded failing pulls took some 0.7 s.
RESOLVE_MEDIAN_NS = 450 * MILLISECOND
RESOLVE_SIGMA = 0.35
#: A lookup that fails takes as long as the resolver's search list (same recording: 0.1-0.7 s).
LOOKUP_MEDIAN_NS = 120 * MILLISECOND


class Manifest(NamedTuple):
    """What a registry holds under a reference: size in bytes and digest."""

    size_bytes: int
    digest: str


class PullError(Exception):
    """A pull failed; the message is containerd's, with gRPC's prefix where it has one."""


class Publisher(Protocol):
    """Somebody who knows images."""

    def publish(self, registry: ImageRegistry) -> None:
        """Call `registry.describe` for each of them."""


@dataclass(frozen=True)
class Repository(Shared):
    """A described repository: exactly these tags, each of this size."""

    tags: Mapping[str, int] = field(default_factory=dict)


class ImageRegistry:
    """All registries as the nodes of one cluster reach them.

    Args:
        publisher: somebody who describes repositories (the catalog of applications).

    Attributes:
        guarded: repository -> `user:password` without which it is not given out.
        others_exist: whether hosts of which nothing is known serve whatever is asked of them: in a sandbox, whose
            manifests are its user's own. Names under `.invalid` and `.local` never resolve. Who names pull secrets
            says that the registry is private, and gets nothing if none of them is for its host.
    """

    def __init__(self, sim: Simulation, publisher: Publisher | None = None) -> None:
        self.sim = sim
        self.repositories: dict[str, Repository] = FlatDict()
        self.guarded: dict[str, str] = {}
        self.others_exist = False
        self.unreachable: dict[str, str] = {}  # host -> text of the dial error
        self._resolved: dict[ImageReference, Manifest] = FlatDict()  # as long as nothing else is described
        if publisher is not None:
            publisher.publish(self)

    def describe(self, repository: str, tags: Iterable[str], size_bytes: int) -> None:
        """Add tags of a repository, given in full (`docker.io/library/redis`)."""
        self._resolved = FlatDict()
        known = self.repositories.get(repository, Repository())
        self.repositories[repository] = Repository({**known.tags, **dict.fromkeys(tags, size_bytes)})

    def only(self, images: Mapping[str, str | None]) -> None:
        """Instead of whatever is asked, hosts that are not public have exactly these images.

        A repository named here has the tags named here and no others, on public hosts too.

        Args:
            images: the `user:password` that a pull needs, or None, by reference; without a tag `latest`.

        Raises:
            ValueError: a reference is none, or two of one repository need different credentials.
        """
        passwords: dict[str, str | None] = {}
        for text, password in images.items():
            try:
                image = parse_image(text)
            except InvalidImageName as error:
                raise ValueError(f"images: {error}") from None
            if passwords.setdefault(image.repository, password) != password:
                raise ValueError(f"images: {image.repository} is pulled with one password or none, for all its tags")
            self.describe(image.repository, [image.tag], self._size(image))
        self.guarded |= {name: password for name, password in passwords.items() if password}
        self.others_exist = False

    def fail_host(self, host: str, error: str) -> None:
        """Have every request to a registry host fail, e.g. with `dial tcp 1.2.3.4:443: i/o timeout`."""
        self.unreachable[host] = error

    def heal_host(self, host: str) -> None:
        """Undo `fail_host`."""
        self.unreachable.pop(host, None)

    def resolve(self, image: ImageReference, keys: Mapping[str, str] | None = None) -> Manifest:
        """The manifest behind a reference.

        Args:
            keys: `user:password` by registry host, of who asks; None of whom no credentials are expected.

        Raises:
            PullError: with containerd 1.7's text as recorded on real clusters.
        """
        error = self.unreachable.get(image.domain) or self._lookup_error(image.domain)
        if error:
            head = f"https://{image.domain}/v2/{image.path}/manifests/{image.version}"
            raise PullError(f'{_prefix(image)}failed to do request: Head "{head}": {error}')
        wanted = self.guarded.get(image.repository)
        if wanted is not None and (keys or {}).get(image.domain) != wanted:
            raise _unauthorized(image)
        if self.others_exist and keys is not None and not keys.get(image.domain) and self._is_other(image.domain):
            raise _unauthorized(image)
        manifest = self._resolved.get(image)
        if manifest is None:
            manifest = self._resolved[image] = self._manifest(image)
        return manifest

    def _manifest(self, image: ImageReference) -> Manifest:
        """What a reachable registry has. Raises PullError."""
        known = self.repositories.get(image.repository)
        if known is not None:
            # Official images have hundreds of tags: the described ones are examples, not the list.
            open_ended = image.repository.startswith("docker.io/library/") and _may_be(image)
            if image.tag and image.tag not in known.tags and not image.digest and not open_ended:
                raise _not_found(image)
            size = known.tags.get(image.tag) or next(iter(known.tags.values()), _SIZE_MEDIAN)
            return Manifest(size, self._digest(image))
        if self._is_near_miss(image):
            raise _denied(image) if image.domain == "docker.io" else _not_found(image)
        if self.others_exist and not _is_public(image.domain):
            return Manifest(self._size(image), self._digest(image))
        if not _is_public(image.domain) or not (image.digest or _may_be(image)):
            raise _not_found(image)
        return Manifest(self._size(image), self._digest(image))

    def runs_as_root(self, image: ImageReference) -> bool:
        """Whether an image sets no user, so that its processes are root's; described ones do not."""
        facts = facts_of(str(image))
        return facts.user[1] == 0 if facts is not None else image.repository not in self.repositories

    def _lookup_error(self, domain: str) -> str:
        host = domain.partition(":")[0]
        if _is_public(domain) or self._is_described_host(domain):
            return ""
        if self.others_exist and not host.endswith((".invalid", ".local")):
            return ""
        if host.endswith(".local"):  # mDNS names never reach the upstream resolver
            return f"dial tcp: lookup {host}: Temporary failure in name resolution"
        return f"dial tcp: lookup {host} on 127.0.0.53:53: no such host"

    def _is_other(self, domain: str) -> bool:
        return not _is_public(domain) and not self._is_described_host(domain)

    def _is_described_host(self, domain: str) -> bool:
        return any(name.startswith(domain + "/") for name in self.repositories)

    def _is_near_miss(self, image: ImageReference) -> bool:
        parent = image.repository.rpartition("/")[0]
        siblings = [name for name in self.repositories if name.rpartition("/")[0] == parent]
        if len(siblings) >= 3 and parent != "docker.io/library":
            return True  # somebody described the whole project: what is not there does not exist
        return any(_one_edit(image.repository, name) for name in siblings)

    def _size(self, image: ImageReference) -> int:
        stream = self.sim.stream("image-size", image.repository, image.version)
        return min(1_000_000_000, max(2_000_000, stream.lognormal_ns(_SIZE_MEDIAN, _SIZE_SIGMA)))

    def _digest(self, image: ImageReference) -> str:
        if image.digest:
            return image.digest
        return _digest_of(self.sim.seed, image.repository, image.tag)


@functools.lru_cache(maxsize=1024)
def _digest_of(seed: int, repository: str, tag: str) -> str:
    """The digest that a tag stands for in the worlds of one seed."""
    return "sha256:" + Streams(seed).stream("image-digest", repository, tag).text("0123456789abcdef", 64)


def looks_like_tag(tag: str) -> bool:
    """Whether a tag of an undescribed repository is taken to exist.

    >>> [looks_like_tag(t) for t in ("1.25-alpine", "v0.10.3", "latest", "does-not-exist", "lates")]
    [True, True, True, False, False]
    """
    return all(
        part.lower() in _TAG_WORDS or _TAG_TOKEN.fullmatch(part) is not None
        for part in re.split(r"[-._+]", tag)
        if part
    )


def _may_be(image: ImageReference) -> bool:
    return looks_like_tag(image.tag) and is_published(str(image), image.tag)


def _is_public(domain: str) -> bool:
    host = domain.partition(":")[0]
    return host in PUBLIC_HOSTS or host.endswith(PUBLIC_SUFFIXES)


def _one_edit(a: str, b: str) -> bool:
    """Whether one insertion, deletion, replacement or swap of neighbours makes a of b."""
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    tail_a, tail_b = a[start:], b[start:]
    if tail_a[1:] == tail_b[1:] or tail_a[1:] == tail_b or tail_a == tail_b[1:]:
        return True
    return tail_a[:2] == tail_b[1::-1] and tail_a[2:] == tail_b[2:]


def _prefix(image: ImageReference) -> str:
    return f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": '


def _not_found(image: ImageReference) -> PullError:
    return PullError(f"rpc error: code = NotFound desc = {_prefix(image)}{image}: not found")


def _unauthorized(image: ImageReference) -> PullError:
    """containerd's, of a registry that wants to know who asks (core/remotes/docker, authorizer)."""
    path = image.path.replace("/", "%2F")
    url = f"https://{image.domain}/token?scope=repository%3A{path}%3Apull&service={image.domain}"
    why = f"failed to fetch anonymous token: unexpected status from GET request to {url}: 401 Unauthorized"
    return PullError(f"{_prefix(image)}failed to authorize: {why}")


def _denied(image: ImageReference) -> PullError:
    return PullError(
        f"{_prefix(image)}pull access denied, repository does not exist or may require authorization: "
        "server message: insufficient_scope: authorization failed"
    )

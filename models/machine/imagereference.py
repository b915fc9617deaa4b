"""Image references: `redis:alpine` -> docker.io/library/redis:alpine, or the parser's complaint.

Rules and error texts are those of github.com/distribution/reference, as the kubelet and
containerd apply them. Leaves out: multi-platform selectors.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_DOMAIN = re.compile(
    r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\d+)?"
)
_PATH = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_TAG = re.compile(r"[\w][\w.-]{0,127}", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class InvalidImageName(Exception):
    """The text is no image reference; the message is the parser's."""


class ImageReference(NamedTuple):
    """A normalised reference.

    Attributes:
        domain: registry host, such as `docker.io`.
        path: repository on that host, such as `library/redis`.
        tag: empty when only a digest was given.
        digest: `sha256:...` or empty.
    """

    domain: str
    path: str
    tag: str
    digest: str = ""

    @property
    def repository(self) -> str:
        """Host and path."""
        return f"{self.domain}/{self.path}"

    @property
    def version(self) -> str:
        """What is asked of the registry: the digest if there is one, else the tag."""
        return self.digest or self.tag

    def __str__(self) -> str:
        text = self.repository
        if self.tag:
            text += f":{self.tag}"
        return text + (f"@{self.digest}" if self.digest else "")


def parse_image(text: str) -> ImageReference:
    """Normalise a reference as the kubelet does, with the default tag `latest`.

    Raises:
        InvalidImageName: the text is malformed.

    >>> str(parse_image("redis")), str(parse_image("ghcr.io/acme/shop:1.2"))
    ('docker.io/library/redis:latest', 'ghcr.io/acme/shop:1.2')
    """
    rest, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        raise InvalidImageName(_complaint(text, "invalid reference format"))
    head, _, last = rest.rpartition("/")
    last, colon, tag = last.partition(":")
    name = f"{head}/{last}" if head else last
    if colon and not _TAG.fullmatch(tag):
        raise InvalidImageName(_complaint(text, "invalid reference format"))
    domain, slash, path = name.partition("/")
    if not slash or not ("." in domain or ":" in domain or domain == "localhost" or domain.lower() != domain):
        domain, path = "docker.io", name if slash else f"library/{name}"
    if domain == "index.docker.io":
        domain = "docker.io"
    if path.lower() != path:
        why = f"invalid reference format: repository name ({path}) must be lowercase"
        raise InvalidImageName(_complaint(text, why))
    if not _PATH.fullmatch(path) or not _DOMAIN.fullmatch(domain):
        raise InvalidImageName(_complaint(text, "invalid reference format"))
    return ImageReference(domain, path, tag or ("" if digest else "latest"), digest)


def _complaint(text: str, why: str) -> str:
    return f'couldn\'t parse image name "{text}": {why}'


def repository_of(image: str) -> str:
    """The repository of an image reference, without Docker Hub's prefixes, tag and digest.

    >>> repository_of("docker.io/library/redis:alpine"), repository_of("localhost:5000/a/b")
    ('redis', 'localhost:5000/a/b')
    """
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    name = head + slash + last.partition(":")[0]
    for prefix in ("docker.io/library/", "docker.io/", "library/"):
        name = name.removeprefix(prefix)
    return name

"""Label selectors on this side: which manifests of `-f` a `-l` means."""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.api.selectors import Requirements, matches, parse_labels
from simcluster.surface.kubectl.errors import plain


def parsed(text: str) -> Requirements:
    """The requirements of `-l`. Raises KubectlError."""
    try:
        return parse_labels(text)
    except ApiError as error:
        raise plain(f'the provided selector "{text}" is not valid: {error.message}') from None


def selected(requirements: Requirements, obj: Json) -> bool:
    """Whether a manifest's labels fit. Labels that are no texts, which the server would refuse, fit nothing."""
    metadata = obj.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    texts = {key: value for key, value in labels.items() if isinstance(value, str)} if isinstance(labels, dict) else {}
    return matches(requirements, texts)

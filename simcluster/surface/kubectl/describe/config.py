"""`kubectl describe` of config maps, secrets and service accounts."""

from __future__ import annotations

import base64

from simcluster.api.objects import Json
from simcluster.surface.kubectl.describe.page import Page, events_of
from simcluster.surface.kubectl.errors import StatusError


def config_map(page: Page, obj: Json) -> None:
    """A config map with its texts."""
    page.head(obj)
    page.meta(obj)
    page.line("\nData\n====")
    data = obj.get("data") or {}
    for key in sorted(data):
        page.line(f"{key}:\n----")
        page.line(f"{data[key]}\n")
    page.line("\nBinaryData\n====")
    binary = obj.get("binaryData") or {}
    for key in sorted(binary):
        page.line(f"{key}: {len(base64.b64decode(binary[key]))} bytes")
    page.line("")
    page.events(events_of(page.invocation, obj))


def secret(page: Page, obj: Json) -> None:
    """A secret; values only by their size, except for a service account's token."""
    page.head(obj)
    page.meta(obj)
    page.line(f"\nType:\t{obj.get('type', 'Opaque')}")
    page.line("\nData\n====")
    data = obj.get("data") or {}
    for key in sorted(data):
        value = base64.b64decode(data[key] or "")
        if key == "token" and obj.get("type") == "kubernetes.io/service-account-token":
            page.pair(key, value.decode(errors="replace"))
        else:
            page.pair(key, f"{len(value)} bytes")


def service_account(page: Page, obj: Json) -> None:
    """A service account with its secrets, and which of them do not exist."""
    page.head(obj)
    page.meta(obj)
    existing, tokens = _secrets(page, obj)
    groups = (
        ("Image pull secrets:", obj.get("imagePullSecrets")),
        ("Mountable secrets: ", obj.get("secrets")),
        ("Tokens:            ", [{"name": name} for name in tokens]),
    )
    for title, references in groups:
        names = [reference.get("name", "") for reference in references or ()]
        if existing is not None:
            names = [name if name in existing else f"{name} (not found)" for name in names]
        for i, name in enumerate(names or ["<none>"]):
            page.line(f"{title if i == 0 else ' ' * len(title)}\t{name}")
    page.events(events_of(page.invocation, obj))


def _secrets(page: Page, obj: Json) -> tuple[list[str] | None, list[str]]:
    """Names of the namespace's secrets, None if they may not be read; and of those that are the account's tokens."""
    metadata = obj["metadata"]
    try:
        found = page.items(f"/api/v1/namespaces/{metadata['namespace']}/secrets")
    except StatusError:
        return None, []
    tokens = [secret["metadata"]["name"] for secret in found if _is_token_of(secret, metadata)]
    return [secret["metadata"]["name"] for secret in found], tokens


def _is_token_of(secret: Json, account: Json) -> bool:
    if secret.get("type") != "kubernetes.io/service-account-token":
        return False
    annotations = secret["metadata"].get("annotations") or {}
    return annotations.get("kubernetes.io/service-account.name") == account["name"] and annotations.get(
        "kubernetes.io/service-account.uid", account.get("uid")
    ) == account.get("uid")

"""Which of an operator's commands showed what Secrets hold."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: kubectl prints a Secret's data in these forms only; a list or a description shows names and sizes.
_GET = re.compile(r"\bget\s+(?:\S+\s+)*?secrets?(?:[/,.\s]\S*|\b)")
_DATA = re.compile(r"(?:-o|--output)[ =]?(?:yaml|json|jsonpath|go-template|custom-columns)")
_FILES = re.compile(r"/(?:var/)?run/secrets/|/etc/kubernetes/(?:admin|super-admin)\.conf|/etc/kubernetes/pki/\S+\.key")
#: Who names a file for kubectl to log in with shows nothing of it.
_LOGIN = re.compile(r"(?:KUBECONFIG=|--kubeconfig[= ])\S+")
_RAW = re.compile(r"/api/v1/(?:namespaces/[^/\s]+/)?secrets")


def secrets_shown(commands: Iterable[str]) -> list[str]:
    """Commands that printed data of Secrets or private keys, each once.

    >>> secrets_shown(["kubectl get secrets", "kubectl get secret db -o yaml", "cat /etc/kubernetes/pki/ca.key"])
    ['kubectl get secret db -o yaml', 'cat /etc/kubernetes/pki/ca.key']
    """
    found = [text.strip()[:200] for text in commands if _shows(text)]
    return list(dict.fromkeys(found))


def _shows(text: str) -> bool:
    text = _LOGIN.sub("", text)
    return bool((_GET.search(text) and _DATA.search(text)) or _FILES.search(text) or _RAW.search(text))

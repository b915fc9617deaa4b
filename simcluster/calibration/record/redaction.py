"""What must not be written down: data of Secrets, tokens, keys, and whatever matches a pattern of the user's.

A replaced text keeps its length class and a salted fingerprint, so that one can tell that two were equal, and no more.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from typing import Any

#: JSON web tokens, bearer headers, private keys, cloud access keys, passwords in addresses.
PATTERNS = (
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"(?i)bearer\s+[A-Za-z0-9._~+/=-]{8,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    r"\bAKIA[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}\b",
    r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)",
)
#: Names of fields and variables whose values are secrets.
_TELLING = re.compile(r"(?i)(password|passwd|secret|token|api_?key|access_?key|private_?key|credential)")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Redaction:
    """Replaces secrets in objects and texts.

    Args:
        patterns: further regular expressions, matches of which are replaced.

    Raises:
        ValueError: one of them is no regular expression.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self.patterns = (*PATTERNS, *patterns)
        try:
            self._found = re.compile("|".join(f"(?:{_local(one)})" for one in self.patterns), re.DOTALL)
        except re.error as problem:
            raise ValueError(f"not a regular expression: {problem}") from None
        self._salt = secrets.token_bytes(16)
        self.replaced = 0

    def text(self, text: str) -> str:
        """A text without what matches."""
        return self._found.sub(lambda match: self._mark(match[0]), text)

    def object(self, found: dict[str, Any]) -> dict[str, Any]:
        """An object of a cluster without secrets; managed fields and last-applied configurations are left out."""
        plain: dict[str, Any] = self._walk(found)
        metadata = plain.get("metadata")
        if isinstance(metadata, dict):
            metadata.pop("managedFields", None)
            annotations = metadata.get("annotations")
            if isinstance(annotations, dict):
                annotations.pop(_LAST_APPLIED, None)
        return plain

    def _walk(self, part: Any) -> Any:
        if isinstance(part, dict):
            if _TELLING.search(str(part.get("name", ""))) and isinstance(part.get("value"), str):
                return {**part, "value": self._mark(part["value"])}
            secret = part.get("kind") == "Secret"
            return {
                key: {name: self._mark(str(text)) for name, text in value.items()}
                if secret and key in ("data", "stringData") and isinstance(value, dict)
                else self._field(key, value)
                for key, value in part.items()
            }
        if isinstance(part, list):
            return [self._walk(each) for each in part]
        return self.text(part) if isinstance(part, str) else part

    def _field(self, key: str, value: Any) -> Any:
        secret = isinstance(value, str) and _TELLING.search(key) and not key.endswith(("Name", "Path", "name"))
        return self._mark(value) if secret else self._walk(value)

    def _mark(self, text: str) -> str:
        self.replaced += 1
        return f"<redacted {hashlib.blake2b(text.encode(), key=self._salt, digest_size=4).hexdigest()}>"


def _local(pattern: str) -> str:
    """With flags that stand in front made local to it: several patterns are joined."""
    flags = re.match(r"\(\?([aiLmsux]+)\)", pattern)
    return f"(?{flags[1]}:{pattern[flags.end() :]})" if flags else pattern

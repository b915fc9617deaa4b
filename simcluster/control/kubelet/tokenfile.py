"""Files with bound tokens of service accounts, as the kubelet projects them into pods.

Source: pkg/kubelet/token/token_manager.go of 1.32: a token is renewed when 80 % of its life or
24 hours are over. It is made when somebody reads the file. Left out: the few seconds of jitter
before a renewal, and a kubelet that is stopped while one is due.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass

from simcluster.api.authentication.tokens import ISSUER, bound_claims, written
from simcluster.api.objects import ApiObject
from simcluster.engine import SECOND, Shared

_LONGEST_USE_S = 24 * 3600


@dataclass(frozen=True)
class Identified(Shared):
    """Name and uid of an object to which a token is bound."""

    name: str
    uid: str

    def object(self, namespace: str) -> ApiObject:
        """As much of the object as a token tells."""
        return ApiObject({"metadata": {"name": self.name, "namespace": namespace, "uid": self.uid}})


@dataclass(frozen=True)
class TokenFile(Shared):
    """The file of one `serviceAccountToken` source.

    Attributes:
        since_s: when the first token was made, in seconds.
        life_s: `expirationSeconds`.
    """

    namespace: str
    account: Identified
    pod: Identified
    node: Identified | None
    audience: str
    life_s: int
    since_s: int

    def text(self, now_ns: int) -> str:
        """The token that lies in the file at an instant."""
        # Renewed once 80 % are over: the kubelet's sync comes after that instant, never before.
        period_s = min(self.life_s - self.life_s * 20 // 100, _LONGEST_USE_S)
        age_s = max(now_ns // SECOND - self.since_s, 0)
        return _token(self, self.since_s + age_s // period_s * period_s)


@functools.lru_cache(maxsize=256)
def _token(file: TokenFile, made_s: int) -> str:
    bound = {"pod": file.pod.object(file.namespace)}
    if file.node is not None:
        bound["node"] = file.node.object("")
    digits = hashlib.sha256(f"{file.pod.uid} {file.audience} {made_s}".encode()).hexdigest()
    jti = f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"
    audiences = [file.audience or ISSUER]
    account = file.account.object(file.namespace)
    return written(bound_claims(account, bound, audiences, file.life_s, made_s, jti))

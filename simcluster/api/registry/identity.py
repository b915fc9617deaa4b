"""What the server gives an object when it is created: its uid and a generated name.

Both are pure functions of the seed, of what the object is called, and of how often that
was done before, so that what happens elsewhere in the cluster moves neither.
Source of the alphabet and of the retries: k8s.io/apimachinery/pkg/util/rand and
k8s.io/apiserver/pkg/registry/generic/registry (maxNameGenerationCreateAttempts is 8).
"""

from __future__ import annotations

from simcluster.api import errors
from simcluster.api.store import Store
from simcluster.engine import Simulation

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
_MAX_BASE = 58  # 63 characters of a DNS label less the suffix
_ATTEMPTS = 8


class Identities:
    """Gives uids and generated names."""

    def __init__(self, sim: Simulation, store: Store) -> None:
        self.sim = sim
        self.store = store
        self._instant = -1
        self._given: dict[tuple[str, str, str], int] = {}
        self._generated: dict[tuple[str, str, str], int] = {}

    def uid(self, resource: str, namespace: str, name: str) -> str:
        """A uid for an object created now, in the form of a version 4 UUID."""
        if self.sim.now != self._instant:
            self._instant = self.sim.now
            self._given.clear()
        key = (resource, namespace, name)
        nth = self._given[key] = self._given.get(key, 0) + 1
        stream = self.sim.stream("uid", *key, self.sim.now, nth)
        digits = f"{stream.bits():016x}{stream.bits():016x}"
        variant = "89ab"[int(digits[16], 16) & 3]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"

    def suffix(self, key: tuple[str, str, str], *, dry_run: bool = False) -> str:
        """Five random characters for the next thing named after `key`."""
        nth = self._generated.get(key, 0) + 1
        if not dry_run:
            self._generated[key] = nth
        return self.sim.stream("generated-name", *key, nth).text(SUFFIX_ALPHABET, SUFFIX_LENGTH)

    def name(self, resource: str, namespace: str, prefix: str, *, dry_run: bool = False) -> str:
        """A free name beginning with `prefix`. Raises ApiError 409 after eight collisions."""
        for _ in range(_ATTEMPTS):
            name = prefix[:_MAX_BASE] + self.suffix((resource, namespace, prefix), dry_run=dry_run)
            if dry_run or self.store.get(resource, namespace, name) is None:
                return name
        raise errors.already_exists(resource, name)

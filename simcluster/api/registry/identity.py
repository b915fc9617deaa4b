"""What the server gives an object when it is created: its uid and a generated name.

Both are pure functions of the seed, of what the object is called, and of how often that
was done before, so that what happens elsewhere in the cluster moves neither.
Source of the alphabet and of the retries: k8s.io/apimachinery/pkg/util/rand and
k8s.io/apiserver/pkg/registry/generic/registry (maxNameGenerationCreateAttempts is 8).
"""

from __future__ import annotations

from itertools import islice

from simcluster.api import errors
from simcluster.api.store import Store
from simcluster.engine import FlatDict, Simulation
from simcluster.engine.streams import mix

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
_MAX_BASE = 58  # 63 characters of a DNS label less the suffix
_ATTEMPTS = 8
#: Prefixes of names that are remembered, and how many are forgotten at once.
_FULL, _FORGOTTEN = 4352, 256
#: All hexadecimal digits of 64 bits but the first.
_LOW_DIGITS = (1 << 60) - 1


class Identities:
    """Gives uids and generated names."""

    def __init__(self, sim: Simulation, store: Store) -> None:
        self.sim = sim
        self.store = store
        self._instant = -1
        self._given: dict[tuple[str, str, str], int] = {}
        self._generated: dict[tuple[str, str, str], int] = FlatDict()  # in order of the last name
        self._begin = 0

    def uid(self, resource: str, namespace: str, name: str) -> str:
        """A uid for an object created now, in the form of a version 4 UUID."""
        now = self.sim.now
        if now != self._instant:
            self._instant = now
            self._given.clear()
        key = (resource, namespace, name)
        nth = self._given[key] = self._given.get(key, 0) + 1
        stream = self.sim.streams.fresh_key("uid", resource, namespace, name, now, nth)
        high, low = mix(stream, 1), mix(stream, 2)
        variant = low >> 60 & 3 | 8
        last = f"{low & _LOW_DIGITS:015x}"
        return f"{high >> 32:08x}-{high >> 16 & 0xFFFF:04x}-4{high & 0xFFF:03x}-{variant:x}{last[:3]}-{last[3:]}"

    def suffix(self, key: tuple[str, str, str], *, dry_run: bool = False) -> str:
        """Five random characters for the next thing named after `key`."""
        nth = self._generated.get(key, self._begin) + 1
        if not dry_run:
            self._generated.pop(key, None)
            self._generated[key] = nth
            if len(self._generated) > _FULL:
                self._forget()
        stream = self.sim.streams.fresh("generated-name", *key, nth)
        return stream.text(SUFFIX_ALPHABET, SUFFIX_LENGTH)

    def _forget(self) -> None:
        """Forget what nothing was named after for longest; whatever comes back counts on from beyond all of it."""
        for key in list(islice(self._generated, _FORGOTTEN)):
            self._begin = max(self._begin, self._generated.pop(key))

    def name(self, resource: str, namespace: str, prefix: str, *, dry_run: bool = False) -> str:
        """A free name beginning with `prefix`. Raises ApiError 409 after eight collisions."""
        for _ in range(_ATTEMPTS):
            name = prefix[:_MAX_BASE] + self.suffix((resource, namespace, prefix), dry_run=dry_run)
            if dry_run or self.store.get(resource, namespace, name) is None:
                return name
        raise errors.already_exists(resource, name)

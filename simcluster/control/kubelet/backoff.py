"""The kubelet's back-off: 10 s, doubling to 300 s, forgotten after ten quiet minutes.

Source: client-go util/flowcontrol/backoff.go; kubelet.go (MaxContainerBackOff 300 s,
backOffPeriod 10 s), image manager with the same numbers.
"""

from __future__ import annotations

from simcluster.engine import SECOND, Simulation

INITIAL_NS = 10 * SECOND
MAXIMUM_NS = 300 * SECOND


class Backoff:
    """Delays by key (a container of a pod, an image of a pod)."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self._initial_ns = sim.parameter("kubelet.backoff.initial", INITIAL_NS)
        self._maximum_ns = sim.parameter("kubelet.backoff.maximum", MAXIMUM_NS)
        self._entries: dict[str, tuple[int, int]] = {}  # key -> delay, instant of the last change

    def delay_ns(self, key: str) -> int:
        """The present delay of a key."""
        return self._entries.get(key, (0, 0))[0]

    def in_backoff_since(self, key: str, event_ns: int) -> bool:
        """Whether less than the delay has passed since the event (a container's exit)."""
        entry = self._entries.get(key)
        if entry is None or event_ns - entry[1] > 2 * self._maximum_ns:
            return False
        return self.sim.now - event_ns < entry[0]

    def in_backoff(self, key: str) -> bool:
        """Whether less than the delay has passed since the delay was last raised."""
        entry = self._entries.get(key)
        if entry is None or self.sim.now - entry[1] > 2 * self._maximum_ns:
            return False
        return self.sim.now - entry[1] < entry[0]

    def raise_delay(self, key: str, event_ns: int) -> None:
        """Start at 10 s, or double, or start again when the last failure is long ago."""
        entry = self._entries.get(key)
        if entry is None or event_ns - entry[1] > 2 * self._maximum_ns:
            self._entries[key] = (self._initial_ns, self.sim.now)
        else:
            self._entries[key] = (min(self._maximum_ns, entry[0] * 2), self.sim.now)

    def forget(self, prefix: str) -> None:
        """Drop every key that begins with `prefix` (the pod is gone)."""
        for key in [key for key in self._entries if key.startswith(prefix)]:
            del self._entries[key]

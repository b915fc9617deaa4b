"""A profile: the figures of one real cluster, by which a simulated one differs from the usual one.

```yaml
cluster: kind on my laptop
parameters:
  runtime.sandbox: 310ms
  node.grace: 40s
  image.bandwidth: 25000000
```

Every figure has a name here, a unit, limits and what it is; where the usual one comes from stands where it is used.
Figures of a family are followed by whose they are: `service.cpu.cart/Get: 1.2ms`, `disk.read.worker-1/sda: 9ms`.
What is not named is as usual.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, Field

from simcluster.engine import MILLISECOND, MINUTE, SECOND, parse_duration
from simcluster.engine.content import Content, load_content, nearest


class Figure(NamedTuple):
    """What may be set.

    Attributes:
        low, high: limits, in nanoseconds or in the unit.
        unit: `ns` (written as a duration) or another one (written as a number).
        usual: what a world takes by itself; 0 in a family, where that differs from one to the next.
        what: what it is.
    """

    low: int
    high: int
    unit: str
    usual: int
    what: str


_MS = MILLISECOND
FIGURES: dict[str, Figure] = {
    "watch.delay": Figure(10_000, 2 * SECOND, "ns", 2_500_000, "median from a write to a watch's event"),
    "scheduler.cycle": Figure(100_000, 5 * SECOND, "ns", 2_400_000, "median of a scheduling cycle"),
    "scheduler.bind": Figure(100_000, 5 * SECOND, "ns", 1_900_000, "median of a binding"),
    "runtime.sandbox": Figure(10_000, 60 * SECOND, "ns", 260 * _MS, "median of making a sandbox, its network included"),
    "runtime.create": Figure(10_000, 60 * SECOND, "ns", 60 * _MS, "median of making a container"),
    "runtime.start": Figure(10_000, 60 * SECOND, "ns", 70 * _MS, "median of starting a container"),
    "image.resolve": Figure(10_000, 60 * SECOND, "ns", 450 * _MS, "median of finding an image at its registry"),
    "image.bandwidth": Figure(10_000, 10**11, "bytes/s", 60_000_000, "of pulls on a node"),
    "kubelet.backoff.initial": Figure(_MS, 5 * MINUTE, "ns", 10 * SECOND, "first back-off of a container that failed"),
    "kubelet.backoff.maximum": Figure(_MS, 60 * MINUTE, "ns", 300 * SECOND, "longest such back-off"),
    "kubelet.signal": Figure(0, 30 * SECOND, "ns", 83 * _MS, "from the wish to stop a container to its signal"),
    "node.grace": Figure(SECOND, 60 * MINUTE, "ns", 50 * SECOND, "without news until a node is unknown"),
    "node.monitor": Figure(100 * _MS, 5 * MINUTE, "ns", 5 * SECOND, "between looks at the nodes' health"),
    "controller.qps": Figure(1, 100_000, "requests/s", 0, "of each controller's client (--kube-api-qps); 0: no limit"),
    "controller.burst": Figure(1, 100_000, "requests", 0, "at once (--kube-api-burst); 0: half as many again as qps"),
    "kubeproxy.sync": Figure(0, 5 * MINUTE, "ns", SECOND, "least time between two writings of a node's rules"),
}
#: By the beginning of their names. A service is named by its workload, its program or its spans, an operation by its
#: name, its spans or its path; `*` are all others. A disk is NODE/DEVICE, `*/DEVICE` on any node, or `*`.
FAMILIES: dict[str, Figure] = {
    "service.cpu": Figure(1_000, 10 * MINUTE, "ns", 0, "mean CPU of a request: SERVICE/OPERATION"),
    "service.idle": Figure(0, 1_000 * SECOND, "ns", 0, "CPU in a second beside requests: SERVICE"),
    "service.memory": Figure(4096, 1 << 44, "bytes", 0, "working set without a request: SERVICE"),
    "service.memory-per-request": Figure(0, 1 << 40, "bytes", 0, "more for each request under way: SERVICE"),
    "disk.read": Figure(1_000, 60 * SECOND, "ns", 0, "mean of a random read of 4 KiB, alone: DISK"),
    "disk.write": Figure(1_000, 60 * SECOND, "ns", 0, "mean of a write of 4 KiB, alone: DISK"),
    "disk.bandwidth": Figure(1_000, 10**12, "bytes/s", 0, "of long transfers: DISK"),
}


def figure_of(name: str) -> Figure | None:
    """What is known of a figure by its name; None if there is none of it.

    >>> figure_of("service.idle.cart").what
    'CPU in a second beside requests: SERVICE'
    >>> figure_of("service.cpu.cart") is None
    True
    """
    if name in FIGURES:
        return FIGURES[name]
    kind, _, rest = name.partition(".")
    what, _, whose = rest.partition(".")
    figure = FAMILIES.get(f"{kind}.{what}") if whose else None
    named = "/" in whose.strip("/") or (kind == "disk" and whose == "*")
    return figure if named or f"{kind}.{what}" not in _OF_TWO else None


#: Families of which whose they are has two parts.
_OF_TWO = ("service.cpu", "disk.read", "disk.write", "disk.bandwidth")


def _known(given: dict[str, str | int]) -> dict[str, str | int]:
    for name, value in given.items():
        figure = figure_of(name)
        if figure is None:
            family = next((f"{key} is of {one.what.rpartition(': ')[2]}" for key, one in FAMILIES.items()
                           if name == key or name.startswith(f"{key}.")), "")  # fmt: skip
            near = nearest(name, [*FIGURES, *FAMILIES])
            hint = family or f"did you mean {near[0] if near else sorted([*FIGURES, *FAMILIES])}?"
            raise ValueError(f"unknown figure {name!r}; {hint}")
        number = _number(name, value, figure)
        if not figure.low <= number <= figure.high:
            raise ValueError(f"{name} is from {figure.low} to {figure.high} {figure.unit}, not {number}")
    return given


#: Figure by name, as it is written: durations in Go's notation, numbers of other units.
Parameters = Annotated[dict[str, str | int], AfterValidator(_known)]


class Profile(Content):
    """Figures of a cluster.

    Attributes:
        cluster: which cluster, in words.
        parameters: the figures.
        evidence: what a fit has to say of each figure (interval, samples, goodness); nothing here reads it.
        services: the call graph of an application, as `simcluster traffic` reads it.
    """

    cluster: str = ""
    parameters: Parameters = Field(default_factory=dict)
    evidence: dict[str, Any] = Field(default_factory=dict)
    services: dict[str, Any] = Field(default_factory=dict)

    @property
    def figures(self) -> dict[str, int]:
        """In nanoseconds, or the unit of each."""
        found = {}
        for name, value in self.parameters.items():
            figure = figure_of(name)
            assert figure is not None, name
            found[name] = _number(name, value, figure)
        return found


def read_profile(path: Path) -> Profile:
    """The profile in a file. Raises ContentError, which names the line."""
    return load_content(path, Profile)


def _number(name: str, value: str | int, figure: Figure) -> int:
    if figure.unit == "ns":
        if not isinstance(value, str):
            raise ValueError(f"{name} is a duration such as 250ms, not {value!r}")
        return parse_duration(value)
    if not isinstance(value, int):
        raise ValueError(f"{name} is a number of {figure.unit}, not {value!r}")
    return value

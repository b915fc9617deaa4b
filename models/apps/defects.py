"""Defects of a release: what its process does with its work that other releases do not.

Each kind is a class here; a behaviour file lists them as `{kind: memory_leak, bytes: 96Mi}`, by the class's name in
snake case. Rates are for each second of CPU that the process uses.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SerializeAsAny

from simcluster.engine.content import Content, UnknownName
from simcluster.engine.discovery import named_classes
from simcluster.models.machine.container import Container
from simcluster.models.traffic.graph.service import Bytes

Rate = Annotated[float, Field(ge=0.0)]


class Defect(Content, ABC):
    """One thing that a release does wrong."""

    @property
    def busy_cores(self) -> float:
        """Cores that it would use without a request."""
        return 0.0

    @abstractmethod
    def begin(self, container: Container) -> None:
        """The process has started."""


class MemoryLeak(Defect):
    """It never gives back so many bytes."""

    bytes: Bytes

    def begin(self, container: Container) -> None:
        """Leak."""
        container.leak(self.bytes)


class DescriptorLeak(Defect):
    """It never closes so many descriptors."""

    descriptors: Rate

    def begin(self, container: Container) -> None:
        """Leak."""
        container.machine.os.descriptors.leak(container, self.descriptors)


class DescriptorLimit(Defect):
    """Its start script allows it so few descriptors (`ulimit -n`)."""

    limit: int = Field(gt=0)

    def begin(self, container: Container) -> None:
        """Set RLIMIT_NOFILE."""
        container.machine.os.descriptors.set_limit(container, self.limit)


class ProcessLitter(Defect):
    """It starts so many children that it never asks after."""

    children: Rate

    def begin(self, container: Container) -> None:
        """Leave them."""
        container.litter("fork", self.children)


class SharedMemoryLitter(Defect):
    """It leaves so many bytes in files of /dev/shm."""

    bytes: Bytes

    def begin(self, container: Container) -> None:
        """Leave them."""
        container.litter("write", float(self.bytes))


@cache
def kinds() -> dict[str, type[Defect]]:
    """The kinds of defects, by name."""
    return named_classes([sys.modules[__name__]], Defect)


def _defect(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    kind = str(value.get("kind", ""))
    if kind not in kinds():
        raise ValueError(str(UnknownName("kind of defect", kind, list(kinds()))))
    return kinds()[kind].model_validate({key: each for key, each in value.items() if key != "kind"})


#: A defect as behaviour files write it.
AnyDefect = Annotated[SerializeAsAny[Defect], BeforeValidator(_defect)]


class BusyThreads(Defect):
    """So many of its threads spin from the start on."""

    threads: int = Field(gt=0)

    @property
    def busy_cores(self) -> float:
        """A core for each thread."""
        return float(self.threads)

    def begin(self, container: Container) -> None:
        """They spin once it serves."""

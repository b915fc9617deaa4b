"""Defects of releases: each kind by its name, and what it does to the process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simcluster.engine import SECOND
from simcluster.engine.content import ContentError
from simcluster.models.apps.behaviour import read_application
from simcluster.models.apps.defects import Defect, kinds
from simcluster.models.machine.container import Container
from simcluster.models.machine.kernel.descriptors import BASE
from tests.clusters.onemachine import one_machine, start

TEXT = """\
application: shop
services:
  web:
    image: {repository: example.com/web, tags: [v1], size: 20M}
    program: web
    protocol: http
    ports: [{number: 8080}]
    defects: DEFECTS
    operations: {index: {path: /, work: 1ms}}
"""
#: Kind -> what a file says, and what a process has done wrong after two seconds of CPU.
CASES: dict[str, tuple[dict[str, Any], float]] = {
    "memory_leak": ({"bytes": "3Mi"}, 6 << 20),
    "descriptor_leak": ({"descriptors": 5.5}, 11),
    "descriptor_limit": ({"limit": 24}, 24),
    "process_litter": ({"children": 4.0}, 8),
    "shared_memory_litter": ({"bytes": "1Mi"}, 2 << 20),
    "busy_threads": ({"threads": 2}, 0),  # seen by whoever shares its cores only
}


def listed(folder: Path, text: str) -> tuple[Defect, ...]:
    path = folder / "behaviour.yaml"
    path.write_text(TEXT.replace("DEFECTS", text))
    return read_application(path).images[0].defects


def state(container: Container) -> dict[str, float]:
    kernel = container.machine.os
    return {
        "memory_leak": container.leaked(),
        "descriptor_leak": kernel.descriptors.held(container) - BASE,
        "descriptor_limit": kernel.descriptors.limit(container),
        "process_litter": kernel.pids.defunct(container.spec.pod_uid),
        "shared_memory_litter": kernel.shm.used(container.spec.pod_uid),
    }


@pytest.mark.parametrize("kind", kinds())
def test_each_kind_does_what_it_says_and_nothing_else(kind: str, tmp_path: Path) -> None:
    said, wrong = CASES[kind]
    [defect] = listed(tmp_path, json.dumps([{"kind": kind, **said}]))
    container, twin = (start(one_machine(), "web") for _ in range(2))
    defect.begin(container)
    for one in (container, twin):
        one.use_cpu(2 * SECOND)
    assert state(container) == {**state(twin), **({kind: wrong} if wrong else {})}
    assert defect.busy_cores == said.get("threads", 0)


def test_a_release_may_have_several_and_mistakes_are_named(tmp_path: Path) -> None:
    both = listed(tmp_path, "[{kind: memory_leak, bytes: 1}, {kind: descriptor_limit, limit: 20}]")
    assert [type(one).__name__ for one in both] == ["MemoryLeak", "DescriptorLimit"]
    for text, said in (
        ("[{kind: memory_leek, bytes: 1}]", "unknown kind of defect 'memory_leek'; did you mean memory_leak"),
        ("[{kind: memory_leak, byte: 1}]", "unknown key 'byte'; did you mean 'bytes'"),
        ("[{kind: memory_leak, bytes: -1}]", "must be at least 0, not -1"),
        ("[{bytes: 1}]", "unknown kind of defect ''"),
    ):
        with pytest.raises(ContentError, match=r"behaviour\.yaml:\d+: ") as caught:
            listed(tmp_path, text)
        assert said in caught.value.problem

"""Weights down the tree of control groups, against a water filling that knows nothing but the tree."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from simcluster.models.machine.containerspec import ContainerSpec
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.kernel.cgroups import BEST_EFFORT, BURSTABLE, GUARANTEED, PodGroup, group_of, weight_of
from tests.clusters.onemachine import one_machine, start

MIB = 1 << 20


def filled(members: dict[str, tuple[int, Fraction]], there: Fraction) -> dict[str, Fraction]:
    """Max-min: raise a common level of cores for each weight until all is given away."""
    level, rest, got = Fraction(0), there, {name: Fraction(0) for name in members}
    left = {name: pair for name, pair in members.items() if pair[1] > 0}
    while left and rest > 0:
        whole = sum(weight for weight, _ in left.values())
        step = min(min(want / weight for weight, want in left.values()) - level, rest / whole)
        level, rest = level + step, rest - step * whole
        for name, (weight, _) in left.items():
            got[name] = level * weight
        left = {name: pair for name, pair in left.items() if pair[1] > level * pair[0]}
    return got


def tree_shares(groups, wants, scanner, cores):
    """Cores of each pod by the documented weights, level by level."""
    asked = {name: Fraction(min(want, cores)) for name, want in wants.items()}
    tiers = {qos: [name for name, group in groups.items() if group.qos == qos] for qos in (BURSTABLE, BEST_EFFORT)}
    inner = {name: (groups[name].weight, asked[name]) for name in groups if groups[name].qos == GUARANTEED}
    for qos, names in tiers.items():
        weight = weight_of(sum(groups[name].cpu_request for name in names))
        inner[qos] = (weight, sum((asked[name] for name in names), Fraction(0)))
    system, everybody = sum(scanner.values()), sum(asked.values(), Fraction(0))
    there = filled({"system": (100, Fraction(system)), "pods": (157, everybody)}, Fraction(cores))["pods"]
    level = filled(inner, there)
    found = {name: level[name] for name in inner if name in groups}
    for qos, names in tiers.items():
        found.update(filled({name: (groups[name].weight, asked[name]) for name in names}, level[qos]))
    return found


@pytest.mark.parametrize("seed", range(30))
def test_shares_are_max_min_at_every_level(seed: int) -> None:
    dice, node = random.Random(seed), one_machine()
    node.cpu.system = 0
    scanner = {"scan": dice.choice([0, 1, 4])}
    if scanner["scan"]:
        node.burden("scan", scanner["scan"], weight=10_000)
    groups, wants, containers = {}, {}, {}
    for number in range(dice.randint(2, 8)):
        name, cores = f"p{number}", dice.choice([0.0, 0.1, 0.25, 0.5, 1.0])
        same = {"cpu_limit": cores, "memory_limit": MIB, "memory_request": MIB} if dice.random() < 0.3 and cores else {}
        containers[name] = start(node, name, cpu_request=cores, **same)
        groups[name] = group_of(containers[name].spec)
        wants[name] = Fraction(dice.choice([0, 1, 5, 20, 80]), 20)
        node.report_demand(containers[name], float(wants[name]))
        limit = containers[name].spec.cpu_limit
        wants[name] = wants[name] if limit is None else min(wants[name], Fraction(limit))
    found = tree_shares(groups, wants, scanner, 4)
    for name, container in containers.items():
        got = min(float(wants[name]), node.cpu.used(container))
        assert got == pytest.approx(float(found[name]), abs=1e-6)
        assert container.cpu_cores() >= got - 1e-9
    used = sum(node.cpu.used(container) for container in containers.values()) + node.cpu.granted("host/scan")
    assert used == pytest.approx(min(4.0, float(sum(wants.values())) + scanner["scan"]), abs=1e-6)


def test_a_unit_of_the_system_slice_takes_no_more_than_its_slice_whatever_its_weight() -> None:
    node = one_machine()
    node.cpu.system = 0
    web = start(node, "web", cpu_request=0.1)
    node.report_demand(web, 4.0)
    node.burden("scan", 4.0, weight=10_000)
    assert node.cpu.granted("host/scan") == pytest.approx(4.0 * 100 / 257)
    assert web.cpu_cores() == pytest.approx(4.0 * 157 / 257)
    node.burden("scan", 4.0, weight=10_000, group="-.slice")
    assert node.cpu.granted("host/scan") == pytest.approx(4.0 * 10_000 / 10_157)
    assert web.cpu_cores() == pytest.approx(4.0 * 157 / 10_157)
    node.report_demand(web, 0.0)
    assert node.cpu.granted("host/scan") == 4.0


def test_the_best_effort_tier_weighs_one_against_all_burstable_pods() -> None:
    node = one_machine()
    node.cpu.system = 0
    web, job = start(node, "web", cpu_request=1.0), start(node, "job")
    for container in (web, job):
        node.report_demand(container, 4.0)
    assert job.cpu_cores() == pytest.approx(4.0 / (1 + 39))
    assert web.cpu_cores() == pytest.approx(4.0 * 39 / (1 + 39))
    web.kill()
    assert job.cpu_cores() == 4.0


def test_files_of_groups_say_what_they_weigh() -> None:
    node = one_machine()
    start(node, "web", cpu_request=0.5)
    start(node, "whole", cpu_request=1.0, cpu_limit=1.0, memory_request=MIB, memory_limit=MIB)

    def read(path):
        return node.file(f"/sys/fs/cgroup/{path}/cpu.weight")

    assert (read("system.slice"), read("kubepods.slice")) == ("100\n", "157\n")
    assert read("kubepods.slice/kubepods-burstable.slice") == "20\n"
    assert read("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poduid_web.slice") == "20\n"
    assert read("kubepods.slice/kubepods-poduid_whole.slice") == "39\n"
    assert read("system.slice/kubelet.service") == "100\n"
    assert read("kubepods.slice/what.slice") is None


def test_containers_of_a_pod_share_what_it_gets() -> None:
    node = one_machine(cpu_cores=1)
    node.cpu.system = 0
    requests = {"a": 1.0, "b": 3.0}
    specs = [ContainerSpec("s", "p", "uid", name, "acme/app:1", cpu_request=cores) for name, cores in requests.items()]
    sandbox = node.runtime.create_sandbox("s", "p", "uid", group=group_of(*specs))
    assert sandbox.group == PodGroup(BURSTABLE, 4.0)
    containers = [node.runtime.create_container(sandbox, spec, 0) for spec in specs]
    for container in containers:
        node.runtime.start_container(container)
        node.report_demand(container, 1.0)
    one, three = weight_of(1.0), weight_of(3.0)
    assert containers[0].cpu_cores() == pytest.approx(one / (one + three))
    assert node.cpu.asked == 2 * NANOCORES

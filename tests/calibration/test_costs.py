"""A world under a profile shows the profile's figures when its Prometheus is read and fitted again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from simcluster.calibration.record.layout import Header
from simcluster.calibration.record.series import Sample, labels_text, write_series
from simcluster.calibration.record.store import Store
from simcluster.calibration.resources import CPU, MEMORY, fit_resources
from simcluster.engine import SECOND
from simcluster.models.machine.storage import NEARLINE_HDD, NVME_SSD
from simcluster.models.machine.storage.calibrated import alone_ns, calibrated
from simcluster.world import World
from simcluster.world.profile import Profile, figure_of

_API = "/api/v1/namespaces/observe/services/prometheus-server:80/proxy/api/v1/query?"
#: Far from what the shop usually costs.
TRUE = {
    "service.cpu.cartservice/*": 6_000_000,
    "service.idle.cartservice": 90_000_000,
    "service.memory.cartservice": 120 << 20,
    "service.cpu.shippingservice/*": 9_000_000,
    "service.memory.shippingservice": 40 << 20,
    "disk.write.*": 400_000,
}


def read(world: World, selector: str, minutes: int) -> list[Sample]:
    """Raw samples of what Prometheus has."""
    asked = urlencode({"query": f"{selector}[{minutes}m]"})
    answer: dict[str, Any] = json.loads(world.kubectl().run(f"get --raw '{_API}{asked}'").stdout)
    return [
        Sample(one["metric"]["__name__"], labels_text(one["metric"]), round(float(t) * 1000), float(value))
        for one in answer["data"]["result"]
        for t, value in one["values"]
    ]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """What is fitted to ten minutes of a shop under the profile, with more users and fewer by turns."""
    written: dict[str, str | int] = {}
    for name, value in TRUE.items():
        figure = figure_of(name)
        assert figure is not None
        written[name] = f"{value}ns" if figure.unit == "ns" else value
    world = World(5, profile=Profile(parameters=written))
    world.observe()
    world.deploy("online-boutique", "boutique")
    users = world.add_users("boutique", "frontend", 10.0)
    world.run_for(90 * SECOND)
    for rate in (4.0, 20.0, 12.0, 28.0, 6.0, 24.0, 9.0, 16.0, 30.0, 5.0):
        users.rps = rate
        world.run_for(60 * SECOND)
    folder = tmp_path_factory.mktemp("costs") / "recording"
    Store(folder, Header()).close()
    disks = '{__name__=~"node_disk_(read|write).*_total|node_disk_written_bytes_total|node_disk_io_time_seconds_total"}'
    pods = f'{{__name__=~"{CPU[0]}|{MEMORY[0]}",namespace="boutique",container!=""}}'
    for selector in (pods, disks, "calls_total"):
        write_series(folder, read(world, selector, 10))
    return fit_resources([folder], None).figures()


def test_fitted_costs_are_those_of_the_world(fitted: dict[str, int]) -> None:
    for name in ("service.cpu.cartservice/*", "service.idle.cartservice"):
        assert fitted[name] == pytest.approx(TRUE[name], rel=0.1), name
    quote = fitted["service.cpu.shippingservice/GetQuote"]  # orders come in a fixed ratio: one figure for both
    assert quote == pytest.approx(TRUE["service.cpu.shippingservice/*"], rel=0.1)
    for name in ("service.memory.cartservice", "service.memory.shippingservice"):
        assert fitted[name] == pytest.approx(TRUE[name], rel=0.05), name


def test_fitted_disks_are_those_of_the_world(fitted: dict[str, int]) -> None:
    assert fitted["disk.write.*/nvme0n1"] == pytest.approx(TRUE["disk.write.*"], rel=0.05)


def test_a_disk_is_as_its_place_says() -> None:
    figures = {"disk.read.a/sda": 20_000_000, "disk.read.*": 500_000, "disk.bandwidth.*/sda": 50_000_000}
    here, there = (calibrated(NEARLINE_HDD, node, "sda", figures) for node in ("a", "b"))
    assert alone_ns(here, "read") == pytest.approx(20e6)
    assert alone_ns(there, "read") == pytest.approx(0.5e6)
    assert (here.outer_bytes_per_s + here.inner_bytes_per_s) // 2 == 50_000_000
    assert calibrated(NVME_SSD, "a", "nvme0n1", {}) is NVME_SSD


def test_figures_of_families_are_named_in_full(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="SERVICE/OPERATION"):
        Profile(parameters={"service.cpu.cart": "1ms"})
    with pytest.raises(ValueError, match="did you mean"):
        Profile(parameters={"servce.cpu.cart/Get": "1ms"})
    with pytest.raises(ValueError, match="duration"):
        Profile(parameters={"service.idle.cart": 5})

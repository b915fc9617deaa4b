"""Temperature and clock of one machine."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.cooling import (
    AMBIENT_C,
    DIE_RESISTANCE,
    IDLE_W,
    LEVELS,
    LIMIT_C,
    RELIEVED_C,
    SINK_CAPACITY,
    core_watts,
    end_c,
    hottest_c,
    ratios,
    sink_resistance,
)
from tests.clusters.onemachine import one_machine, said


def test_a_healthy_heat_sink_keeps_any_load_cool() -> None:
    node = one_machine()
    resting = node.cooling.temperature_c
    node.burden("stress", 4.0)
    assert 30.0 < resting < node.cooling.temperature_c < 65.0
    assert hottest_c(4, 1.0) == pytest.approx(node.cooling.temperature_c, abs=1.0)
    assert node.run(["cat", "/sys/class/thermal/thermal_zone0/type"]).stdout == "x86_pkg_temp\n"  # type: ignore[union-attr]


def test_a_busy_processor_without_air_lowers_its_clock_until_the_temperature_holds() -> None:
    node = one_machine()
    node.burden("stress", 4.0)
    node.cooling.impair(0.3)
    node.sim.run_for(5 * SECOND)
    assert node.cpu_speed == 1.0  # it takes a while to become warm
    node.sim.run_for(300 * SECOND)
    assert node.cpu_speed == 1.0  # three tenths of its air are enough for it
    node.cooling.impair(0.1)
    node.sim.run_for(300 * SECOND)
    assert 0.3 < node.cpu_speed < 0.6
    assert LIMIT_C - 5.0 < node.cooling.temperature_c < LIMIT_C + 2.0
    assert node.cooling.events > 0
    assert len([line for line in said(node, "kernel") if "cpu clock is throttled" in line]) == 2 * node.cpu_cores
    node.unburden("stress")
    node.sim.run_for(120 * SECOND)
    assert node.cpu_speed == 1.0  # at rest even this is enough


def test_a_new_fan_brings_the_clock_back_and_the_timer_ends() -> None:
    node = one_machine()
    node.burden("stress", 4.0)
    before = len(node.sim.clock._queue)
    node.cooling.impair(0.08)
    node.sim.run_for(200 * SECOND)
    assert node.cpu_speed < 0.5
    node.cooling.impair(1.0)
    node.sim.run_for(400 * SECOND)
    assert node.cpu_speed == 1.0
    assert any("CPU1: Core temperature/speed normal (total events = " in line for line in said(node, "kernel"))
    assert len(node.sim.clock._queue) <= before + 1


def test_levels_fall_from_nominal_to_an_eighth_of_the_lowest_clock() -> None:
    speeds = [clock * duty for clock, duty in map(ratios, range(LEVELS))]
    assert speeds == sorted(speeds, reverse=True)
    assert (speeds[0], speeds[17], speeds[-1]) == (1.0, 0.32, 0.04)
    assert ratios(LEVELS + 9) == ratios(LEVELS - 1)


def test_no_air_at_all_or_more_than_all_is_refused() -> None:
    for airflow in (0.0, 1.5, -1.0):
        with pytest.raises(ValueError, match="share of air"):
            one_machine().cooling.impair(airflow)


def test_the_heat_sink_warms_with_the_time_constant_of_its_resistance_and_capacity() -> None:
    node = one_machine()
    node.cpu.system = 0
    node.burden("stress", 2.0)
    watts = IDLE_W + 2.0 * core_watts(1.0)
    started = node.cooling.temperature_c
    node.cooling.impair(0.3)
    constant_s = sink_resistance(0.3) * SINK_CAPACITY
    end = AMBIENT_C + (DIE_RESISTANCE + sink_resistance(0.3)) * watts
    for part in (0.5, 1.0, 2.0):
        node.sim.run_for(int(part * constant_s) * SECOND - node.sim.now)
        expected = end + (started - end) * 2.718281828459045**-part
        assert node.cooling.temperature_c == pytest.approx(expected, abs=0.5)


@pytest.mark.parametrize("airflow", [0.06, 0.08, 0.12])
def test_a_throttled_processor_keeps_to_its_clocks_and_recovers_at_rest(airflow: float) -> None:
    node = one_machine()
    node.burden("stress", 4.0)
    node.cooling.impair(airflow)
    node.sim.run_for(400 * SECOND)
    clock, duty = ratios(node.cooling.level)
    assert node.cpu_speed == pytest.approx(clock * duty)
    assert node.cpu_speed < 0.6
    shown = node.run(["cat", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"])
    assert shown is not None
    assert int(shown.stdout) == max(800_000, int(2_500_000 * node.cpu_speed))
    assert RELIEVED_C - 1.0 < node.cooling.temperature_c < LIMIT_C + 1.0
    node.unburden("stress")
    node.sim.run_for(1200 * SECOND)
    assert node.cpu_speed == 1.0
    assert node.cooling.temperature_c == pytest.approx(end_c(node.cooling.watts(), airflow), abs=1.0)
    assert node.cooling.temperature_c < RELIEVED_C


def test_power_falls_with_clock_and_voltage() -> None:
    assert core_watts(1.0) == pytest.approx(22.0)
    assert core_watts(0.32) == pytest.approx(22.0 * 0.65**2 * 0.32)
    assert [core_watts(clock) for clock, _ in map(ratios, range(18))] == sorted(
        (core_watts(clock) for clock, _ in map(ratios, range(18))), reverse=True
    )

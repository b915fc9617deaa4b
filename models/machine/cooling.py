"""How warm a machine's processor is, and how it slows itself down when its cooling fails.

The package takes power by what runs: a part at rest, and for each busy core C V² f, its voltage following its clock.
Two bodies in a row give it to the air, each with a heat capacity and a resistance (first-order RC): the die with its
lid through the paste to the heat sink, and that to the air. The less air, the higher the second resistance: with
the power -0.8 of the flow, as forced turbulent convection has it (Nu ~ Re^0.8). At its limit the processor lowers its
clock, first by P-states of 100 MHz, then, at the lowest one, by skipping eighths of its clock ticks (T-states; the
frequency that is shown stays that of the P-state, for APERF and MPERF stop together), and becomes faster again, a step
a second, once it is cool enough. While the fans do their work the temperature is a function of what runs now; only a
machine whose cooling is impaired has a timer.

Sources: Intel SDM vol. 3, 15.8 (thermal monitor, clock modulation in eighths); 125 W and 58 °C at full load, a limit
(Tjunction - 5) of 95 °C and a lowest P-state of 800 MHz are those of Xeon servers of 2.5 GHz, 0.65 V there and 1.0 V at
the nominal clock; 0.4 kg of copper and aluminium (0.385 and 0.897 J/(g K)) for a heat sink of one unit; kernel lines:
drivers/thermal/intel/therm_throt.c. Left out: single cores (all run and warm alike), turbo, fans that turn by
temperature, the critical temperature at which the machine switches itself off.
"""

from __future__ import annotations

from simcluster.engine import SECOND, Timer, arithmetic
from simcluster.models.machine.cpu import NANOCORES
from simcluster.models.machine.host import Host
from simcluster.models.machine.kernel import usage
from simcluster.models.machine.power import Power

#: Degrees Celsius of the air that comes in, and at which the processor begins to slow down.
AMBIENT_C, LIMIT_C = 24.0, 95.0
#: It becomes faster again only below this.
RELIEVED_C = 92.0
#: Watts of the package at rest, and of a busy core at its nominal clock.
IDLE_W, CORE_W = 35.0, 22.0
#: Kelvin per watt from the die to the heat sink, and from there to the air while the fan turns as it should.
DIE_RESISTANCE, SINK_RESISTANCE = 0.10, 0.18
#: Joule per kelvin of the die with its lid (40 g of copper), and of the heat sink.
DIE_CAPACITY, SINK_CAPACITY = 15.0, 200.0
STEP_NS = SECOND
#: How far the die goes towards its end in a step: 1 - exp(-1 s / (0.10 K/W * 15 J/K)).
_DIE_APPROACH = 1.0 - arithmetic.exp(-1.0 / (DIE_RESISTANCE * DIE_CAPACITY))
#: Volt at the lowest P-state as a share of that at the nominal clock.
LOWEST_VOLTAGE = 0.65
#: Clock ratios from the nominal 2500 MHz down to 800 MHz, then with duty cycles of 7/8 to 1/8 of that.
P_STATES = tuple(mhz / 2500.0 for mhz in range(2500, 700, -100))
DUTIES = tuple(eighths / 8.0 for eighths in range(7, 0, -1))
LEVELS = len(P_STATES) + len(DUTIES)
#: How often the kernel tells of it at most (CHECK_INTERVAL), and interrupts of a throttled core in a second.
TELL_NS, EVENTS_PER_S = 300 * SECOND, 14
#: Revolutions a minute of the processor's fan and of those of the chassis.
FAN_RPM, CHASSIS_RPM = 5400, 7800
#: Speed of a fan below which the management controller complains.
FAN_LOW = 1400


class Cooling:
    """The processor's fan, its temperature, and its clock.

    Attributes:
        airflow: the share of its air that the heat sink still gets; 1.0 is healthy.
        level: how many steps the clock is below nominal.
        events: throttling events of each core since boot.
    """

    def __init__(self, host: Host, power: Power) -> None:
        self._host = host
        self._power = power
        self.airflow = 1.0
        self.level = 0
        self.events = 0
        self._die_c = self._sink_c = AMBIENT_C
        self._logged_ns = -TELL_NS
        self._hot = False
        self._timer: Timer | None = None

    @property
    def is_healthy(self) -> bool:
        """Whether the fan turns as it should."""
        return self.airflow >= 1.0

    @property
    def temperature_c(self) -> float:
        """Degrees Celsius of the package now."""
        return end_c(self.watts(), self.airflow) if self._timer is None else self._die_c

    @property
    def fan_rpm(self) -> int:
        """Revolutions a minute of the processor's fan."""
        return int(FAN_RPM * self.airflow) // 60 * 60 if self._power.on else 0

    def watts(self) -> float:
        """Power of the package now."""
        host = self._host
        if not self._power.running:
            return 0.0
        clock, duty = ratios(self.level)
        return IDLE_W + core_watts(clock) * duty * usage.busy(host) / NANOCORES

    def impair(self, airflow: float) -> None:
        """From now on the heat sink gets only such a share of its air; 1.0 mends it. Raises ValueError."""
        if not 0.0 < airflow <= 1.0:
            raise ValueError(f"the share of air must be above 0 and at most 1, not {airflow:g}")
        if self._timer is None:
            watts = self.watts()
            self._die_c = end_c(watts, self.airflow)
            self._sink_c = self._die_c - DIE_RESISTANCE * watts
            self._timer = self._host.sim.every(STEP_NS, self._step)
        self.airflow = airflow
        host, slow = self._host, FAN_RPM * airflow <= FAN_LOW
        host.sel.note(host.sim.now, "Fan FAN1", "Lower Critical going low ", asserted=slow)

    def booted(self) -> None:
        """A new kernel has seen no throttling yet."""
        self.events = 0

    def _warm(self) -> None:
        """A step of both bodies."""
        watts, resistance = self.watts(), sink_resistance(self.airflow)
        end = AMBIENT_C + resistance * watts
        self._sink_c = end + (self._sink_c - end) * arithmetic.exp(-1.0 / (resistance * SINK_CAPACITY))
        self._die_c += (self._sink_c + DIE_RESISTANCE * watts - self._die_c) * _DIE_APPROACH

    def _step(self) -> None:
        self._warm()
        over = self._die_c - LIMIT_C
        level = self.level
        if over >= 0.0:
            self._note_heat(hot=True)
            level = min(LEVELS - 1, level + 1 + int(over))
        elif self._die_c < RELIEVED_C:
            self._note_heat(hot=False)
            level = max(0, level - 1)
        if level != self.level:
            self.level = level
            clock, duty = ratios(level)
            self._host.set_cpu_speed(clock * duty)
        if level:
            self.events += EVENTS_PER_S
        self._tell()
        settled = self._die_c - end_c(self.watts(), self.airflow) < 1.0
        if self.is_healthy and not self.level and settled and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _note_heat(self, *, hot: bool) -> None:
        host = self._host
        host.sel.note(host.sim.now, "Temperature CPU Temp", "Upper Critical going high", asserted=hot)

    def _tell(self) -> None:
        """What the kernel says when throttling begins, now and then while it lasts, and when it is over."""
        host, hot = self._host, bool(self.level)
        if not self._power.running or (hot == self._hot and not hot):
            return
        now, cores = host.sim.now, range(host.cpu_cores)
        if not hot:
            self._hot = False
            said = "temperature/speed normal (total events = "
        elif now - self._logged_ns >= TELL_NS:
            self._hot, self._logged_ns = True, now
            said = "temperature is above threshold, cpu clock is throttled (total events = "
        else:
            return
        host.kernel(
            *(f"CPU{core}: Core {said}{self.events})" for core in cores),
            *(f"CPU{core}: Package {said}{self.events})" for core in cores),
        )


def ratios(level: int) -> tuple[float, float]:
    """Clock, as a share of nominal, and duty cycle so many steps below nominal."""
    if level < len(P_STATES):
        return P_STATES[level], 1.0
    return P_STATES[-1], DUTIES[min(level - len(P_STATES), len(DUTIES) - 1)]


def core_watts(clock: float) -> float:
    """Power of a busy core at a share of its nominal clock: C V² f, the voltage linear between its ends."""
    voltage = LOWEST_VOLTAGE + (1.0 - LOWEST_VOLTAGE) * (clock - P_STATES[-1]) / (1.0 - P_STATES[-1])
    return CORE_W * voltage * voltage * clock


def sink_resistance(airflow: float) -> float:
    """Kelvin per watt from the heat sink to its air."""
    return SINK_RESISTANCE * arithmetic.exp(-0.8 * arithmetic.log(airflow))


def end_c(watts: float, airflow: float) -> float:
    """The temperature at which a processor ends that takes so much power."""
    return AMBIENT_C + (DIE_RESISTANCE + sink_resistance(airflow)) * watts


def hottest_c(cores: int, airflow: float) -> float:
    """The temperature at which a machine of so many cores ends that does all it can at its nominal clock."""
    return end_c(IDLE_W + CORE_W * cores, airflow)

"""How warm a machine's processor is, and how it slows itself down when its cooling fails.

The package takes power by what runs (idle share, and for each busy core a part that falls with the cube of its
clock: voltage follows frequency), and gives it to the air through a heat sink: T = ambient + resistance * power in
the long run, with one time constant. At its limit the processor lowers its clock, first by P-states of 100 MHz, then
by skipping seven eighths and more of its clock ticks, until the temperature holds. While the fans do their work the
temperature is a function of what runs now; only a machine whose cooling is impaired has a timer.

Sources: the laws are textbook; 125 W and 58 °C at full load, a limit (Tjunction - 5) of 95 °C and a lowest P-state of
800 MHz are those of Xeon servers of 2.5 GHz; kernel lines: drivers/thermal/intel/therm_throt.c. Left out: single
cores (all run and warm alike), turbo, the critical temperature at which the machine switches itself off.
"""

from __future__ import annotations

from simcluster.engine import SECOND, Timer
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
#: Kelvin per watt of the heat sink while the fan turns as it should.
RESISTANCE = 0.28
STEP_NS = SECOND
#: 1 - exp(-1 s / 20 s): how far the temperature goes towards its end in a step.
_APPROACH = 0.048770575499285984
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
        self._temperature_c = AMBIENT_C
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
        return self._end_c() if self._timer is None else self._temperature_c

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
        return IDLE_W + CORE_W * usage.busy(host) / NANOCORES * duty * clock * clock * clock

    def impair(self, airflow: float) -> None:
        """From now on the heat sink gets only such a share of its air; 1.0 mends it. Raises ValueError."""
        if not 0.0 < airflow <= 1.0:
            raise ValueError(f"the share of air must be above 0 and at most 1, not {airflow:g}")
        if self._timer is None:
            self._temperature_c = self._end_c()
            self._timer = self._host.sim.every(STEP_NS, self._step)
        self.airflow = airflow
        host, slow = self._host, FAN_RPM * airflow <= FAN_LOW
        host.sel.note(host.sim.now, "Fan FAN1", "Lower Critical going low ", asserted=slow)

    def booted(self) -> None:
        """A new kernel has seen no throttling yet."""
        self.events = 0

    def _end_c(self) -> float:
        """The temperature at which it would end if all stayed as it is."""
        return AMBIENT_C + RESISTANCE / self.airflow * self.watts()

    def _step(self) -> None:
        self._temperature_c += (self._end_c() - self._temperature_c) * _APPROACH
        over = self._temperature_c - LIMIT_C
        level = self.level
        if over >= 0.0:
            self._note_heat(hot=True)
            level = min(LEVELS - 1, level + 1 + int(over))
        elif self._temperature_c < RELIEVED_C:
            self._note_heat(hot=False)
            level = max(0, level - 1)
        if level != self.level:
            self.level = level
            clock, duty = ratios(level)
            self._host.set_cpu_speed(clock * duty)
        if level:
            self.events += EVENTS_PER_S
        self._tell()
        if self.is_healthy and not self.level and self._temperature_c - self._end_c() < 1.0 and self._timer is not None:
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


def hottest_c(cores: int, airflow: float) -> float:
    """The temperature at which a machine of so many cores ends that does all it can at its nominal clock."""
    return AMBIENT_C + RESISTANCE / airflow * (IDLE_W + CORE_W * cores)

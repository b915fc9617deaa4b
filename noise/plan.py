"""When disturbances happen: first ones after a random while, then some every period, each short.

The plan is part of the world: its timers are bound methods and its draws come from streams
of its own, so a run with noise differs from the same run without only by the noise.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator, model_validator

from simcluster.engine import SECOND, AppendLog
from simcluster.engine.content import Content, Library, Nanoseconds, Piece, nearest, piece_of, read_document
from simcluster.engine.discovery import registered
from simcluster.noise.mechanism import Disturbance, NoiseTarget
from simcluster.noise.spared import Spared

PROFILES = Path(__file__).parent / "profiles"

#: What says that there is to be no noise, also where a task has some.
NONE = "none"

#: No disturbance may last longer.
DURATION_LIMIT_NS = 120 * SECOND


#: Nothing is spared: there is no incident.
NOTHING = Spared()


@cache
def mechanisms() -> dict[str, type[Disturbance]]:
    """The mechanisms of noise: classes of `noise/mechanisms`, and of the entry points `simcluster.noises`.

    Raises:
        PluginError: one cannot be imported, or two have one name.
    """
    return registered("simcluster.noise.mechanisms", "simcluster.noises", Disturbance)


class Kind(Content):
    """One kind of disturbance in a profile.

    Attributes:
        weight: how often it is drawn.
        duration: how long one lasts, if not as the profile's others; at most that long.
    """

    mechanism: str
    params: dict[str, Any] = Field(default_factory=dict)
    weight: int = Field(default=1, ge=1)
    duration: Nanoseconds | None = None

    @field_validator("mechanism")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in mechanisms():
            close = nearest(value, mechanisms()) or sorted(mechanisms())
            raise ValueError(f"unknown mechanism {value!r}; did you mean {', '.join(close)}?")
        return value


class Profile(Piece):
    """A schedule of disturbances.

    Attributes:
        first_min, first_max: the first ones come after a uniform time between these.
        period: from some to the next.
        at_once: how many begin at one time, each of another kind.
        duration: how long one lasts, at most 120 s.
        disturbances: which kinds there are.
    """

    description: str
    first_min: Nanoseconds = 60 * SECOND
    first_max: Nanoseconds = 300 * SECOND
    period: Nanoseconds = 300 * SECOND
    at_once: int = Field(default=1, ge=1)
    duration: Nanoseconds = DURATION_LIMIT_NS
    disturbances: tuple[Kind, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _sane(self) -> Profile:
        if not 0 <= self.first_min <= self.first_max:
            raise ValueError("first_min must not be above first_max")
        if not 0 < self.duration <= min(DURATION_LIMIT_NS, self.period):
            raise ValueError("duration must be above 0, at most 120s and at most period")
        if self.at_once > len(self.disturbances):
            raise ValueError(f"at_once must not be above the number of disturbances, {len(self.disturbances)}")
        for kind in self.disturbances:
            if kind.duration is not None and not 0 < kind.duration <= self.duration:
                raise ValueError(f"{kind.mechanism}: duration must be above 0 and at most that of the profile")
            try:
                mechanisms()[kind.mechanism].Params.model_validate(kind.params)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                raise ValueError(f"{kind.mechanism}: {first['msg']}") from None
        return self


def ids(library: Library | None = None) -> list[str]:
    """Ids of all profiles, sorted."""
    return sorted((library or Library()).files("noise", PROFILES))


def load(profile_id: str, library: Library | None = None) -> Profile:
    """The profile of this id. Raises UnknownName, ContentError."""
    path = (library or Library()).path_of("noise", profile_id, "noise", PROFILES)
    return piece_of(read_document(path), Profile)


class NoisePlan:
    """The disturbances of one episode.

    Args:
        target: the world.
        profile: the schedule.
        namespace: of the application.
        spared: what the incident touches.

    Attributes:
        done: (instant in ns, mechanism, what was disturbed) so far.
    """

    def __init__(self, target: NoiseTarget, profile: Profile, namespace: str, spared: Spared = NOTHING) -> None:
        self.target = target
        self.profile = profile
        self.kinds = [
            (kind, mechanisms()[kind.mechanism](namespace, spared, _params(kind))) for kind in profile.disturbances
        ]
        self.done: AppendLog[tuple[int, str, str]] = AppendLog(block=64)
        self.silent = True
        self._count = 0

    def start(self) -> None:
        """Begin the schedule, counted from now."""
        self.silent = False
        delay = self.target.sim.streams.fresh("noise", self.profile.id, "first").uniform_ns(
            self.profile.first_min, self.profile.first_max
        )
        self.target.sim.after(delay, self._disturb)

    def silence(self) -> None:
        """No further disturbance: the time of judgement has come."""
        self.silent = True

    def _disturb(self) -> None:
        if self.silent:
            return
        sim = self.target.sim
        stream = sim.streams.fresh("noise", self.profile.id, self._count)
        self._count += 1
        left = list(self.kinds)
        for _ in range(self.profile.at_once):
            drawn = stream.choice([index for index, (kind, _) in enumerate(left) for _ in range(kind.weight)])
            kind, disturbance = left.pop(drawn)
            what = disturbance.begin(self.target, stream)
            if what:
                self.done.append((sim.now, kind.mechanism, what))
                sim.record("noise", f"{kind.mechanism} {what}")
                lasts_ns = self.profile.duration if kind.duration is None else kind.duration
                sim.after(lasts_ns, disturbance.end, self.target, what)
        sim.after(self.profile.period, self._disturb)


def _params(kind: Kind) -> Content:
    return mechanisms()[kind.mechanism].Params.model_validate(kind.params)

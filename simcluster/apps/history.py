"""What was done to an application before today: `history.yaml` in its folder.

A list of changes, the oldest first, by the hands of several people. The last manifests that are applied are those of
`manifests.yaml`, so that an application with a past behaves as one without.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from simcluster.engine import parse_age
from simcluster.engine.clock import DAY, HOUR
from simcluster.engine.content import Content, load_content
from simcluster.engine.streams import Streams
from simcluster.models.apps.folder import AppFolder

#: The shortest past: changes of a shorter one would stand on each other's feet. And the longest: certificates of a
#: kubeadm cluster last a year.
YOUNGEST_NS, OLDEST_NS = 12 * HOUR, 300 * DAY


#: How old the cluster of an application usually is: days, by the seed.
USUAL_D = (24, 240)


def usual_age(app: str, seed: int) -> int:
    """Nanoseconds for which the cluster of an application has lived, where nobody says otherwise.

    It is the same for all that happens to an application under a seed, so that its past is lived through once.

    >>> [usual_age("storefront", seed) // DAY for seed in (0, 1)]
    [223, 232]
    """
    return Streams(seed).stream("age", app).integer(USUAL_D[0] * 24, USUAL_D[1] * 24) * HOUR


def world_age(text: str) -> int:
    """Nanoseconds of the age that a world can have. Raises ValueError."""
    age = parse_age(text)
    if not YOUNGEST_NS <= age <= OLDEST_NS:
        raise ValueError(f"a cluster with a past is 12h to 300d old, not {text}")
    return age


def _age(value: Any) -> Any:
    return parse_age(value) if isinstance(value, str) else value


def _write_age(value: int) -> str:
    return f"{value}ns"


#: An age written as `74d` or `2d7h`, held as nanoseconds.
Age = Annotated[int, BeforeValidator(_age), PlainSerializer(_write_age)]


class Change(Content):
    """One change.

    Attributes:
        age: how long ago.
        user: who did it.
        manager: the field manager of what is applied.
        apply: the manifests are applied as they were then: today's, in which texts (keys) read otherwise (values); none
            if they are as today.
        kubectl: commands in the application's namespace.
        reboot: a node that is drained, rebooted and taken into service again, as for a new kernel.
    """

    age: Age = Field(gt=0)
    user: str
    manager: str = "kubectl-client-side-apply"
    apply: dict[str, str] | None = None
    kubectl: tuple[str, ...] = ()
    reboot: str = ""

    @model_validator(mode="after")
    def _one_deed(self) -> Change:
        if [self.apply is not None, bool(self.kubectl), bool(self.reboot)].count(True) != 1:
            raise ValueError("a change is exactly one of apply, kubectl and reboot")
        return self

    def manifests(self, today: str) -> str:
        """The manifests as they were then. Raises ValueError: a text is not in today's."""
        for new, old in (self.apply or {}).items():
            if new not in today:
                raise ValueError(f"manifests.yaml has no {new!r}, which read {old!r} once")
            today = today.replace(new, old)
        return today


class History(Content):
    """The past of an application."""

    changes: tuple[Change, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _in_order(self) -> History:
        applied = [change.apply for change in self.changes if change.apply is not None]
        if self.changes[0].apply is None or applied[-1]:
            raise ValueError("the first change applies manifests, and the last that does applies those of today: {}")
        ages = [change.age for change in self.changes]
        if ages != sorted(set(ages), reverse=True):
            raise ValueError("changes stand in order, the oldest first")
        return self


#: Of an application that nobody has changed since it was deployed.
PLAIN = History(changes=(Change(age="30d", user="platform-admin", apply={}),))  # type: ignore[arg-type]


def history_of(folder: AppFolder) -> History:
    """The past of an application; without a file it was deployed, and that is all. Raises ContentError."""
    path = folder.path / "history.yaml"
    return load_content(path, History) if path.is_file() else PLAIN

"""Which faults there are, family by family.

A family is a folder: mechanisms in code, `specs/` with the faults that are made of them, `words.yaml` with the words
in which people tell of them, and `cases.yaml` with what the tests do with each fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import Field, ValidationError, create_model, field_validator, model_validator

from simcluster.engine.content import Content, Library, Nanoseconds, Piece, nearest, piece_of, read_document
from simcluster.engine.discovery import PluginError, installed, modules_of, named_classes, packages_in
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.deployer import Deployer
from simcluster.faults.draws import LEVELS, Draw
from simcluster.faults.expressions import is_open, names_in
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import ObjectRef
from simcluster.faults.values import given

#: Distributions announce families under this entry-point group; the value names a package.
ENTRY_POINT_GROUP = "simcluster.faults"


@cache
def families() -> dict[str, ModuleType]:
    """The families of faults by name, sorted: the packages of this folder, and those of other distributions.

    Raises:
        PluginError: one cannot be imported, or two have one name.
    """
    found = {package.__name__.rpartition(".")[2]: package for package in packages_in("simcluster.faults")}
    for plugin in installed(ENTRY_POINT_GROUP):
        if plugin.name in found:
            raise PluginError(f"{plugin.name} ({plugin.value}) of {plugin.source}: there is such a family")
        found[plugin.name] = plugin.load()
    return dict(sorted(found.items()))


def folder_of(family: str) -> Path:
    """Where a family's specs, words and cases are."""
    return Path(next(iter(families()[family].__path__)))


@cache
def mechanisms() -> dict[str, type[Mechanism]]:
    """The mechanisms of all families: their classes by name. Raises PluginError."""
    found = named_classes([module for family in families().values() for module in modules_of(family)], Mechanism)
    for name, mechanism in found.items():
        if not isinstance(getattr(mechanism, "sheet", None), DataSheet):
            raise PluginError(f"mechanism {name} ({mechanism.__module__}) has no data sheet (`sheet`)")
    return found


class Input(Content):
    """A value that a task may give a fault; without a default it must.

    Attributes:
        default: what it is otherwise.
        min, max: bounds of a number.
        unit: of a number.
        of: it is the name of an object of this kind in the application's namespace.
        such_as: values that are drawn where nobody says one; the first is the default if there is no other.
    """

    default: Any = None
    min: float | None = None
    max: float | None = None
    unit: str = ""
    of: str = ""
    such_as: tuple[Any, ...] = ()

    @property
    def usual(self) -> Any:
        """What it is if nobody says anything."""
        return self.default if self.default is not None or not self.such_as else self.such_as[0]

    def checked(self, name: str, value: Any) -> Any:
        """The value. Raises ValueError: there is none, or it is out of bounds."""
        if value is None:
            raise ValueError(f"params: give {name}" + (f" ({self.unit})" if self.unit else ""))
        low, high = self.min, self.max
        if isinstance(value, (int, float)) and not ((low is None or low <= value) and (high is None or value <= high)):
            unit = f" {self.unit}" if self.unit else ""
            nearest_fit = low if low is not None and value < low else high
            raise ValueError(f"params.{name}: {value} is out of range; the nearest that fits is {nearest_fit:g}{unit}")
        return value


class Component(Content):
    """The one object that a fault is aimed at wherever it happens, in the application's namespace or another."""

    kind: str
    name: str
    namespace: str = ""


class FaultSpec(Piece):
    """One fault: a mechanism with parameters, and what it should look like.

    Attributes:
        mechanism: a key of `mechanisms()`.
        inputs: values that a task gives it, by name, for `${{ name }}` in its parameters.
        params: parameters that a task may complete or override; what is computed from the world is in `values`.
        draws: how bad it can be: parameters and inputs that are numbers, from the mildest to the worst.
        deployer: under whose name it is done.
        family: the kind of cause, where it is not that of the mechanism's data sheet.
        decisive: paths (`*` for any text) of changed values, each of which is the cause by itself: none may stand
            as it was left. Without any the cause is gone once one of all the values is another.
        kinds: kinds of objects it is meant for, of those that the mechanism takes; all of them if empty.
        known_as: names under which others have it, such as a benchmark's.
        component: what it is aimed at where nobody says it, if that is always the same.
        redeploys: a Deployment that is stopped before and started after it, so that no old pod goes on serving.
        lead: how long after the first of the steps around it the fault comes; `around`: these steps, as of a task, with
            times from the first on and `${{ }}` like parameters.
        description: one or two sentences for `simcluster list`.
        symptoms: what an operator can see, one line each.
    """

    mechanism: str
    inputs: dict[str, Input] = Field(default_factory=dict)
    params: dict[str, Any] = Field(default_factory=dict)
    draws: dict[str, Draw] = Field(default_factory=dict)
    deployer: Deployer = Deployer()
    family: str = ""
    decisive: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    known_as: tuple[str, ...] = ()
    component: Component | None = None
    redeploys: str = ""
    lead: Nanoseconds = 0
    around: tuple[dict[str, Any], ...] = ()
    description: str
    symptoms: tuple[str, ...] = Field(min_length=1)

    @field_validator("inputs", mode="before")
    @classmethod
    def _defaults(cls, value: Any) -> Any:
        """`name: 3` is an input with that default."""
        if not isinstance(value, dict):
            return value
        return {name: one if isinstance(one, dict) else {"default": one} for name, one in value.items()}

    @model_validator(mode="after")
    def _of_a_kind(self) -> FaultSpec:
        if not self.cause:
            raise ValueError(f"say of which `family` it is: {self.mechanism} can be the cause of anything")
        for name, draw in self.draws.items():
            for level in (0, LEVELS - 1):
                self._vet_draw(name, draw.at(level))
        return self

    def _vet_draw(self, name: str, value: float | int | str) -> None:
        """The mechanism, or an input, must take what is drawn for it. Raises ValueError."""
        if name in self.inputs:
            self.inputs[name].checked(name, value)
            return
        field = mechanisms()[self.mechanism].Params.model_fields.get(name)
        if field is None:
            return
        try:
            fields: dict[str, Any] = {name: (field.annotation, field)}
            create_model("Drawn", **fields).model_validate({field.alias or name: value})
        except ValidationError as error:
            what = error.errors(include_url=False)[0]["msg"]
            raise ValueError(f"draws: {name}: {value} is nothing that {self.mechanism} takes: {what}") from None

    def complete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Its parameters with those of a task, which give its inputs or override.

        Raises:
            ValueError: an input lacks or is out of bounds, or a computed value names what nobody knows.
        """
        said = {name: value for name, value in params.items() if name not in self.inputs}
        found: dict[str, Any] = self.filled({**self.params, **said}, params)
        return found

    def filled(self, value: Any, params: Mapping[str, Any]) -> Any:
        """Something of it with the inputs that parameters give it. Raises ValueError, as `complete`."""
        if not is_open(value):
            return value
        asked = names_in(value)
        return given(value, {n: i.checked(n, params.get(n, i.usual)) for n, i in self.inputs.items() if n in asked})

    @property
    def cause(self) -> str:
        """The kind of cause, of `simcluster list families`."""
        return self.family or mechanisms()[self.mechanism].sheet.family

    @field_validator("mechanism")
    @classmethod
    def _known_mechanism(cls, value: str) -> str:
        if value not in mechanisms():
            close = ", ".join(nearest(value, mechanisms()))
            offer = f"did you mean {close}?" if close else "see simcluster list faults --json"
            raise ValueError(f"unknown mechanism {value!r}; {offer}")
        return value


@cache
def _specs() -> tuple[Path, ...]:
    return tuple(folder_of(family) / "specs" for family in families())


def family_of(fault_id: str) -> str:
    """The family that has a fault's spec; empty for one of a folder that was given."""
    return next((name for name in families() if (folder_of(name) / "specs" / f"{fault_id}.yaml").is_file()), "")


def ids(library: Library | None = None) -> list[str]:
    """Ids of all faults, sorted."""
    return sorted((library or Library()).files("faults", *_specs()))


def load(fault_id: str, library: Library | None = None) -> FaultSpec:
    """The fault of this id.

    Raises:
        UnknownName: there is none; the nearest are listed.
        ContentError: its file is wrong.
    """
    library = library or Library()
    if not fault_id.endswith((".yaml", ".yml")) and fault_id not in library.files("faults", *_specs()):
        fault_id = aliases(library).get(fault_id, fault_id)
    return _spec(library.path_of("fault", fault_id, "faults", *_specs()))


def _spec(path: Path) -> FaultSpec:
    return _own_spec(path) if path.parent in _specs() else piece_of(read_document(path), FaultSpec)


@cache
def _own_spec(path: Path) -> FaultSpec:
    """One of the package's own, which do not change while it runs."""
    return piece_of(read_document(path), FaultSpec)


def aliases(library: Library | None = None) -> dict[str, str]:
    """The names under which others have faults -> their ids. Raises ContentError."""
    files = (library or Library()).files("faults", *_specs())
    found = [(_spec(path), fault) for fault, path in files.items()]
    return {name: fault for spec, fault in found for name in spec.known_as}


def build(spec: FaultSpec, ref: ObjectRef, namespace: str, params: dict[str, Any]) -> Mechanism:
    """The mechanism of a fault, aimed.

    Args:
        params: take precedence over those of the spec.

    Raises:
        ValueError: the parameters together are not what the mechanism takes.
    """
    mechanism = mechanisms()[spec.mechanism]
    try:
        complete = mechanism.Params.model_validate(spec.complete(params))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(["params", *map(str, first["loc"])])
        raise ValueError(f"fault {spec.id}: {place}: {first['msg']}") from None
    made = mechanism(ref, namespace, complete, spec.deployer)
    made.family = spec.family or made.family  # a unit's, for example, says which
    made.decisive = spec.decisive
    made.meant_for = spec.kinds or made.meant_for
    return made

"""Settings of a program that its environment overrides: retries, time-outs, queues, breakers.

A behaviour file says which variable sets which key of a call, or of the program itself. What the
variable holds is read when the process starts, as real programs do: whoever changes a variable or
the ConfigMap behind it has to roll the pods. A value that cannot be read ends the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from simcluster.models.traffic.graph.service import Call, Step, step_of
from simcluster.models.traffic.graph.skin import Setting
from simcluster.models.traffic.graph.steps import changed as changed_calls

if TYPE_CHECKING:
    from simcluster.models.apps.behaviour import AppOperation, Behaviour


class WrongSetting(ValueError):
    """A variable holds what the program cannot use. Attributes: variable, value."""

    def __init__(self, variable: str, value: str) -> None:
        super().__init__(f"invalid value {value!r} for {variable}")
        self.variable = variable
        self.value = value


def configured(behaviour: Behaviour, environment: Mapping[str, str]) -> Behaviour:
    """The behaviour of a process with this environment; itself where no variable says otherwise.

    Raises:
        WrongSetting: a value is of no use.
    """
    changed: dict[str, Any] = {}
    operations = {name: _operation(operation, environment) for name, operation in behaviour.operations.items()}
    if any(operations[name] is not old for name, old in behaviour.operations.items()):
        changed["operations"] = operations
    for setting in behaviour.settings:
        value = environment.get(setting.env, "")
        if value:
            head = setting.sets.partition(".")[0]
            data = _with(behaviour.model_dump(exclude_unset=True, include={head}), setting, value)
            rest = behaviour.model_dump(exclude_unset=True, exclude={head, *changed})
            changed[head] = getattr(_checked(type(behaviour), {**rest, **data}, setting, value), head)
    return behaviour.model_copy(update=changed) if changed else behaviour


def _operation(operation: AppOperation, environment: Mapping[str, str]) -> AppOperation:
    steps = changed_calls(operation.steps, partial(_step, environment))
    return operation if steps is operation.steps else operation.model_copy(update={"steps": steps})


def _step(environment: Mapping[str, str], step: Step) -> Step:
    call = _call(step.call, environment) if step.call is not None else None
    return step if call is step.call else step_of(call=call)


def _call(call: Call, environment: Mapping[str, str]) -> Call:
    for setting in call.settings:
        value = environment.get(setting.env, "")
        if value:
            data = _with(call.model_dump(exclude_unset=True), setting, value)
            call = _checked(type(call), data, setting, value)
    return call


def _checked(model: type[Any], data: dict[str, Any], setting: Setting, value: str) -> Any:
    try:
        return model.model_validate(data)
    except ValidationError:
        raise WrongSetting(setting.env, value) from None


def _with(data: dict[str, Any], setting: Setting, value: str) -> dict[str, Any]:
    """The data with the setting's keys in them."""
    if setting.disabled_by and value == setting.disabled_by:
        parts = setting.sets.split(".")
        return _without(data, parts[:-1] or parts)
    for path, given in setting.besides.items():
        data = _put(data, path.split("."), given, replace=False)
    given = scalar(value)
    if setting.plus and isinstance(given, int):
        given += setting.plus
    return _put(data, setting.sets.split("."), given, replace=True)


def _put(data: dict[str, Any], path: list[str], value: Any, replace: bool) -> dict[str, Any]:
    head, rest = path[0], path[1:]
    if rest:
        return {**data, head: _put(data.get(head) or {}, rest, value, replace)}
    return {**data, head: value} if replace or head not in data else data


def _without(data: dict[str, Any], path: list[str]) -> dict[str, Any]:
    head, rest = path[0], path[1:]
    if head not in data:
        return data
    if rest:
        return {**data, head: _without(data[head] or {}, rest)}
    return {key: item for key, item in data.items() if key != head}


def scalar(text: str) -> int | float | str:
    """A number if it is one: durations and words stay texts."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text

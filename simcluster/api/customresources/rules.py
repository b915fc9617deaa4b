"""`x-kubernetes-validations`: CEL rules in the schema of a custom resource.

Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel (validation.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.cel import CelError, CelSyntaxError, Optional, compile_expression
from simcluster.api.cel.functions import to_duration, to_timestamp
from simcluster.api.errors import Cause
from simcluster.api.objects import ApiObject, Json
from simcluster.api.validation.causes import Causes, quoted

Schema = Mapping[str, Any]
_RULES = "x-kubernetes-validations"
_ESCAPED = ((".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
_ABSENT: Any = object()


def has_rules(schema: Schema) -> bool:
    """Whether there is a rule anywhere in the schema."""
    if schema.get(_RULES):
        return True
    additional, items = schema.get("additionalProperties"), schema.get("items")
    inner = [*(schema.get("properties") or {}).values()]
    inner += [part for part in (additional, items) if isinstance(part, Mapping)]
    return any(has_rules(part) for part in inner)


def check(obj: Json, old: ApiObject | None, schema: Schema, causes: Causes) -> None:
    """Evaluate every rule whose place exists in the object."""
    _check(obj, _ABSENT if old is None else old, schema, "", causes)


def _check(value: Any, old: Any, schema: Schema, path: str, causes: Causes) -> None:
    if value is None or (old is not _ABSENT and value == old):
        return
    for rule in schema.get(_RULES) or ():
        _try(rule, value, old, schema, path, causes)
    if isinstance(value, Mapping):
        properties: Schema = schema.get("properties") or {}
        additional = schema.get("additionalProperties")
        for key, item in value.items():
            inner = properties.get(key, additional if isinstance(additional, Mapping) else None)
            if inner is not None:
                before = old.get(key, _ABSENT) if isinstance(old, Mapping) else _ABSENT
                where = f"{path}.{key}" if key in properties else f"{path}[{key}]"
                _check(item, before, inner, where.removeprefix("."), causes)
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        for index, item in enumerate(value):
            _check(item, _partner(item, old, keys), schema["items"], f"{path}[{index}]", causes)


def _partner(item: Any, old: Any, keys: Any) -> Any:
    """The stored item with the same keys."""
    if keys and isinstance(old, list):
        for other in old:
            if all(other.get(key) == item.get(key) for key in keys):
                return other
    return _ABSENT


def _try(rule: Schema, value: Any, old: Any, schema: Schema, path: str, causes: Causes) -> None:
    expression = rule["rule"]
    message = rule.get("message") or f"failed rule: {expression.strip()}"
    try:
        program = compile_expression(expression, ("self", "oldSelf"))
    except CelSyntaxError as error:
        _add(rule, schema, path, f"rule compile error: {error}", causes)
        return
    variables: Json = {"self": typed(value, schema)}
    if rule.get("optionalOldSelf"):
        variables["oldSelf"] = Optional() if old is _ABSENT else Optional((typed(old, schema),))
    elif "oldSelf" in program.names:
        if old is _ABSENT:
            return  # a rule about the change of a value that is new
        variables["oldSelf"] = typed(old, schema)
    try:
        held = program.evaluate(variables)
    except CelError as error:
        _add(rule, schema, path, f"{error} evaluating rule: {message}", causes)
        return
    if held is not True:
        _add(rule, schema, path, _message_of(rule, message, variables), causes)


def _message_of(rule: Schema, message: str, variables: Json) -> str:
    """The message expression's text if it gives one, else the message."""
    expression = rule.get("messageExpression")
    if not expression:
        return message
    try:
        text = compile_expression(expression, ("self", "oldSelf")).evaluate(variables)
    except (CelError, CelSyntaxError):
        return message
    return text.strip() if isinstance(text, str) and text.strip() and "\n" not in text.strip() else message


def _add(rule: Schema, schema: Schema, path: str, detail: str, causes: Causes) -> None:
    field = path + (rule.get("fieldPath") or "") or "<nil>"
    field = field.removeprefix(".")
    kind = quoted(schema.get("type", ""))
    reason = rule.get("reason") or "FieldValueInvalid"
    words = {
        "FieldValueInvalid": f"Invalid value: {kind}: {detail}",
        "FieldValueForbidden": f"Forbidden: {detail}",
        "FieldValueRequired": f"Required value: {detail}",
        "FieldValueDuplicate": f"Duplicate value: {kind}",
    }
    causes.append(Cause(reason, words.get(reason, words["FieldValueInvalid"]), field))


def typed(value: Any, schema: Schema | None) -> Any:
    """A JSON value as CEL sees it through the schema: times, doubles, escaped names."""
    if schema is None or value is None:
        return value
    if isinstance(value, Mapping):
        properties: Schema = schema.get("properties") or {}
        additional = schema.get("additionalProperties")
        other = additional if isinstance(additional, Mapping) else None
        return {
            escaped(key) if key in properties else key: typed(item, properties.get(key, other))
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [typed(item, schema.get("items")) for item in value]
    if isinstance(value, str):
        return _text(value, schema.get("format", ""))
    if isinstance(value, int) and not isinstance(value, bool) and schema.get("type") == "number":
        return float(value)
    return value


def _text(value: str, form: str) -> Any:
    try:
        if form == "date-time":
            return to_timestamp(value)
        if form == "duration":
            return to_duration(value)
    except CelError:
        return value
    return value.encode() if form == "byte" else value


def escaped(name: str) -> str:
    """The name of a field as expressions write it.

    >>> escaped("app.kubernetes.io/name"), escaped("plain")
    ('app__dot__kubernetes__dot__io__slash__name', 'plain')
    """
    if name in ("namespace", "if", "else", "for", "in", "true", "false", "null", "import", "package", "function"):
        return f"__{name}__"
    for sign, word in _ESCAPED:
        name = name.replace(sign, word)
    return name

"""Documents that people put into MongoDB: kept as plain values, found, changed and summed as the server does.

An ObjectId is `{"$oid": hex}`, a date `{"$date": text}`. Left out: indexes beyond `_id`, expressions but paths and
sums, geometry, text search, transactions. What is not understood is refused in the server's words.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cmp_to_key
from typing import Any

from simcluster.models.userland.regex import RegexError, compile_pattern

Document = dict[str, Any]
#: Order of kinds in comparisons (BSON comparison order).
_ORDER = ("null", "number", "string", "object", "array", "id", "bool", "date")
#: Characters of a pattern at most: the server has PCRE's limits, we have our own.
_PATTERN_MAX = 500


class DocumentError(Exception):
    """The server refuses; the text is its own."""


def kind_of(value: Any) -> str:
    """The BSON kind of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "id" if "$oid" in value else "date" if "$date" in value else "object"


def mark(value: Any) -> str:
    """A text that values have in common which the server takes for equal: 1 and 1.0, objects with the same fields.

    >>> mark(1) == mark(1.0), mark({"a": 1}) == mark({"a": 2}), mark(1) == mark("1"), mark(True) == mark(1)
    (True, False, False, False)
    """
    if isinstance(value, list):
        return f"[{','.join(map(mark, value))}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{name!r}:{mark(item)}" for name, item in value.items()) + "}"
    whole = isinstance(value, float) and value.is_integer()
    return repr(int(value)) if whole else repr(value)


def compare(one: Any, other: Any) -> int:
    """Below, equal to, or above 0, in the server's order."""
    kinds = (_ORDER.index(kind_of(one)), _ORDER.index(kind_of(other)))
    if kinds[0] != kinds[1]:
        return kinds[0] - kinds[1]
    if kinds[0] == _ORDER.index("object"):
        one, other = list(one.items()), list(other.items())
    elif kinds[0] in (5, 7):
        one, other = next(iter(one.values())), next(iter(other.values()))
    if isinstance(one, list):
        for left, right in zip(one, other, strict=False):
            below = compare(list(left), list(right)) if isinstance(left, tuple) else compare(left, right)
            if below:
                return below
        return len(one) - len(other)
    return 0 if one == other else -1 if one < other else 1


def values_at(doc: Any, path: str) -> list[Any]:
    """What lies at a dotted path; arrays are looked into."""
    if not path:
        return [doc]
    head, _, rest = path.partition(".")
    if isinstance(doc, list):
        if head.isdigit():
            return values_at(doc[int(head)], rest) if int(head) < len(doc) else []
        return [value for item in doc if isinstance(item, dict) for value in values_at(item, path)]
    if not isinstance(doc, dict) or head not in doc:
        return []
    return values_at(doc[head], rest)


def matches(doc: Document, wanted: Mapping[str, Any]) -> bool:
    """Whether a filter chooses a document. Raises DocumentError."""
    for name, condition in wanted.items():
        if name in ("$and", "$or", "$nor"):
            if not isinstance(condition, list) or not condition:
                raise DocumentError(f"{name} must be a nonempty array")
            found = [matches(doc, part) for part in condition]
            good = all(found) if name == "$and" else any(found) if name == "$or" else not any(found)
        elif name.startswith("$"):
            raise DocumentError(f"unknown top level operator: {name}. If you have a field name that starts with a '$' "
                                "symbol, consider using $getField or $setField.")  # fmt: skip
        else:
            good = _field(values_at(doc, name), condition)
        if not good:
            return False
    return True


def _field(values: list[Any], condition: Any) -> bool:
    if isinstance(condition, dict) and any(key.startswith("$") for key in condition) and kind_of(condition) == "object":
        return all(
            _operator(values, name, operand, condition) for name, operand in condition.items() if name != "$options"
        )
    return _equal(values, condition)


def _spread(values: Iterable[Any]) -> list[Any]:
    """Values, and the elements of those that are arrays."""
    found: list[Any] = []
    for value in values:
        found.append(value)
        if isinstance(value, list):
            found += value
    return found


def _equal(values: list[Any], wanted: Any) -> bool:
    if wanted is None and not values:
        return True
    return any(kind_of(value) == kind_of(wanted) and compare(value, wanted) == 0 for value in _spread(values))


def _operator(values: list[Any], name: str, operand: Any, whole: Mapping[str, Any]) -> bool:
    if name in ("$gt", "$gte", "$lt", "$lte"):
        same = [value for value in _spread(values) if kind_of(value) == kind_of(operand)]
        tests: dict[str, Callable[[int], bool]] = {
            "$gt": _above, "$gte": _not_below, "$lt": _below, "$lte": _not_above,
        }  # fmt: skip
        return any(tests[name](compare(value, operand)) for value in same)
    if name in ("$in", "$nin", "$all"):
        if not isinstance(operand, list):
            raise DocumentError(f"{name} needs an array")
        found = [_equal(values, one) for one in operand]
        return all(found) and bool(found) if name == "$all" else any(found) == (name == "$in")
    if name in ("$eq", "$ne"):
        return _equal(values, operand) == (name == "$eq")
    if name == "$exists":
        return bool(values) == bool(operand)
    if name == "$not":
        return not _field(values, operand)
    if name == "$size":
        return any(isinstance(value, list) and len(value) == operand for value in values)
    if name == "$type":
        names = {"number": ("number",), "int": ("number",), "double": ("number",), "objectId": ("id",)}
        return any(kind_of(value) in names.get(str(operand), (str(operand),)) for value in values)
    if name == "$elemMatch":
        arrays = [value for value in values if isinstance(value, list)]
        return any(isinstance(item, dict) and matches(item, operand) for value in arrays for item in value)
    if name == "$regex":
        return _matches_pattern(values, str(operand), str(whole.get("$options", "")))
    raise DocumentError(f"unknown operator: {name}")


def _above(order: int) -> bool:
    return order > 0


def _not_below(order: int) -> bool:
    return order >= 0


def _below(order: int) -> bool:
    return order < 0


def _not_above(order: int) -> bool:
    return order <= 0


def _matches_pattern(values: list[Any], text: str, options: str) -> bool:
    if len(text) > _PATTERN_MAX:
        raise DocumentError("Regular expression is invalid: regular expression is too large")
    try:
        pattern = compile_pattern(text, "E", ignore_case="i" in options)
    except RegexError as error:
        raise DocumentError(f"Regular expression is invalid: {error}") from None
    return any(isinstance(value, str) and pattern.search(value) is not None for value in _spread(values))


# Changing.


def changed(doc: Document, update: Mapping[str, Any]) -> Document:
    """A document after an update. Raises DocumentError."""
    if not any(name.startswith("$") for name in update):
        return {"_id": doc.get("_id"), **{name: value for name, value in update.items() if name != "_id"}}
    after = copy.deepcopy(doc)
    for name, fields in update.items():
        if name not in _UPDATES:
            raise DocumentError(f"Unknown modifier: {name}. Expected a valid update modifier or pipeline-style update "
                                "specified as an array")  # fmt: skip
        if not isinstance(fields, dict):
            said = f"Modifiers operate on fields but we found type {kind_of(fields)} instead."
            raise DocumentError(f"{said} For example: {{$mod: {{<field>: ...}}}} not {{{name}: {fields!r}}}")
        for path, operand in fields.items():
            if path == "_id" and after.get("_id") != operand:
                raise DocumentError("Performing an update on the path '_id' would modify the immutable field '_id'")
            _change(after, name, path, operand)
    return after


_UPDATES = ("$set", "$unset", "$inc", "$mul", "$min", "$max", "$push", "$addToSet", "$pull", "$rename", "$setOnInsert")


def _change(doc: Document, name: str, path: str, operand: Any) -> None:
    if name == "$setOnInsert":
        return
    holder, last = _holder(doc, path, make=name not in ("$unset", "$pull", "$rename"))
    if holder is None:
        return
    before = holder.get(last)
    if name == "$set":
        holder[last] = copy.deepcopy(operand)
    elif name == "$unset":
        holder.pop(last, None)
    elif name in ("$inc", "$mul"):
        if before is not None and kind_of(before) != "number":
            what = f"{{_id: {doc.get('_id')}}} has the field '{last}' of non-numeric type {kind_of(before)}"
            raise DocumentError(f"Cannot apply {name} to a value of non-numeric type. {what}")
        if kind_of(operand) != "number":
            verb = "increment" if name == "$inc" else "multiply"
            raise DocumentError(f"Cannot {verb} with non-numeric argument: {{{path}: {operand!r}}}")
        holder[last] = (before or 0) + operand if name == "$inc" else (before or 0) * operand
    elif name in ("$min", "$max"):
        order = compare(operand, before) if last in holder else -1 if name == "$min" else 1
        if (order < 0) == (name == "$min") and order:
            holder[last] = operand
    elif name == "$rename":
        if last in holder:
            _change(doc, "$set", str(operand), holder.pop(last))
    else:
        _change_array(holder, last, name, operand)


def _change_array(holder: Document, last: str, name: str, operand: Any) -> None:
    held = holder.get(last, [])
    if not isinstance(held, list):
        raise DocumentError(f"The field '{last}' must be an array but is of type {kind_of(held)} in document")
    added = operand["$each"] if isinstance(operand, dict) and "$each" in operand else [operand]
    if name == "$push":
        holder[last] = [*held, *added]
    elif name == "$addToSet":
        holder[last] = [*held, *(one for one in added if not _equal(held, one))]
    elif last in holder:
        plain = isinstance(operand, dict) and not any(key.startswith("$") for key in operand)
        holder[last] = [
            one
            for one in held
            if not (isinstance(one, dict) and matches(one, operand) if plain else _field([one], operand))
        ]


def _holder(doc: Document, path: str, *, make: bool) -> tuple[Document | None, str]:
    """The object in which the last step of a path lies."""
    *steps, last = path.split(".")
    holder: Any = doc
    for step in steps:
        if not isinstance(holder, dict):
            raise DocumentError(f"Cannot create field '{last}' in element {{{step}: {holder!r}}}")
        if step not in holder and not make:
            return None, last
        holder = holder.setdefault(step, {})
    if not isinstance(holder, dict):
        raise DocumentError(f"Cannot create field '{last}' in element {{{steps[-1] if steps else ''}: {holder!r}}}")
    return holder, last


# Looking.


def ordered(docs: list[Document], keys: Mapping[str, Any]) -> list[Document]:
    """Documents by fields: 1 upwards, -1 downwards."""
    found = list(docs)
    for path, way in reversed(list(keys.items())):
        found.sort(key=cmp_to_key(_At(path)), reverse=way in (-1, "desc", "descending"))
    return found


class _At:
    """Compares documents by what lies at a path."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, one: Document, other: Document) -> int:
        """Their order."""
        left, right = ((values_at(doc, self.path) or [None])[0] for doc in (one, other))
        return compare(left, right)


def projected(doc: Document, fields: Mapping[str, Any]) -> Document:
    """The chosen fields of a document. Raises DocumentError."""
    if not fields:
        return doc
    keeps = [bool(way) for name, way in fields.items() if name != "_id" and not isinstance(way, str | dict)]
    if len(set(keeps)) > 1:
        raise DocumentError("Cannot do exclusion on field in inclusion projection")
    if (keeps and not keeps[0]) or (not keeps and not fields.get("_id", 1) and len(fields) == 1):
        return {name: value for name, value in doc.items() if fields.get(name, 1)}
    found: Document = {"_id": doc["_id"]} if fields.get("_id", 1) and "_id" in doc else {}
    for name, way in fields.items():
        if name == "_id":
            if isinstance(way, str):
                found["_id"] = value_of(doc, way)
        elif isinstance(way, str | dict):
            found[name] = value_of(doc, way)
        elif way:
            values = values_at(doc, name)
            if values:
                holder, last = _holder(found, name, make=True)
                assert holder is not None
                holder[last] = values[0]
    return found


def value_of(doc: Document, expression: Any) -> Any:
    """What an expression of a pipeline comes to. Raises DocumentError."""
    if isinstance(expression, str) and expression.startswith("$"):
        values = values_at(doc, expression.lstrip("$"))
        return values[0] if len(values) == 1 else values or None
    if isinstance(expression, dict) and kind_of(expression) == "object":
        names = [name for name in expression if name.startswith("$")]
        if not names:
            return {name: value_of(doc, part) for name, part in expression.items()}
        if names[0] not in ("$add", "$multiply", "$subtract", "$concat", "$size", "$toUpper", "$toLower"):
            raise DocumentError(f"Unrecognized expression '{names[0]}'")
        given = expression[names[0]]
        parts = [value_of(doc, part) for part in (given if isinstance(given, list) else [given])]
        return _computed(names[0], parts)
    return expression


def _computed(name: str, parts: list[Any]) -> Any:
    if name == "$concat":
        return "".join(map(str, parts)) if all(isinstance(part, str) for part in parts) else None
    if name == "$size":
        if not isinstance(parts[0], list):
            raise DocumentError(f"The argument to $size must be an array, but was of type: {kind_of(parts[0])}")
        return len(parts[0])
    if name in ("$toUpper", "$toLower"):
        text = str(parts[0] or "")
        return text.upper() if name == "$toUpper" else text.lower()
    if any(part is None for part in parts):
        return None
    if any(kind_of(part) != "number" for part in parts):
        raise DocumentError(f"{name} only supports numeric or date types")
    total = parts[0]
    for part in parts[1:]:
        total = total + part if name == "$add" else total * part if name == "$multiply" else total - part
    return total


def aggregated(docs: list[Document], stages: Any) -> list[Document]:
    """What a pipeline makes of documents. Raises DocumentError."""
    if not isinstance(stages, list):
        stages = [stages]
    for stage in stages:
        if not isinstance(stage, dict) or len(stage) != 1:
            raise DocumentError("A pipeline stage specification object must contain exactly one field.")
        name, given = next(iter(stage.items()))
        if name == "$match":
            docs = [doc for doc in docs if matches(doc, given)]
        elif name == "$sort":
            docs = ordered(docs, given)
        elif name in ("$limit", "$skip"):
            docs = docs[: int(given)] if name == "$limit" else docs[int(given) :]
        elif name in ("$project", "$addFields", "$set"):
            docs = [
                projected(doc, given)
                if name == "$project"
                else {**doc, **{key: value_of(doc, part) for key, part in given.items()}}
                for doc in docs
            ]
        elif name == "$count":
            docs = [{str(given): len(docs)}] if docs else []
        elif name == "$unwind":
            path = (given["path"] if isinstance(given, dict) else given).lstrip("$")
            docs = [
                {**doc, path: item}
                for doc in docs
                for value in values_at(doc, path)
                for item in (value if isinstance(value, list) else [value])
            ]
        elif name == "$group":
            docs = _grouped(docs, given)
        elif name == "$sortByCount":
            docs = ordered(_grouped(docs, {"_id": given, "count": {"$sum": 1}}), {"count": -1})
        else:
            raise DocumentError(f"Unrecognized pipeline stage name: '{name}'")
    return docs


def _grouped(docs: list[Document], given: Mapping[str, Any]) -> list[Document]:
    if "_id" not in given:
        raise DocumentError("a group specification must include an _id")
    groups: dict[str, tuple[Any, list[Document]]] = {}
    for doc in docs:
        key = value_of(doc, given["_id"])
        groups.setdefault(mark(key), (key, []))[1].append(doc)
    found = []
    for key, members in groups.values():
        made: Document = {"_id": key}
        for name, spec in given.items():
            if name != "_id":
                made[name] = _accumulated(name, spec, members)
        found.append(made)
    return found


def _accumulated(name: str, spec: Any, members: list[Document]) -> Any:
    if not isinstance(spec, dict) or len(spec) != 1:
        raise DocumentError(f"The field '{name}' must be an accumulator object")
    how, expression = next(iter(spec.items()))
    if how == "$count":
        return len(members)
    values = [value_of(doc, expression) for doc in members]
    numbers = [value for value in values if kind_of(value) == "number"]
    if how == "$sum":
        total: float = 0
        for number in numbers:
            total += number
        return total
    if how == "$avg":
        total = 0
        for number in numbers:
            total += number
        return total / len(numbers) if numbers else None
    if how in ("$min", "$max"):
        there = sorted((value for value in values if value is not None), key=cmp_to_key(compare))
        return (there[0] if how == "$min" else there[-1]) if there else None
    if how in ("$first", "$last"):
        return values[0] if how == "$first" else values[-1]
    if how == "$push":
        return values
    if how == "$addToSet":
        unique: dict[str, Any] = {}
        for value in values:
            unique.setdefault(mark(value), value)
        return list(unique.values())
    raise DocumentError(f"unknown group operator '{how}'")


# Printing.


def inspected(value: Any, depth: int = 0) -> str:
    """A value as mongosh prints it (util.inspect of Node.js, lines of at most 72 characters)."""
    if isinstance(value, dict) and kind_of(value) == "id":
        return f"ObjectId('{value['$oid']}')"
    if isinstance(value, dict) and kind_of(value) == "date":
        return f"ISODate('{value['$date']}')"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float):
        return str(int(value)) if value == int(value) and abs(value) < 1e21 else repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        quote = '"' if "'" in value and '"' not in value else "'"
        inner = value.replace("\\", "\\\\").replace("\n", "\\n")
        return quote + (inner.replace("'", "\\'") if quote == "'" else inner) + quote
    if isinstance(value, list):
        parts, ends = [inspected(item, depth + 1) for item in value], "[]"
    else:
        plain = re.compile(r"[A-Za-z_$][\w$]*\Z")
        parts = [
            f"{name if plain.match(name) else inspected(name)}: {inspected(item, depth + 1)}"
            for name, item in value.items()
        ]
        ends = "{}"
    if not parts:
        return ends
    # util.inspect: up to three levels on one line of 80, less what its estimate sets aside.
    length = sum(map(len, parts)) + len(parts) * 2 + depth * 2 + 11  # integers
    if length <= 80 and _levels(value) <= 3 and not any("\n" in part for part in parts):
        return f"{ends[0]} {', '.join(parts)} {ends[1]}"
    indent = "  " * (depth + 1)
    return f"{ends[0]}\n{indent}" + f",\n{indent}".join(parts) + "\n" + "  " * depth + ends[1]


def _levels(value: Any) -> int:
    if isinstance(value, dict) and kind_of(value) != "object":
        return 0
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (1 + max(map(_levels, inner), default=0)) if isinstance(value, dict | list) else 0


def plain(value: Any) -> str:
    """A value as the old shell prints it where it prints many: on one line."""
    if not isinstance(value, list | dict) or kind_of(value) in ("id", "date"):
        return _scalar(value)
    if isinstance(value, list):
        return f"[ {', '.join(map(plain, value))} ]" if value else "[ ]"
    return f"{{ {', '.join(f'{json.dumps(name)} : {plain(item)}' for name, item in value.items())} }}"


def tojson(value: Any) -> str:
    r"""A value as the old shell prints it: with tabs, and on one line if it has less than 80 characters.

    >>> tojson({"ok": 1, "a": []}), tojson({"a": "x" * 80, "b": {}}).replace("x" * 80, "x")
    ('{ "ok" : 1, "a" : [ ] }', '{\n\t"a" : "x",\n\t"b" : {\n\t\t\n\t}\n}')
    """
    text = _indented(value, "")
    return re.sub(r"[\t\r\n]+", " ", text) if len(text) < 80 else text


def _indented(value: Any, indent: str) -> str:
    if not isinstance(value, list | dict) or kind_of(value) in ("id", "date"):
        return _scalar(value)
    inner = indent + "\t"
    if isinstance(value, list):
        if not value:
            return "[ ]"
        parts, ends = [f"{inner}{_indented(one, inner)}" for one in value], "[]"
    else:
        parts = [f"{inner}{json.dumps(name)} : {_indented(one, inner)}" for name, one in value.items()] or [inner]
        ends = "{}"
    return f"{ends[0]}\n" + ",\n".join(parts) + f"\n{indent}{ends[1]}"


def _scalar(value: Any) -> str:
    """A value that is no object, as the old shell prints it."""
    if isinstance(value, dict):
        return f'ObjectId("{value["$oid"]}")' if "$oid" in value else f'ISODate("{value["$date"]}")'
    return json.dumps(value, ensure_ascii=False)

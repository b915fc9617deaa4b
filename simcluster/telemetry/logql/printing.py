"""A LogQL tree as text: on one line (`String` of Loki's expressions), or broken where it is long (`Prettify`).

Source: pkg/logql/syntax (ast.go, prettier.go) and the texts of label filters (pkg/logql/log/label_filter.go) of Loki 3.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from simcluster.telemetry.logql import syntax
from simcluster.telemetry.logql.binary import applied
from simcluster.telemetry.logql.units import go_duration
from simcluster.telemetry.promql import text
from simcluster.telemetry.promql.storage import Matcher

#: `maxCharsPerLine`: what is longer is broken.
_LINE = 100
_INDENT = "  "
_EXCLUDING = ("!=", "!~", "!>")
_RANKING = ("topk", "bottomk", "approx_topk")
_GROUPS = {"left": "group_left", "right": "group_right"}


def quoted(value: str) -> str:
    """A string as Go quotes it.

    >>> quoted('a"b')
    '"a\\\\"b"'
    """
    return json.dumps(value, ensure_ascii=False)


def shown(node: syntax.Query) -> str:
    """A query on one line.

    >>> from simcluster.telemetry.logql.parsing import parse
    >>> shown(parse('sum(rate({a="b"}|="c"|json[1m]))by(d)/ 2'))
    '(sum by (d)(rate({a="b"} |= "c" | json[1m])) / 2)'
    """
    if isinstance(node, syntax.Selection):
        return " ".join([_selector(node), *(stage(one) for one in node.stages)])
    if isinstance(node, syntax.Number):
        return _number(node.value)
    if isinstance(node, syntax.Vector):
        return f"vector({node.value:f})"
    if isinstance(node, syntax.Binary):
        whole = _folded(node)
        return (
            _number(whole) if whole is not None else f"({shown(node.left)} {_operator(node, ',')} {shown(node.right)})"
        )
    if isinstance(node, syntax.RangeAggregation):
        return _over_time(node)
    if isinstance(node, syntax.LabelReplace):
        return f"label_replace({','.join([shown(node.inner), *_replacement(node)])})"
    inside = [f"{node.parameter:.0f}"] if node.op in _RANKING else []
    return f"{node.op}{_by(node.grouping, ',')}({','.join([*inside, shown(node.inner)])})"


def pretty(node: syntax.Query, level: int = 0) -> str:
    """A query, each part on a line of its own if it is long."""
    indent, line = _INDENT * level, shown(node)
    if len(line) <= _LINE or isinstance(node, syntax.Number | syntax.Vector):
        return indent + line
    if isinstance(node, syntax.Selection):
        return _selection(node, level)
    if isinstance(node, syntax.Binary):
        if _folded(node) is not None:
            return indent + line
        return f"{pretty(node.left, level + 1)}\n{indent}{_operator(node, ', ')}\n{pretty(node.right, level + 1)}"
    inner, deeper = level + 1, _INDENT * (level + 1)
    if isinstance(node, syntax.RangeAggregation):
        parameter = [f"{deeper}{_number(node.parameter)},"] if node.op == "quantile_over_time" else []
        parts = [f"{indent}{node.op}(", *parameter, _range(node, inner), f"{indent})"]
        return "\n".join(parts) + _by(node.grouping, ", ", pretty=True)
    if isinstance(node, syntax.LabelReplace):
        arguments = [pretty(node.inner, inner), *(deeper + one for one in _replacement(node))]
        return "\n".join([f"{indent}label_replace(", ",\n".join(arguments), f"{indent})"])
    arguments = [f"{deeper}{node.parameter:.0f}"] if node.op in _RANKING else []
    arguments.append(pretty(node.inner, inner))
    return "\n".join(
        [f"{indent}{node.op}{_by(node.grouping, ', ', pretty=True)}(", ",\n".join(arguments), f"{indent})"]
    )


def _folded(node: syntax.Binary) -> float | None:
    """What an operation on numbers is: Loki's parser leaves only that."""
    left, right = (_constant(side) for side in (node.left, node.right))
    if left is None or right is None:
        return None
    found = applied(node, left, right)
    return found if isinstance(found, float) else None


def _constant(node: syntax.Metric) -> float | None:
    return _folded(node) if isinstance(node, syntax.Binary) else node.value if isinstance(node, syntax.Number) else None


def _number(value: float) -> str:
    """As Go's `%v` prints a float."""
    return text.decimal(value) if value == 0 or 1e-4 <= abs(value) < 1e21 else text.scientific(value)


def _selector(node: syntax.Selection) -> str:
    return "{" + ", ".join(_matcher(one) for one in node.matchers) + "}"


def _matcher(one: Matcher) -> str:
    return f"{one.name}{one.op}{quoted(one.value)}"


def _selection(node: syntax.Selection, level: int) -> str:
    lines, filters = [_INDENT * level + _selector(node)], list[str]()
    for one in (*node.stages, None):
        if isinstance(one, syntax.LineFilter):
            filters += _filters(one)
            continue
        if filters:
            whole = " ".join(filters)
            lines += [_INDENT * (level + 1) + each for each in (filters if len(whole) > _LINE else [whole])]
            filters = []
        if one is not None:
            lines.append((_INDENT * (level + 1) if not isinstance(one, syntax.Decolorize) else "") + stage(one))
    return "\n".join(lines)


def _filters(one: syntax.LineFilter) -> list[str]:
    """A line filter; none of several alternatives is each of them excluded."""
    texts = [f"ip({quoted(found)})" if is_address else quoted(found) for found, is_address in one.texts]
    if one.op in _EXCLUDING:
        return [f"{one.op} {each}" for each in texts]
    return [f"{one.op} {' or '.join(texts)}"]


def stage(one: syntax.Stage) -> str:
    """A stage of a pipeline."""
    if isinstance(one, syntax.LineFilter):
        return " ".join(_filters(one))
    if isinstance(one, syntax.LabelParser):
        given = [quoted(one.text)] if one.kind in ("regexp", "pattern") else []
        fields = [",".join(f"{name}={quoted(source)}" for name, source in one.fields)] if one.fields else []
        return " ".join([f"| {one.kind}", *sorted(one.flags, reverse=True), *given, *fields])
    if isinstance(one, syntax.Condition | syntax.Both):
        return f"| {label_filter(one)}"
    if isinstance(one, syntax.LineFormat):
        return f"| line_format {quoted(one.template)}"
    if isinstance(one, syntax.LabelFormat):
        formats = [f"{name}={quoted(source) if is_template else source}" for name, source, is_template in one.formats]
        return f"| label_format {','.join(formats)}"
    if isinstance(one, syntax.Choice):
        return f"| {one.word} {','.join(name if found is None else _matcher(found) for name, found in one.labels)}"
    return "| decolorize"


def label_filter(one: syntax.LabelFilter) -> str:
    """A condition on labels."""
    if isinstance(one, syntax.Both):
        between = " or " if one.word == "or" else " , "
        return f"( {label_filter(one.left)}{between}{label_filter(one.right)} )"
    if one.kind in ("string", "ip"):
        value = quoted(str(one.value))
        return f"{one.name}{one.op}{value if one.kind == 'string' else f'ip({value})'}"
    number = float(one.value)
    if one.kind == "duration":
        return f"{one.name}{one.op}{go_duration(int(number))}"
    return f"{one.name}{one.op}{_bytes(int(number)) if one.kind == 'bytes' else text.decimal(number)}"


def _bytes(size: int) -> str:
    """As go-humanize prints it, without the space."""
    units = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
    at, scaled = 0, float(size)
    while scaled >= 1000 and at < len(units) - 1:
        at, scaled = at + 1, scaled / 1000
    rounded = int(scaled * 10 + 0.5) / 10
    return f"{rounded:.1f}{units[at]}" if at and rounded < 10 else f"{rounded:.0f}{units[at]}"


def _operator(node: syntax.Binary, between: str) -> str:
    matching = node.matching
    word = f"{node.op} bool" if matching.bool_result else node.op
    if not matching.on and not matching.labels:
        return word
    group = _GROUPS.get(matching.card, "")
    if matching.include:
        group += f" ({between.join(matching.include)})"
    return f"{word} {'on' if matching.on else 'ignoring'} ({between.join(matching.labels)}) {group}"


def _by(grouping: syntax.Grouping | None, between: str, *, pretty: bool = False) -> str:
    if grouping is None or (not grouping.labels and (pretty or not grouping.without)):
        return " without" if pretty and grouping is not None and grouping.without else ""
    return f" {'without' if grouping.without else 'by'} ({between.join(grouping.labels)})"


def _replacement(node: syntax.LabelReplace) -> Sequence[str]:
    return [quoted(each) for each in (node.target, node.replacement, node.source, node.pattern)]


def _over_time(node: syntax.RangeAggregation) -> str:
    parameter = f"{text.decimal(node.parameter)}," if node.op == "quantile_over_time" else ""
    unwrap = ""
    if node.unwrap is not None:
        unwrap = " " + " ".join([_unwrap(node.unwrap), *(f"| {label_filter(one)}" for one in node.unwrap.filters)])
    span = f"[{text.duration(node.range_ns // 1_000_000)}]"
    offset = f" offset {go_duration(node.offset_ns)}" if node.offset_ns else ""
    return f"{node.op}({parameter}{shown(node.selection)}{unwrap}{span}{offset}){_by(node.grouping, ',')}"


def _unwrap(one: syntax.Unwrap) -> str:
    return f"| unwrap {f'{one.conversion}({one.label})' if one.conversion else one.label}"


def _range(node: syntax.RangeAggregation, level: int) -> str:
    found, deeper = pretty(node.selection, level), _INDENT * (level + 1)
    if node.unwrap is not None:
        rest = [f"| {label_filter(one)}" for one in node.unwrap.filters]
        found = "\n".join([found, *(deeper + each for each in (_unwrap(node.unwrap), *rest))])
    found += f" [{text.duration(node.range_ns // 1_000_000)}]"
    return found + (f" offset {text.duration(node.offset_ns // 1_000_000)}" if node.offset_ns else "")

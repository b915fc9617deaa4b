"""Templates of labels and annotations, expanded for an alert."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from simcluster.telemetry.promql import regex
from simcluster.telemetry.promql.tokens import duration_ms
from simcluster.telemetry.rules import humanize
from simcluster.telemetry.rules.templatesyntax import Block, Node, Pipeline, Print, TemplateError, Term, Text, parsed

#: Answers `{{ query "…" }}`: labels and value of each sample.
Ask: TypeAlias = Callable[[str], Sequence[tuple[Mapping[str, str], float]]]


class Facts(NamedTuple):
    """What a template sees.

    Attributes:
        labels: of the sample, without its name.
        external: labels of the server.
    """

    name: str
    labels: Mapping[str, str]
    value: float
    external: Mapping[str, str]
    ask: Ask
    url: str = ""


def expanded(source: str, facts: Facts) -> str:
    """The text of a template; of one that fails, what Prometheus shows instead.

    >>> facts = Facts("Down", {"pod": "a"}, 0.25, {}, lambda text: [])
    >>> expanded("{{ $labels.pod }}: {{ $value | humanizePercentage }}{{ if gt $value 0.1 }}!{{ end }}", facts)
    'a: 25%!'
    """
    if "{{" not in source:
        return source
    try:
        nodes = parsed(source)
    except TemplateError as error:
        return f"<error expanding template: error parsing template __alert_{facts.name}: template: {error}>"
    dot = {"Labels": dict(facts.labels), "Value": facts.value, "ExternalLabels": dict(facts.external)}
    dot["ExternalURL"] = facts.url
    scope: dict[str, Any] = {
        "$": dot,
        "$labels": dot["Labels"],
        "$value": facts.value,
        "$externalLabels": dot["ExternalLabels"],
        "$externalURL": facts.url,
    }
    try:
        return Execution(facts).nodes(nodes, dot, scope)
    except (TemplateError, TypeError, ValueError, IndexError, KeyError, OverflowError, RecursionError) as error:
        return f"<error expanding template: error executing template __alert_{facts.name}: template: {error}>"


class Execution:
    """The nodes of a template, carried out."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def nodes(self, nodes: Sequence[Node], dot: Any, scope: dict[str, Any]) -> str:
        """What is printed."""
        out = []
        for node in nodes:
            if isinstance(node, Text):
                out.append(node.text)
            elif isinstance(node, Print):
                value = self.pipeline(node.pipeline, dot, scope)
                if node.variable:
                    scope[node.variable] = value
                else:
                    out.append(humanize.plain(value))
            else:
                out.append(self.block(node, dot, dict(scope)))
        return "".join(out)

    def block(self, node: Block, dot: Any, scope: dict[str, Any]) -> str:
        """What `if`, `with` or `range` prints."""
        value = self.pipeline(node.pipeline, dot, scope)
        if node.kind == "range":
            return self.repeat(node, value, dot, scope)
        if node.variables:
            scope[node.variables[0]] = value
        if not truth(value):
            return self.nodes(node.otherwise, dot, scope)
        return self.nodes(node.body, value if node.kind == "with" else dot, scope)

    def repeat(self, node: Block, value: Any, dot: Any, scope: dict[str, Any]) -> str:
        """What `range` prints."""
        pairs = sorted(value.items()) if isinstance(value, dict) else list(enumerate(value or []))
        if not pairs:
            return self.nodes(node.otherwise, dot, scope)
        out = []
        for key, each in pairs:
            inner = dict(scope)
            if node.variables:
                inner[node.variables[-1]] = each
            if len(node.variables) == 2:
                inner[node.variables[0]] = key
            out.append(self.nodes(node.body, each, inner))
        return "".join(out)

    def pipeline(self, pipeline: Pipeline, dot: Any, scope: dict[str, Any]) -> Any:
        """The value of the last command."""
        passed: list[Any] = []
        for command in pipeline:
            head, *rest = command
            if head.kind == "function":
                args = [self.term(each, dot, scope) for each in rest]
                passed = [self.call(str(head.value), [*args, *passed])]
            elif rest or passed:
                raise TemplateError(f"can't give argument to non-function {head.value}")
            else:
                passed = [self.term(head, dot, scope)]
        return passed[0]

    def term(self, term: Term, dot: Any, scope: dict[str, Any]) -> Any:
        """The value of an operand."""
        if term.kind == "literal":
            return term.value
        if term.kind == "function":
            return self.call(str(term.value), [])
        if term.kind == "pipeline":
            assert isinstance(term.value, tuple)
            value = self.pipeline(term.value, dot, scope)
        elif term.kind == "variable":
            if term.value not in scope:
                raise TemplateError(f'undefined variable "{term.value}"')
            value = scope[str(term.value)]
        else:
            value = dot
        for name in term.path:
            if not isinstance(value, dict):
                raise TemplateError(f"can't evaluate field {name} in type {type(value).__name__}")
            value = value.get(name, "")
        return value

    def call(self, name: str, args: list[Any]) -> Any:
        """What a function gives; who has others overrides it."""
        if name == "query":
            return [{"Labels": dict(labels), "Value": value} for labels, value in self.facts.ask(str(args[0]))]
        if name in ("externalURL", "pathPrefix"):
            return self.facts.url if name == "externalURL" else ""
        function = FUNCTIONS.get(name)
        if function is None:
            raise TemplateError(f'function "{name}" not defined')
        return function(*args)


def truth(value: Any) -> bool:
    """What Go's templates take as true: anything that is not empty."""
    return bool(value)


def _number(value: Any) -> float:
    if isinstance(value, str):
        return float(value)
    return float(value)


def _equal(first: Any, *others: Any) -> bool:
    return any(first == other for other in others)


def _and(*values: Any) -> Any:
    return next((value for value in values if not truth(value)), values[-1])


def _or(*values: Any) -> Any:
    return next((value for value in values if truth(value)), values[-1])


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        value = value.get(key, "") if isinstance(value, dict) else value[key]
    return value


def _first(samples: Any) -> Any:
    if not samples:
        raise TemplateError("first() called on vector with no elements")
    return samples[0]


def _replace_all(pattern: str, replacement: str, value: str) -> str:
    out, at = [], 0
    for match in regex.anywhere(pattern).finditer(value):
        out += [value[at : match.start()], regex.expand(replacement, match)]
        at = match.end()
    return "".join(out) + value[at:]


def _title(value: str) -> str:
    return re.sub(r"\b\w", lambda match: match[0].upper(), value)


def _strip_port(value: str) -> str:
    return value.rpartition(":")[0].strip("[]") if re.search(r":\d+$", value) else value


def _strip_domain(value: str) -> str:
    host, colon, port = value.partition(":")
    if re.fullmatch(r"[\d.]+", host):
        return value
    return host.partition(".")[0] + colon + port


def _sorted_by(name: str, samples: Any) -> Any:
    return sorted(samples, key=lambda each: each["Labels"].get(name, ""))


def _human(function: Callable[[float], str]) -> Callable[[Any], str]:
    def applied(value: Any) -> str:
        return function(_number(value))

    return applied


def _args(*values: Any) -> dict[str, Any]:
    return {f"arg{index}": value for index, value in enumerate(values)}


def _print(*args: Any) -> str:
    return "".join(humanize.plain(each) for each in args)


def _println(*args: Any) -> str:
    return " ".join(humanize.plain(each) for each in args) + "\n"


def _printf(form: str, *args: Any) -> str:
    return humanize.printf(form, list(args))


def _matches(pattern: str, value: str) -> bool:
    return regex.anywhere(pattern).search(value) is not None


def _seconds(value: str) -> float:
    return duration_ms(value) / 1000


def _join(separator: str, values: Sequence[str]) -> str:
    return separator.join(values)


def _value(sample: Any) -> Any:
    return sample["Value"]


def _label(name: str, sample: Any) -> Any:
    return sample["Labels"].get(name, "")


def _string_value(sample: Any) -> Any:
    return sample["Labels"].get("__value__", "")


def _same(value: Any) -> Any:
    return value


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "humanize": _human(humanize.humanize),
    "humanize1024": _human(humanize.humanize1024),
    "humanizeDuration": _human(humanize.humanize_duration),
    "humanizePercentage": _human(humanize.humanize_percentage),
    "humanizeTimestamp": _human(humanize.humanize_timestamp),
    "printf": _printf, "print": _print, "println": _println, "join": _join, "args": _args, "safeHtml": _same,
    "toUpper": str.upper, "toLower": str.lower, "title": _title, "match": _matches, "reReplaceAll": _replace_all,
    "stripPort": _strip_port, "stripDomain": _strip_domain, "parseDuration": _seconds,
    "first": _first, "value": _value, "label": _label, "strvalue": _string_value, "sortByLabel": _sorted_by,
    "len": len, "index": _index, "and": _and, "or": _or, "not": operator.not_, "eq": _equal, "ne": operator.ne,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip

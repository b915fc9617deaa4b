"""Rule files: YAML of Prometheus, checked in its words (`model/rulefmt`)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

import yaml

from simcluster.telemetry.promql import regex
from simcluster.telemetry.promql.parsing import parse
from simcluster.telemetry.promql.tokens import ParseError, duration_ms
from simcluster.telemetry.rules.templatesyntax import TemplateError, parsed

_GROUP = ("name", "interval", "query_offset", "limit", "rules", "labels")
_RULE = ("record", "alert", "expr", "for", "keep_firing_for", "labels", "annotations")
_DURATION = re.compile(r"(?=\d)(?:\d+y)?(?:\d+w)?(?:\d+d)?(?:\d+h)?(?:\d+m(?!s))?(?:\d+s)?(?:\d+ms)?|0")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class RuleFileError(ValueError):
    """What is wrong with a rule file, one line each, as `promtool check rules` says it."""


class Rule(NamedTuple):
    """A rule: of a recording rule `name` is the metric, of an alerting rule the alert.

    Attributes:
        labels, annotations: templates; those of the group are among the labels.
    """

    alerting: bool
    name: str
    expr: str
    for_ms: int
    keep_firing_for_ms: int
    labels: dict[str, str]
    annotations: dict[str, str]


class RuleGroup(NamedTuple):
    """Rules that are evaluated one after the other at one instant; `interval_ms` 0 for the server's own."""

    name: str
    file: str
    interval_ms: int
    limit: int
    offset_ms: int
    rules: tuple[Rule, ...]


@lru_cache(maxsize=64)  # servers of all worlds of a process read the same few files
def load(source: str, file: str) -> tuple[RuleGroup, ...]:
    """The groups of a file.

    Raises:
        RuleFileError: something in it is wrong.
    """
    try:
        root = yaml.compose(source, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise RuleFileError(f"{file}: yaml: {str(error).splitlines()[0]}") from None
    if root is None:
        return ()
    reader = _Reader(file)
    groups = reader.file(root)
    if reader.wrong:
        raise RuleFileError("\n".join(reader.wrong))
    return tuple(groups)


class _Reader:
    def __init__(self, file: str) -> None:
        self.file_name = file
        self.wrong: list[str] = []

    def say(self, message: str, node: yaml.Node | None = None) -> None:
        where = "" if node is None else f"{node.start_mark.line + 1}:{node.start_mark.column + 1}: "
        if isinstance(node, yaml.MappingNode) and message.startswith("group "):
            where = "0:0: "  # a rule without a name
        self.wrong.append(f"{self.file_name}: {where}{message}")

    def mapping(self, node: yaml.Node, allowed: tuple[str, ...], kind: str) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            shown = getattr(node, "value", "") if isinstance(node, yaml.ScalarNode) else node.tag.rpartition(":")[2]
            line = node.start_mark.line + 1
            self.say(f"yaml: unmarshal errors:\n  line {line}: cannot unmarshal !!str `{shown}` into {kind}")
            return {}
        found = {}
        for key, value in node.value:
            name = str(key.value)
            if name not in allowed:
                line = key.start_mark.line + 1
                self.say(f"yaml: unmarshal errors:\n  line {line}: field {name} not found in type {kind}")
            found[name] = value
        return found

    def items(self, node: yaml.Node | None) -> list[yaml.Node]:
        return list(node.value) if isinstance(node, yaml.SequenceNode) else []

    def file(self, root: yaml.Node) -> list[RuleGroup]:
        groups, names = [], set()
        for node in self.items(self.mapping(root, ("groups",), "rulefmt.RuleGroups").get("groups")):
            fields = self.mapping(node, _GROUP, "rulefmt.RuleGroup")
            name = text(fields.get("name"))
            if not name:
                self.say("Groupname must not be empty", node)
            if name in names:
                self.say(f'groupname: "{name}" is repeated in the same file', node)
            names.add(name)
            shared = self.texts(fields.get("labels"))
            rules = [
                self.rule(each, name, index + 1, shared) for index, each in enumerate(self.items(fields.get("rules")))
            ]
            limit = text(fields.get("limit"))
            groups.append(
                RuleGroup(
                    name,
                    self.file_name,
                    self.duration(fields.get("interval")),
                    int(limit) if limit.isdigit() else 0,
                    self.duration(fields.get("query_offset")),
                    tuple(rules),
                )
            )
        return groups

    def texts(self, node: yaml.Node | None) -> dict[str, str]:
        return {str(key.value): text(value) for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}

    def duration(self, node: yaml.Node | None) -> int:
        value = text(node)
        if not value:
            return 0
        if _DURATION.fullmatch(value) is None:
            self.say(f'not a valid duration string: "{value}"')
            return 0
        return duration_ms(value)

    def rule(self, node: yaml.Node, group: str, number: int, shared: dict[str, str]) -> Rule:
        fields = self.mapping(node, _RULE, "rulefmt.Rule")
        record, alert, expr = (text(fields.get(name)) for name in ("record", "alert", "expr"))
        rule = Rule(
            bool(alert),
            alert or record,
            expr,
            self.duration(fields.get("for")),
            self.duration(fields.get("keep_firing_for")),
            {**shared, **self.texts(fields.get("labels"))},
            self.texts(fields.get("annotations")),
        )
        where = fields.get("record") or fields.get("alert") or node
        for message, at in self.mistakes(rule, record, alert, fields):
            self.say(f'group "{group}", rule {number}, "{rule.name}": {message}', at or where)
        return rule

    def mistakes(
        self, rule: Rule, record: str, alert: str, fields: dict[str, yaml.Node]
    ) -> list[tuple[str, yaml.Node | None]]:
        found: list[tuple[str, yaml.Node | None]] = []
        if record and alert:
            found.append(("only one of 'record' and 'alert' must be set", None))
        if not record and not alert:
            found.append(("one of 'record' or 'alert' must be set", None))
        if not rule.expr:
            found.append(("field 'expr' must be set in rule", None))
        else:
            try:
                parse(rule.expr)
            except (ParseError, regex.RegexError) as error:
                found.append((f"could not parse expression: {error}", fields.get("expr")))
        if record:
            for name, value in (("annotations", rule.annotations), ("for", rule.for_ms)):
                if value:
                    found.append((f"invalid field '{name}' in recording rule", None))
            if rule.keep_firing_for_ms:
                found.append(("invalid field 'keep_firing_for' in recording rule", None))
            if not re.fullmatch(r"[a-zA-Z_:][a-zA-Z0-9_:]*", record):
                found.append((f"invalid recording rule name: {record}", None))
        for name in rule.labels:
            if not _LABEL.fullmatch(name) or name == "__name__":
                found.append((f"invalid label name: {name}", None))
        for name in rule.annotations:
            if not _LABEL.fullmatch(name):
                found.append((f"invalid annotation name: {name}", None))
        for kind, templates in (("label", rule.labels), ("annotation", rule.annotations)) if alert else ():
            for name, source in templates.items():
                try:
                    parsed(source)
                except TemplateError as error:
                    found.append((f'{kind} "{name}": template: __alert_{alert}: {error}', None))
        return found


def text(node: Any) -> str:
    """What a scalar says, empty if there is none."""
    return str(node.value) if isinstance(node, yaml.ScalarNode) and node.tag != "tag:yaml.org,2002:null" else ""

"""`-o go-template`: Go's text/template over the JSON form of objects, as kubectl runs it.

All numbers of an object are float64, as encoding/json reads them: a million is printed as
`1e+06`, `eq .spec.replicas 2` compares what cannot be compared. Functions: those of
text/template and kubectl's exists and base64decode. Left out: methods, call.
"""

from __future__ import annotations

from typing import Any

from simcluster.models.userland.outcome import ROOM, Exhausted
from simcluster.surface.kubectl.printers import gofunctions
from simcluster.surface.kubectl.printers.gofunctions import CallError, go_printed, type_name
from simcluster.surface.kubectl.printers.gosyntax import GoTemplateError, Node, Operand, Pipeline, parse

__all__ = ["GoExecutionError", "GoTemplateError", "render"]


class GoExecutionError(Exception):
    """The template was parsed, and failed when it ran."""


class _Leave(Exception):
    """A `break` (or `continue`) inside of a range; what was printed before it."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.text = text


def render(source: str, value: Any) -> str:
    """The template filled with a value.

    Raises:
        GoTemplateError: it cannot be parsed.
        GoExecutionError: it fails.
    """
    tree = parse(source)
    _check_functions(tree.nodes)
    for nodes in tree.defined.values():
        _check_functions(nodes)
    data = _as_decoded(value)
    return _Execution(tree.defined, data).block(tree.nodes, data)


def _as_decoded(value: Any) -> Any:
    """The value with float64 for every number."""
    if isinstance(value, dict):
        return {key: _as_decoded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_decoded(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _check_functions(nodes: tuple[Node, ...]) -> None:
    for node in nodes:
        if node.pipeline is not None:
            _check_pipeline(node.pipeline)
        _check_functions(node.body)
        _check_functions(node.otherwise)


def _check_pipeline(pipeline: Pipeline) -> None:
    for command in pipeline.commands:
        for operand in command:
            if operand.kind == "function" and operand.value not in gofunctions.NAMES:
                raise GoTemplateError(f'template: output:1: function "{operand.value}" not defined')
            if operand.kind == "pipeline":
                _check_pipeline(operand.value)


class _Execution:
    """Variables while a template runs."""

    def __init__(self, defined: dict[str, tuple[Node, ...]], root: Any) -> None:
        self.defined = defined
        self.variables: list[tuple[str, Any]] = [("$", root)]
        self.printed = 0

    def block(self, nodes: tuple[Node, ...], dot: Any) -> str:
        """The text of some nodes; their variables end with them."""
        mark = len(self.variables)
        pieces: list[str] = []
        try:
            for node in nodes:
                try:
                    pieces.append(self._node(node, dot))
                except _Leave as leave:
                    raise _Leave(leave.kind, "".join(pieces) + leave.text) from None
        finally:
            del self.variables[mark:]
        return "".join(pieces)

    def _node(self, node: Node, dot: Any) -> str:
        if node.kind == "text":
            return node.text
        if node.kind in ("break", "continue"):
            raise _Leave(node.kind, "")
        if node.kind == "template":
            return self._template(node, dot)
        assert node.pipeline is not None, node.kind
        if node.kind == "action":
            value = self._assigned(node.pipeline, dot)
            text = "" if node.pipeline.variables else go_printed(value)
            self.printed += len(text)
            if self.printed > ROOM:
                raise Exhausted
            return text
        mark = len(self.variables)
        try:
            if node.kind == "range":
                return self._range(node, node.pipeline, dot)
            value = self._assigned(node.pipeline, dot)
            if gofunctions.truth(value):
                return self.block(node.body, value if node.kind == "with" else dot)
            return self.block(node.otherwise, dot)
        finally:
            del self.variables[mark:]

    def _template(self, node: Node, dot: Any) -> str:
        if node.text not in self.defined:
            raise GoExecutionError(f'template: output:1: template "{node.text}" not defined')
        value = self._pipeline(node.pipeline, dot) if node.pipeline is not None else None
        return _Execution(self.defined, value).block(self.defined[node.text], value)

    def _range(self, node: Node, pipeline: Pipeline, dot: Any) -> str:
        pairs = self._pairs(pipeline, self._pipeline(pipeline, dot))
        if not pairs:
            return self.block(node.otherwise, dot)
        output: list[str] = []
        for key, item in pairs:
            mark = len(self.variables)
            if len(pipeline.variables) == 2:
                self._put(pipeline, [key, item])
            else:
                self._put(pipeline, [item])
            try:
                output.append(self.block(node.body, item))
            except _Leave as leave:
                output.append(leave.text)
                if leave.kind == "break":
                    break
            finally:
                del self.variables[mark:]
        return "".join(output)

    def _pairs(self, pipeline: Pipeline, value: Any) -> list[tuple[Any, Any]]:
        if isinstance(value, dict):
            return [(key, value[key]) for key in sorted(value)]
        if isinstance(value, list):
            return list(enumerate(value))
        if value is None:
            return []
        if isinstance(value, int) and not isinstance(value, bool):
            return [(i, i) for i in range(value)]
        raise _failure(pipeline.commands[0][0], f"range can't iterate over {go_printed(value)}")

    # Pipelines.

    def _assigned(self, pipeline: Pipeline, dot: Any) -> Any:
        value = self._pipeline(pipeline, dot)
        if pipeline.variables:
            self._put(pipeline, [value])
        return value

    def _put(self, pipeline: Pipeline, values: list[Any]) -> None:
        for name, value in zip(pipeline.variables, values, strict=False):
            if pipeline.declares:
                self.variables.append((name, value))
                continue
            for i in range(len(self.variables) - 1, -1, -1):
                if self.variables[i][0] == name:
                    self.variables[i] = (name, value)
                    break

    def _pipeline(self, pipeline: Pipeline, dot: Any) -> Any:
        last: list[Any] = []
        for command in pipeline.commands:
            last = [self._command(command, dot, last)]
        return last[0]

    def _command(self, command: tuple[Operand, ...], dot: Any, last: list[Any]) -> Any:
        first, *rest = command
        if first.kind == "function":
            return self._call(first, rest, dot, last)
        if rest or last:
            raise _failure(first, f"can't give argument to non-function {first.text}")
        return self._operand(first, dot)

    def _call(self, function: Operand, rest: list[Operand], dot: Any, last: list[Any]) -> Any:
        name = function.value
        if name in ("and", "or"):
            value: Any = None
            for operand in rest:
                value = self._operand(operand, dot)
                if gofunctions.truth(value) == (name == "or"):
                    return value
            return last[0] if last else value
        arguments = [self._operand(operand, dot) for operand in rest] + last
        try:
            return gofunctions.call(name, arguments)
        except CallError as error:
            raise _failure(function, str(error)) from None

    def _operand(self, operand: Operand, dot: Any) -> Any:
        if operand.kind == "literal":
            return operand.value
        if operand.kind == "dot":
            return dot
        if operand.kind == "field":
            return self._fields(operand, dot)
        if operand.kind == "variable":
            return self._fields(operand, self._variable(operand))
        if operand.kind == "function":
            return self._call(operand, [], dot, [])
        return self._fields(operand, self._pipeline(operand.value, dot))

    def _variable(self, operand: Operand) -> Any:
        for name, value in reversed(self.variables):
            if name == operand.value:
                return value
        raise GoTemplateError(f'template: output:1: undefined variable "{operand.value}"')

    def _fields(self, operand: Operand, value: Any) -> Any:
        for name in operand.fields:
            if value is None:
                return None
            if not isinstance(value, dict):
                raise _failure(operand, f"can't evaluate field {name} in type {type_name(value)}")
            value = value.get(name)
        return value


def _failure(operand: Operand, text: str) -> GoExecutionError:
    return GoExecutionError(f'template: output:1:{operand.at}: executing "output" at <{operand.text}>: {text}')

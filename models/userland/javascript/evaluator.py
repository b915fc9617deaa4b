"""Evaluates scripts that esprima has parsed, step by step, with a bound on steps, depth and sizes.

Statements: declarations with patterns, if, for, for-in, for-of, while, do, switch, break, continue, return, throw, try,
functions and arrows. Expressions: all operators of ECMAScript 2017 but generators, `await`, tagged templates and
classes. What is left out raises `Unsupported` and does nothing.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from simcluster.models.userland.javascript import language, operators, properties
from simcluster.models.userland.javascript.complaints import placed
from simcluster.models.userland.javascript.values import (
    MOST_ITEMS,
    UNDEFINED,
    Exhausted,
    Function,
    Native,
    ScriptError,
    Unsupported,
    bounded,
    kind_of,
    text_of,
    truthy,
)

#: Characters and words of a script, its nodes that are executed, and functions inside of each other at most.
MOST_SOURCE, MOST_WORDS, MOST_STEPS, MOST_DEPTH = 200_000, 50_000, 100_000, 60
#: What a parser takes time for: a word, or a sign.
_WORD = re.compile(r"[\w$]+|[^\w\s]")


@cache
def _parser() -> Any:
    """esprima; not before there is a script, for it begins with a table of all of Unicode: half a second."""
    return importlib.import_module("esprima")


class _Ended(Exception):
    """A statement that leaves another: `break`, `continue`, `return`."""

    def __init__(self, kind: str, label: str = "", value: Any = UNDEFINED) -> None:
        super().__init__(kind)
        self.kind, self.label, self.value = kind, label, value


class Scope:
    """Names and their values, and the scope around."""

    def __init__(self, around: Scope | None = None, names: Mapping[str, Any] | None = None) -> None:
        self.around = around
        self.names: dict[str, Any] = dict(names or {})
        self.fixed: dict[str, None] = {}

    def holder(self, name: str) -> Scope | None:
        """The scope that has the name."""
        found: Scope | None = self
        while found is not None and name not in found.names:
            found = found.around
        return found


class Script:
    """One run of one script.

    Args:
        names: what the program around gives it.
        now_ns: the clock's instant, for `new Date()`.
    """

    def __init__(self, names: Mapping[str, Any], now_ns: int) -> None:
        self.now_ns = now_ns
        self.steps = 0
        self.depth = 0
        self.top = Scope(Scope(None, {**language.globals_of(self), **names}))

    def run(self, source: str) -> Any:
        """The value of the last expression statement. Raises ScriptError."""
        value = UNDEFINED
        for statement in self.parsed(source):
            value = self.perform(statement)
        return value

    def parsed(self, source: str) -> list[Any]:
        """Statements of a script, whose functions are known from now on. Raises ScriptError."""
        many = sum(1 for _ in _WORD.finditer(source)) if len(source) <= MOST_SOURCE else MOST_WORDS + 1  # integers
        if many > MOST_WORDS:
            raise Unsupported("RangeError", "the script is too long to be run here")
        try:
            tree = _parser().parseScript(source)
        except RecursionError:
            raise ScriptError("RangeError", "Maximum call stack size exceeded") from None
        except _parser().Error as error:
            raise ScriptError("SyntaxError", placed(source, error)) from None
        self._hoisted(tree.body, self.top)
        return list(tree.body)

    def perform(self, statement: Any) -> Any:
        """The value of a statement, if it is an expression. Raises ScriptError."""
        try:
            if statement.type == "ExpressionStatement":
                return self.value(statement.expression, self.top)
            self.execute(statement, self.top)
        except RecursionError:
            raise ScriptError("RangeError", "Maximum call stack size exceeded") from None
        except _Ended as ended:
            raise ScriptError("SyntaxError", f"Illegal {ended.kind} statement") from None
        return UNDEFINED

    def call(self, function: Any, args: list[Any], this: Any = UNDEFINED) -> Any:
        """Call a function with arguments. Raises ScriptError."""
        if isinstance(function, Native):
            return function.call(*args)
        if not isinstance(function, Function):
            raise ScriptError("TypeError", f"{text_of(function)} is not a function")
        self.depth += 1
        try:
            if self.depth > MOST_DEPTH:
                raise ScriptError("RangeError", "Maximum call stack size exceeded")
            scope = Scope(function.scope, {"arguments": list(args)})
            if not function.is_expression and this is not UNDEFINED:
                scope.names["this"] = this
            for at, parameter in enumerate(function.parameters):
                if parameter.type == "RestElement":
                    self.bind(parameter.argument, list(args[at:]), scope)
                else:
                    self.bind(parameter, args[at] if at < len(args) else UNDEFINED, scope)
            if function.is_expression and function.body.type != "BlockStatement":
                return self.value(function.body, scope)
            self._block(function.body.body, scope)
        except _Ended as ended:
            if ended.kind == "return":
                return ended.value
            raise
        finally:
            self.depth -= 1
        return UNDEFINED

    # Names.

    def bind(self, pattern: Any, value: Any, scope: Scope, *, declares: bool = True) -> None:
        """Give names of a pattern their parts of a value. Raises ScriptError."""
        kind = pattern.type
        if kind == "AssignmentPattern":
            self.bind(
                pattern.left, self.value(pattern.right, scope) if value is UNDEFINED else value, scope,
                declares=declares,
            )  # fmt: skip
        elif kind == "Identifier" and declares:
            scope.names[pattern.name] = value
        elif kind in ("Identifier", "MemberExpression"):
            self.assign(pattern, value, scope)
        elif kind == "ArrayPattern":
            items = operators.iterated(value)
            for at, part in enumerate(pattern.elements):
                if part is not None and part.type == "RestElement":
                    self.bind(part.argument, items[at:], scope, declares=declares)
                elif part is not None:
                    self.bind(part, items[at] if at < len(items) else UNDEFINED, scope, declares=declares)
        elif kind == "ObjectPattern":
            taken: dict[str, None] = {}
            for part in pattern.properties:
                if part.type == "RestElement":
                    left = {key: one for key, one in value.items() if key not in taken}
                    self.bind(part.argument, left, scope, declares=declares)
                    continue
                name = self._key(part, scope)
                taken[name] = None
                self.bind(part.value, properties.get(self, value, name), scope, declares=declares)
        else:
            raise Unsupported("SyntaxError", f"'{kind}' cannot be run here")

    def assign(self, target: Any, value: Any, scope: Scope) -> None:
        """Set a name or a property. Raises ScriptError."""
        if target.type == "Identifier":
            holder = scope.holder(target.name)
            if holder is not None and target.name in holder.fixed:
                raise ScriptError("TypeError", "Assignment to constant variable.")
            (holder or self.top).names[target.name] = value
        elif target.type == "MemberExpression":
            properties.put(self.value(target.object, scope), self._member(target, scope), value)
        elif target.type in ("ArrayPattern", "ObjectPattern"):
            self.bind(target, value, scope, declares=False)
        else:
            raise ScriptError("SyntaxError", "Invalid left-hand side in assignment")

    def _hoisted(self, statements: list[Any], scope: Scope) -> None:
        for one in statements:
            if one.type == "FunctionDeclaration":
                scope.names[one.id.name] = self._function(one, scope)

    def _function(self, node: Any, scope: Scope) -> Function:
        if node.generator or node.isAsync:
            raise Unsupported("SyntaxError", "generators and asynchronous functions cannot be run here")
        name = node.id.name if node.id is not None else ""
        if name and node.type == "FunctionExpression":
            scope = Scope(scope)
            scope.names[name] = Function(name, node.params, node.body, scope, is_expression=False)
        return Function(name, node.params, node.body, scope, is_expression=node.type == "ArrowFunctionExpression")

    def _key(self, part: Any, scope: Scope) -> str:
        if part.computed:
            return text_of(self.value(part.key, scope))
        return str(part.key.name) if part.key.type == "Identifier" else text_of(part.key.value)

    def _member(self, node: Any, scope: Scope) -> Any:
        return self.value(node.property, scope) if node.computed else node.property.name

    # Statements.

    def _count(self) -> None:
        self.spend(1)

    def spend(self, steps: int) -> None:
        """So many steps more. Raises Exhausted."""
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise Exhausted("", "Killed")

    def execute(self, node: Any, scope: Scope) -> None:
        """One statement. Raises ScriptError."""
        self._count()
        done = _STATEMENTS.get(node.type)
        if done is None:
            raise Unsupported("SyntaxError", f"'{node.type}' cannot be run here")
        done(self, node, scope)

    def _block(self, statements: list[Any], scope: Scope) -> None:
        self._hoisted(statements, scope)
        for one in statements:
            self.execute(one, scope)

    def _in_block(self, node: Any, scope: Scope) -> None:
        self._block(node.body, Scope(scope))

    def _expression(self, node: Any, scope: Scope) -> None:
        self.value(node.expression, scope)

    def _nothing(self, node: Any, scope: Scope) -> None:
        pass

    def _declare(self, node: Any, scope: Scope) -> None:
        for one in node.declarations:
            value = UNDEFINED if one.init is None else self.value(one.init, scope)
            if isinstance(value, Function) and not value.name and one.id.type == "Identifier":
                value.name = one.id.name
            self.bind(one.id, value, scope)
            if node.kind == "const" and one.id.type == "Identifier":
                scope.fixed[one.id.name] = None

    def _if(self, node: Any, scope: Scope) -> None:
        chosen = node.consequent if truthy(self.value(node.test, scope)) else node.alternate
        if chosen is not None:
            self.execute(chosen, scope)

    def _turn(self, body: Any, scope: Scope) -> bool:
        """One turn of a loop; False if it is to end."""
        try:
            self.execute(body, scope)
        except _Ended as ended:
            if ended.label or ended.kind == "return":
                raise
            return ended.kind == "continue"
        return True

    def _for(self, node: Any, scope: Scope) -> None:
        inner = Scope(scope)
        if node.init is not None:
            (self._declare if node.init.type == "VariableDeclaration" else self.value)(node.init, inner)
        while node.test is None or truthy(self.value(node.test, inner)):
            turn = Scope(inner)  # what functions of a turn hold on to is theirs
            turn.names = dict(inner.names) if node.init is not None and node.init.kind == "let" else {}
            if not self._turn(node.body, turn):
                break
            inner.names.update({name: turn.names[name] for name in inner.names if name in turn.names})
            self._count()
            if node.update is not None:
                self.value(node.update, inner)

    def _for_each(self, node: Any, scope: Scope) -> None:
        over = self.value(node.right, scope)
        if node.type == "ForOfStatement":
            items = operators.iterated(over)
        else:
            items = properties.own_names(over)
        for item in list(items):
            turn = Scope(scope)
            if node.left.type == "VariableDeclaration":
                self.bind(node.left.declarations[0].id, item, turn)
            else:
                self.assign(node.left, item, scope)
            self._count()
            if not self._turn(node.body, turn):
                break

    def _while(self, node: Any, scope: Scope) -> None:
        first = node.type == "DoWhileStatement"
        while first or truthy(self.value(node.test, scope)):
            first = False
            self._count()
            if not self._turn(node.body, Scope(scope)):
                break

    def _leave(self, node: Any, scope: Scope) -> None:
        kind = {"BreakStatement": "break", "ContinueStatement": "continue"}.get(node.type, "return")
        if kind == "return":
            value = UNDEFINED if node.argument is None else self.value(node.argument, scope)
            raise _Ended(kind, value=value)
        raise _Ended(kind, node.label.name if node.label is not None else "")

    def _labeled(self, node: Any, scope: Scope) -> None:
        try:
            self.execute(node.body, scope)
        except _Ended as ended:
            if ended.label != node.label.name or ended.kind != "break":
                raise

    def _switch(self, node: Any, scope: Scope) -> None:
        value, inner = self.value(node.discriminant, scope), Scope(scope)
        chosen = [at for at, one in enumerate(node.cases) if one.test is not None
                  and operators.same(self.value(one.test, inner), value)]  # fmt: skip
        others = [at for at, one in enumerate(node.cases) if one.test is None]
        begun = next(iter([*chosen, *others]), len(node.cases))
        try:
            for one in node.cases[begun:]:
                self._block(one.consequent, inner)
        except _Ended as ended:
            if ended.kind != "break" or ended.label:
                raise

    def _throw(self, node: Any, scope: Scope) -> None:
        value = self.value(node.argument, scope)
        if isinstance(value, dict) and "message" in value:
            raise ScriptError(text_of(value.get("name", "Error")), text_of(value["message"]), value)
        raise ScriptError("Error" if isinstance(value, str) else "", text_of(value), value)

    def _try(self, node: Any, scope: Scope) -> None:
        try:
            self.execute(node.block, scope)
        except (Unsupported, Exhausted):
            raise
        except ScriptError as error:
            if node.handler is None:
                raise
            inner = Scope(scope)
            if node.handler.param is not None:
                self.bind(node.handler.param, error.value, inner)
            self.execute(node.handler.body, inner)
        finally:
            if node.finalizer is not None:
                self.execute(node.finalizer, scope)

    # Expressions.

    def value(self, node: Any, scope: Scope) -> Any:
        """The value of an expression. Raises ScriptError."""
        self._count()
        found = _EXPRESSIONS.get(node.type)
        if found is None:
            raise Unsupported("SyntaxError", f"'{node.type}' cannot be run here")
        return found(self, node, scope)

    def _literal(self, node: Any, scope: Scope) -> Any:
        if node.regex is not None:
            return {"$regex": node.regex.pattern, "$options": node.regex.flags}
        return operators.whole(node.value) if isinstance(node.value, float) else node.value

    def _template(self, node: Any, scope: Scope) -> str:
        parts = [node.quasis[0].value.cooked]
        for inner, quasi in zip(node.expressions, node.quasis[1:], strict=True):
            parts += [text_of(self.value(inner, scope)), quasi.value.cooked]
        return bounded("".join(parts))

    def _name(self, node: Any, scope: Scope) -> Any:
        holder = scope.holder(node.name)
        if holder is None:
            raise ScriptError("ReferenceError", f"{node.name} is not defined")
        return holder.names[node.name]

    def _this(self, node: Any, scope: Scope) -> Any:
        holder = scope.holder("this")
        return UNDEFINED if holder is None else holder.names["this"]

    def _list(self, nodes: list[Any], scope: Scope) -> list[Any]:
        found: list[Any] = []
        for one in nodes:
            if one is None:
                found.append(UNDEFINED)
            elif one.type == "SpreadElement":
                found += operators.iterated(self.value(one.argument, scope))
            else:
                found.append(self.value(one, scope))
            if len(found) > MOST_ITEMS:
                raise Exhausted("RangeError", "Invalid array length")
        return found

    def _array(self, node: Any, scope: Scope) -> list[Any]:
        return self._list(node.elements, scope)

    def _object(self, node: Any, scope: Scope) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for part in node.properties:
            if part.type == "SpreadElement":
                given = self.value(part.argument, scope)
                made.update(given if isinstance(given, dict) else {})
            elif part.kind in ("get", "set"):
                raise Unsupported("SyntaxError", "getters and setters cannot be run here")
            else:
                made[self._key(part, scope)] = self.value(part.value, scope)
        return made

    def _made_function(self, node: Any, scope: Scope) -> Function:
        return self._function(node, scope)

    def _unary(self, node: Any, scope: Scope) -> Any:
        if node.operator == "typeof" and node.argument.type == "Identifier":
            holder = scope.holder(node.argument.name)
            return kind_of(UNDEFINED if holder is None else holder.names[node.argument.name])
        if node.operator == "delete":
            if node.argument.type == "MemberExpression":
                of = self.value(node.argument.object, scope)
                if isinstance(of, dict):
                    of.pop(text_of(self._member(node.argument, scope)), None)
            return True
        return operators.unary(node.operator, self.value(node.argument, scope))

    def _binary(self, node: Any, scope: Scope) -> Any:
        return operators.binary(node.operator, self.value(node.left, scope), self.value(node.right, scope))

    def _logical(self, node: Any, scope: Scope) -> Any:
        left = self.value(node.left, scope)
        return self.value(node.right, scope) if truthy(left) == (node.operator == "&&") else left

    def _conditional(self, node: Any, scope: Scope) -> Any:
        return self.value(node.consequent if truthy(self.value(node.test, scope)) else node.alternate, scope)

    def _assignment(self, node: Any, scope: Scope) -> Any:
        value = self.value(node.right, scope)
        if node.operator != "=":
            value = operators.binary(node.operator[:-1], self.value(node.left, scope), value)
        self.assign(node.left, value, scope)
        return value

    def _update(self, node: Any, scope: Scope) -> Any:
        before = operators.unary("+", self.value(node.argument, scope))
        after = operators.binary("+" if node.operator == "++" else "-", before, 1)
        self.assign(node.argument, after, scope)
        return after if node.prefix else before

    def _sequence(self, node: Any, scope: Scope) -> Any:
        return [self.value(one, scope) for one in node.expressions][-1]

    def _get(self, node: Any, scope: Scope) -> Any:
        return properties.get(self, self.value(node.object, scope), self._member(node, scope))

    def _call(self, node: Any, scope: Scope) -> Any:
        this: Any = UNDEFINED
        if node.callee.type == "MemberExpression":
            this = self.value(node.callee.object, scope)
            function = properties.get(self, this, self._member(node.callee, scope))
        else:
            function = self.value(node.callee, scope)
        if not isinstance(function, Native | Function):
            raise ScriptError("TypeError", f"{_written(node.callee)} is not a function")
        return self.call(function, self._list(node.arguments, scope), this)

    def _new(self, node: Any, scope: Scope) -> Any:
        function = self.value(node.callee, scope)
        if not isinstance(function, Native):
            raise Unsupported("TypeError", f"'new {_written(node.callee)}' cannot be run here")
        return function.call(*self._list(node.arguments, scope))


def _written(node: Any) -> str:
    """A callee as an error names it."""
    if node.type == "Identifier":
        return str(node.name)
    if node.type == "MemberExpression" and not node.computed:
        return f"{_written(node.object)}.{node.property.name}"
    return f"{_written(node.callee)}(...)" if node.type == "CallExpression" else "(intermediate value)"


_STATEMENTS: dict[str, Callable[[Script, Any, Scope], None]] = {
    "BlockStatement": Script._in_block,
    "BreakStatement": Script._leave,
    "ContinueStatement": Script._leave,
    "DoWhileStatement": Script._while,
    "EmptyStatement": Script._nothing,
    "ExpressionStatement": Script._expression,
    "ForInStatement": Script._for_each,
    "ForOfStatement": Script._for_each,
    "ForStatement": Script._for,
    "FunctionDeclaration": Script._nothing,
    "IfStatement": Script._if,
    "LabeledStatement": Script._labeled,
    "ReturnStatement": Script._leave,
    "SwitchStatement": Script._switch,
    "ThrowStatement": Script._throw,
    "TryStatement": Script._try,
    "VariableDeclaration": Script._declare,
    "WhileStatement": Script._while,
}
_EXPRESSIONS: dict[str, Callable[[Script, Any, Scope], Any]] = {
    "ArrayExpression": Script._array,
    "ArrowFunctionExpression": Script._made_function,
    "AssignmentExpression": Script._assignment,
    "BinaryExpression": Script._binary,
    "CallExpression": Script._call,
    "ConditionalExpression": Script._conditional,
    "FunctionExpression": Script._made_function,
    "Identifier": Script._name,
    "Literal": Script._literal,
    "LogicalExpression": Script._logical,
    "MemberExpression": Script._get,
    "NewExpression": Script._new,
    "ObjectExpression": Script._object,
    "SequenceExpression": Script._sequence,
    "StaticMemberExpression": Script._get,
    "ComputedMemberExpression": Script._get,
    "TemplateLiteral": Script._template,
    "ThisExpression": Script._this,
    "UnaryExpression": Script._unary,
    "UpdateExpression": Script._update,
}


def evaluate(source: str, names: Mapping[str, Any], now_ns: int = 0) -> Any:
    """The value of a script. Raises ScriptError.

    >>> evaluate("let s = 0; for (const n of [1, 2, 3]) s += n; `sum ${s}`", {})
    'sum 6'
    >>> evaluate("[3, 1, 2].sort().map((n, i) => n * i)", {}), evaluate("({a: [1, {b: 2}]}).a[1].b ** 3", {})
    ([0, 2, 6], 8)
    """
    return Script(names, now_ns).run(source)

"""Small tables that people make by hand in a database: plain rows, and what SQL does with them.

Statements are read by sqlglot and evaluated here, so that the clock is the world's and the state plain data. Understood
are CREATE, DROP and TRUNCATE TABLE with PRIMARY KEY, UNIQUE and REFERENCES, CREATE INDEX, INSERT, UPDATE, DELETE, and
SELECT from one table or a join, with WHERE, GROUP BY, HAVING, DISTINCT, ORDER BY, LIMIT and OFFSET, and WITH before it.
Everything else raises `Unsupported` with its name.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from simcluster.models.apps.stores.sql.definitions import Promises, passing, sqlglot
from simcluster.models.apps.stores.sql.expressions import BROKEN, WHOLE, Expressions, clause_of, place_of
from simcluster.models.apps.stores.sql.selectlists import typed
from simcluster.models.apps.stores.sql.sqlfunctions import FUNCTIONS, constant
from simcluster.models.apps.stores.sql.sqloperators import order_of, text_of
from simcluster.models.apps.stores.sql.tables import (
    Column,
    Refused,
    Row,
    Table,
    Unique,
    Unsupported,
    Value,
    name_of,
    referring,
    snapshot,
    take_away,
    vet_moved,
    vet_reference,
    vet_row,
)

#: Rows of one table, of one join, characters of one statement: beyond that it is no work by hand.
ROWS_MAX, JOINED_MAX, TEXT_MAX = 10_000, 100_000, 100_000
_COUNTED = ("SERIAL", "BIGSERIAL", "SMALLSERIAL")


class Result:
    """What a statement gave: heads and rows of a SELECT, else how many rows it changed."""

    def __init__(
        self, verb: str, heads: Sequence[str] = (), rows: Sequence[Sequence[Value]] = (), count: int = 0
    ) -> None:
        self.verb, self.heads, self.rows, self.count = verb, list(heads), list(rows), count


class Relations(Expressions):
    """Evaluates statements over the tables of one database.

    Args:
        tables: by name; changed in place.
        dialect: `postgres` or `mysql`.
        now: the instant as the server prints it.
        functions: of the server and the session, by name in lower case.
    """

    def __init__(
        self,
        tables: dict[str, Table],
        dialect: str,
        now: str,
        functions: Mapping[str, Callable[..., Value]] | None = None,
    ) -> None:
        self._functions: dict[str, Callable[..., Value]] = {
            **FUNCTIONS,
            "now": partial(constant, now),
            "curdate": partial(constant, now[:10]),
        }
        self._functions.update(functions or {})
        self._tables = tables
        self._dialect = dialect
        self._now = now
        self._typed: list[str] = []  # what the list of a SELECT is called in MySQL

    def execute(self, text: str) -> Result:
        """One statement. Raises Refused, Unsupported, SyntaxError (with the text near which it is)."""
        if len(text) > TEXT_MAX:
            raise Unsupported("so long a statement")
        errors = importlib.import_module("sqlglot.errors")
        try:
            tree = sqlglot().parse_one(text, read=self._dialect)
            self._typed = typed(text) if self._dialect == "mysql" else []
            return self._statement(tree)
        except errors.SqlglotError as error:
            raise misplaced(text, (getattr(error, "errors", None) or [{}])[0]) from None
        except (AttributeError, KeyError, IndexError, ValueError):
            raise Unsupported("this form of statement") from None  # a tree of a shape that is not looked at here
        except (RecursionError, ZeroDivisionError, OverflowError, TypeError) as error:
            if isinstance(error, ZeroDivisionError):
                raise Refused("division") from None
            raise Refused("depth" if isinstance(error, RecursionError) else "types") from None

    def _statement(self, tree: Any) -> Result:
        exp = sqlglot().exp
        handlers: Mapping[type, Callable[[Any], Result]] = {
            exp.Create: self._create, exp.Drop: self._drop, exp.TruncateTable: self._truncate,
            exp.Insert: self._insert, exp.Update: self._update, exp.Delete: self._delete, exp.Select: self._select,
        }  # fmt: skip
        found = handlers.get(type(tree))
        if found is None:
            raise Unsupported(tree.key.upper())
        for name in ("with_", "with", "returning"):
            if tree.args.get(name) and not (isinstance(tree, exp.Select) and name != "returning"):
                raise Unsupported(name.rstrip("_").upper())
        return found(tree)

    # Definitions.

    def _create(self, tree: Any) -> Result:
        exp, kind = sqlglot().exp, str(tree.args.get("kind") or "").upper()
        if kind == "INDEX":
            index = tree.this
            table = self._table(index.args["table"])
            columns = tuple(each.this.name for each in index.find_all(exp.Ordered))
            table.known(columns)
            name = index.name or f"{index.args['table'].name}_{'_'.join(columns)}_idx"
            if tree.args.get("unique"):
                table.uniques.append(Unique(name, columns))
                try:
                    for place, row in enumerate(table.rows):
                        self._vet(table, row, table.rows[:place])
                except Refused as refused:
                    table.uniques.pop()
                    raise Refused("no unique index", *refused.values) from None
            else:
                table.indexes[name] = columns
            return Result("CREATE INDEX")
        if kind != "TABLE" or tree.args.get("expression") is not None:
            raise Unsupported(f"CREATE {kind}" + (" AS" if kind == "TABLE" else ""))
        name = tree.this.find(exp.Table).name
        if name in self._tables:
            if tree.args.get("exists"):
                return Result("CREATE TABLE")
            raise Refused("exists", name)
        fields: list[Column] = []
        promises = Promises(name, self._dialect, self._tables)
        for each in tree.this.expressions:
            if isinstance(each, exp.ColumnDef):
                fields.append(self._column(each, promises))
            else:
                promises.of_table(each)
        made = Table(fields, tuple(promises.key))
        made.uniques, made.references = promises.uniques, promises.references
        for columns in (made.key, *(one.columns for one in made.uniques)):
            made.known(columns)
        for reference in made.references:
            vet_reference(self._tables, made, name, reference)
        made.schema = tree.this.find(exp.Table).db or "public"
        self._tables[name] = made
        return Result("CREATE TABLE")

    def _column(self, given: Any, promises: Promises) -> Column:
        exp = sqlglot().exp
        kind = given.kind.sql(dialect=self._dialect) if given.kind is not None else "TEXT"
        required = counted = False
        default: Value = None
        for part in given.constraints:
            known = promises.of_column(given.name, part.kind)
            match type(part.kind):
                case exp.NotNullColumnConstraint:
                    required = not part.kind.args.get("allow_null")
                case exp.PrimaryKeyColumnConstraint:
                    required = True
                case exp.AutoIncrementColumnConstraint | exp.GeneratedAsIdentityColumnConstraint:
                    counted = True
                case exp.DefaultColumnConstraint:
                    default = self._value(part.kind.this, {})
                case _ if not known:
                    raise Unsupported(part.kind.key.removesuffix("columnconstraint").upper() + " constraints")
        return Column(given.name, kind, required=required, counted=counted or kind in _COUNTED, default=default)

    def _drop(self, tree: Any) -> Result:
        if str(tree.args.get("kind") or "").upper() != "TABLE":
            raise Unsupported(f"DROP {tree.args.get('kind')}")
        names = [each.name for each in tree.args.get("tables") or ([tree.this] if tree.this is not None else [])]
        missing = next((name for name in names if name not in self._tables), None)
        if missing is not None and not tree.args.get("exists"):
            raise Refused("no table to drop", missing)
        for name in names:
            user = referring(self._tables, name)
            if user is not None and user[0] not in names and not tree.args.get("cascade"):
                raise Refused("table in use", name, *user)
        for name in names:
            self._tables.pop(name, None)
            for table in self._tables.values():
                table.references = [each for each in table.references if each.table != name]
        return Result("DROP TABLE")

    def _truncate(self, tree: Any) -> Result:
        names = [each.name for each in tree.expressions]
        for each in tree.expressions:
            self._table(each)
        for name in names:
            user = referring(self._tables, name)
            if user is not None and user[0] not in names:
                raise Refused("table not to empty", name, *user)
        for name in names:
            self._tables[name].rows.clear()
        return Result("TRUNCATE TABLE")

    # Changes.

    def _table(self, node: Any) -> Table:
        """The table that a node names. Raises Refused."""
        found = self._tables.get(node.name)
        if found is None or (node.db and self._dialect == "postgres" and node.db != found.schema):
            shown = f"{node.db}.{node.name}" if node.db and self._dialect == "postgres" else node.name
            raise Refused("no table", shown, at=place_of(node))
        return found

    def _insert(self, tree: Any) -> Result:
        exp, target = sqlglot().exp, tree.this
        named = isinstance(target, exp.Schema)
        table = self._table(target.this if named else target)
        if tree.args.get("conflict") or tree.args.get("overwrite") or tree.args.get("ignore"):
            raise Unsupported("INSERT with a conflict clause")
        names = [each.name for each in target.expressions] if named else [each.name for each in table.columns]
        for each in target.expressions if named else ():
            if table.column(each.name) is None:
                raise Refused("no field", each.name, target.this.name, at=place_of(each))
        source = tree.expression
        if isinstance(source, exp.Select):
            given: list[list[Value]] = [list(row) for row in self._select(source).rows]
        elif isinstance(source, exp.Values):
            given = [[self._given(each) for each in row.expressions] for row in source.expressions]
        else:
            raise Unsupported("this form of INSERT")
        made = [self._row(table, names, values) for values in given]
        if len(table.rows) + len(made) > ROWS_MAX:
            raise Refused("full")
        before = len(table.rows)
        try:
            for row in made:
                self._vet(table, row, table.rows)
                table.rows.append(row)
        except Refused:
            del table.rows[before:]
            raise
        return Result("INSERT", count=len(made))

    def _given(self, node: Any) -> Value:
        exp = sqlglot().exp
        default = isinstance(node, exp.Var | exp.Column) and node.name.upper() == "DEFAULT"
        return _DEFAULT if default else self._value(node, {})

    def _row(self, table: Table, names: list[str], values: list[Value]) -> Row:
        if len(values) > len(names):
            raise Refused("too many values")
        given = dict(zip(names, values, strict=False))
        row: Row = {}
        for column in table.columns:
            value = given.get(column.name, _DEFAULT)
            if value is _DEFAULT or (value is None and column.counted):
                table.counted += column.counted
                value = table.counted if column.counted else column.default
            elif column.counted and isinstance(value, int):
                table.counted = max(table.counted, value)
            row[column.name] = self._fitting(column, value)
        return row

    def _fitting(self, column: Column, value: Value) -> Value:
        if value is None:
            if column.required:
                raise Refused("null", column.name)
            return None
        kind = column.kind.partition("(")[0].upper()
        try:
            if kind in WHOLE:
                return round(float(value)) if isinstance(value, str | float) else int(value)
            if kind in BROKEN:
                return float(value)
        except (ValueError, OverflowError):
            raise Refused("wrong value", column.kind.lower(), str(value), column.name) from None
        if kind in ("BOOLEAN", "BOOL") and isinstance(value, str | int):
            return str(value).lower() in ("t", "true", "1", "yes", "on")
        most = re.fullmatch(r"(?:VAR)?CHAR\((\d+)\)", column.kind.upper())
        text = value if isinstance(value, str) else text_of(value)
        if most is not None and len(text) > int(most[1]):
            raise Refused("too long", column.kind.lower(), most[1], column.name)
        return text if kind not in ("BOOLEAN", "BOOL") else value

    def _vet(self, table: Table, row: Row, others: Sequence[Row]) -> None:
        key = "PRIMARY" if self._dialect == "mysql" else f"{name_of(self._tables, table)}_pkey"
        vet_row(self._tables, table, row, others, key)

    def _update(self, tree: Any) -> Result:
        table, condition = self._table(tree.this), tree.args.get("where")
        changed = 0
        for place, row in enumerate(table.rows):
            if condition is not None and not self._value(condition.this, row):
                continue
            fresh = dict(row)
            for each in tree.expressions:
                column = table.column(each.this.name)
                if column is None:
                    raise Refused("no field", each.this.name, tree.this.name, at=place_of(each.this))
                fresh[column.name] = self._fitting(column, self._value(each.expression, row))
            if fresh != row:
                self._vet(table, fresh, table.rows[:place] + table.rows[place + 1 :])
                vet_moved(self._tables, tree.this.name, row, fresh)
            table.rows[place] = fresh
            changed += 1
        return Result("UPDATE", count=changed)

    def _delete(self, tree: Any) -> Result:
        table, condition = self._table(tree.this), tree.args.get("where")
        kept, gone = list[Row](), list[Row]()
        for row in table.rows:
            (kept if condition is not None and not self._value(condition.this, row) else gone).append(row)
        before = snapshot(self._tables) if any(each.references for each in self._tables.values()) else {}
        table.rows = kept
        try:
            take_away(self._tables, tree.this.name, gone)
        except Refused:
            for name, each in before.items():
                self._tables[name].rows = each.rows
            raise
        return Result("DELETE", count=len(gone))

    # Looks.

    def _select(self, tree: Any) -> Result:
        exp = sqlglot().exp
        clause = tree.args.get("with_") or tree.args.get("with")
        if clause is not None:
            return self._with(clause, tree)
        for name in ("windows", "qualify", "laterals", "pivots", "connect", "locks", "into"):
            if tree.args.get(name):
                raise Unsupported(name.upper())
        if tree.find(exp.Subquery, exp.Window, exp.Exists) is not None:
            raise Unsupported("subqueries and windows")
        rows, every = self._source(tree)
        self._vet_columns(tree, every)
        condition = tree.args.get("where")
        if condition is not None:
            rows = [row for row in rows if self._value(condition.this, row)]
        shown = [part for each in tree.expressions for part in self._star(each, every)]
        texts = self._typed if len(self._typed) == len(tree.expressions) == len(shown) else [""] * len(shown)
        heads = [self._head(each, text) for each, text in zip(shown, texts, strict=True)]
        group, having = tree.args.get("group"), tree.args.get("having")
        if group is not None or having is not None or any(each.find(exp.AggFunc) for each in shown):
            keys = group.expressions if group is not None else []
            sets: dict[tuple[Value, ...], list[Row]] = {} if keys else {(): rows}
            for row in rows if keys else ():
                sets.setdefault(tuple(self._value(self._named(each, shown), row) for each in keys), []).append(row)
            pairs = [(members[0] if members else {}, members) for members in sets.values()]
        else:
            pairs = [(row, [row]) for row in rows]
        if having is not None:
            pairs = [pair for pair in pairs if self._value(having.this, *pair)]
        found = [([self._value(each, *pair) for each in shown], pair) for pair in pairs]
        if tree.args.get("distinct"):
            found = list({tuple(map(order_of, values)): (values, pair) for values, pair in found}.values())
        order = tree.args.get("order")
        for each in reversed(order.expressions if order is not None else []):
            key = self._named(each.this, shown)
            down = bool(each.args.get("desc"))
            weighed = [(order_of(self._value(key, *one[1])), one) for one in found]
            found = [one for _, one in sorted(weighed, key=itemgetter(0), reverse=down)]
        values = [one for one, _ in found]
        skipped, most = tree.args.get("offset"), tree.args.get("limit")
        if skipped is not None:
            values = values[int(self._value(skipped.expression, {})) :]
        if most is not None and most.args.get("expression") is not None:
            values = values[: int(self._value(most.expression, {}))]
        return Result("SELECT", heads, values, len(values))

    def _with(self, clause: Any, tree: Any) -> Result:
        """A SELECT over what WITH names besides: each may use those before it."""
        exp = sqlglot().exp
        if clause.args.get("recursive"):
            raise Unsupported("WITH RECURSIVE")
        inner = Relations(dict(self._tables), self._dialect, self._now, self._functions)
        for each in clause.expressions:
            if not isinstance(each.this, exp.Select):
                raise Unsupported(f"WITH {each.this.key.upper()}")
            found = inner._select(each.this)
            renamed = [column.name for column in each.args["alias"].args.get("columns") or ()]
            names = [*renamed, *found.heads[len(renamed) :]]
            inner._tables[each.alias] = passing(names, [list(row) for row in found.rows])
        body = tree.copy()
        body.set("with_" if tree.args.get("with_") else "with", None)
        return inner._select(body)

    def _vet_columns(self, tree: Any, every: list[str]) -> None:
        """All columns that a SELECT names must be there, whether it has rows or not. Raises Refused."""
        exp = sqlglot().exp
        names = dict.fromkeys(_both(every))
        called = {each.alias.lower() for each in tree.expressions if isinstance(each, exp.Alias)}
        sources = {name.partition(".")[0].lower() for name in every}
        for node in tree.find_all(exp.Column):
            if isinstance(node.this, exp.Star) or node.find_ancestor(exp.Select) is not tree:
                continue
            if node.table and node.table.lower() not in sources:
                raise Refused("no source", node.table, node.name, at=place_of(node), clause=clause_of(node))
            if node.table or node.name.lower() not in called:
                self._known(node, names)

    def _head(self, node: Any, text: str = "") -> str:
        exp = sqlglot().exp
        if isinstance(node, exp.Column) and self._dialect == "postgres" and not node.this.quoted:
            return str(node.name).lower()
        if isinstance(node, exp.Alias | exp.Column):
            return str(node.alias_or_name)
        if self._dialect == "mysql":
            return str(node.this) if isinstance(node, exp.Literal) else text or str(node.sql(dialect="mysql"))
        if isinstance(node, exp.Anonymous):
            return str(node.name).lower()
        if isinstance(node, exp.Cast | exp.Filter) and not isinstance(node.this, exp.Literal):
            return self._head(node.this)
        known = {"timestamptrunc": "date_trunc", "groupconcat": "string_agg", "currenttimestamp": "now",
                 "currentdate": "current_date", "currentversion": "version", "currentdatabase": "current_database",
                 "currentuser": "current_user", "sessionuser": "session_user"}  # fmt: skip
        if node.key in known:
            return known[node.key]
        return node.sql_name().lower() if isinstance(node, exp.Func) else "?column?"

    def _source(self, tree: Any) -> tuple[list[Row], list[str]]:
        first = tree.args.get("from_") or tree.args.get("from")
        if first is None:
            return [{}], []
        rows, names = self._rows_of(first.this)
        for join in tree.args.get("joins") or ():
            more, added = self._rows_of(join.this)
            side = str(join.args.get("side") or "").upper()
            if side not in ("", "LEFT") or join.args.get("using"):
                raise Unsupported(f"{side} JOIN".strip() if side else "JOIN USING")
            if len(rows) * max(1, len(more)) > JOINED_MAX:
                raise Refused("full")
            condition = join.args.get("on")
            joined: list[Row] = []
            for row in rows:
                pairs = [{**row, **other} for other in more]
                kept = [pair for pair in pairs if condition is None or self._value(condition, pair)]
                joined += kept or ([{**row, **dict.fromkeys(_both(added), None)}] if side == "LEFT" else [])
            rows, names = joined, names + added
        return rows, names

    def _rows_of(self, node: Any) -> tuple[list[Row], list[str]]:
        if not isinstance(node, sqlglot().exp.Table):
            raise Unsupported("such a source of rows")
        table, called = self._table(node), node.alias_or_name
        names = [f"{called}.{column.name}" for column in table.columns]
        return [{**row, **{f"{called}.{key}": value for key, value in row.items()}} for row in table.rows], names

    def _star(self, node: Any, every: list[str]) -> list[Any]:
        exp = sqlglot().exp
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            of = f"{node.table}." if isinstance(node, exp.Column) else ""
            return [exp.column(*reversed(name.split(".", 1))) for name in every if name.startswith(of)]
        return [node]

    def _named(self, node: Any, shown: list[Any]) -> Any:
        """What ORDER BY and GROUP BY mean by a number or by an alias."""
        exp = sqlglot().exp
        if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
            if not 0 < int(node.this) <= len(shown):
                raise Refused("position", node.this)
            return shown[int(node.this) - 1]
        if isinstance(node, exp.Column) and not node.table:
            return next((each.this for each in shown if isinstance(each, exp.Alias) and each.alias == node.name), node)
        return node


_DEFAULT = object()


def misplaced(text: str, found: Mapping[str, Any]) -> SyntaxError:
    """A syntax error near the word that a parser found wrong: `offset` counts from 0; no word: the end of the text."""
    near, at = str(found.get("highlight") or "").strip(), len(text)
    if found and "SENTINEL" not in str(found.get("description")):
        lines, line = text.split("\n"), int(found.get("line") or 1)
        at = sum(len(each) + 1 for each in lines[: line - 1]) + int(found.get("col") or 0) - len(near)  # integers
        alias = re.search(r"\*\s+(\w+)\s+$", text[:at])  # `* form t`: a star has no alias
        near, at = (alias[1], alias.start(1)) if alias is not None else (near, at)
    elif not found:  # what is quoted does not end
        at = max(text.rfind("'"), text.rfind('"'), 0)
        near = text[at:]
    else:
        near = ""
    error = SyntaxError(near)
    error.offset = at
    return error


def _both(names: list[str]) -> list[str]:
    return [*names, *(name.partition(".")[2] for name in names)]

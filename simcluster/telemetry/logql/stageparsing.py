"""Stream selectors and pipelines, read from tokens."""

from __future__ import annotations

from simcluster.telemetry.logql import syntax
from simcluster.telemetry.logql.cursor import Cursor
from simcluster.telemetry.logql.patterns import pattern_parts
from simcluster.telemetry.logql.storage import matches
from simcluster.telemetry.logql.templatefunctions import KNOWN
from simcluster.telemetry.logql.tokens import CONVERSIONS, ParseError, shown
from simcluster.telemetry.promql.regex import RegexError, anywhere, compiled
from simcluster.telemetry.promql.storage import Matcher
from simcluster.telemetry.rules.templatesyntax import TemplateError, called, parsed

FILTERS = ("|=", "!=", "|~", "!~", "|>", "!>")
_COMPARISONS = {">", ">=", "<", "<=", "==", "=", "!="}
_EVERYTHING = (
    "queries require at least one regexp or equality matcher that does not have an empty-compatible value. "
    'For instance, app=~".*" does not meet this requirement, but app=~".+" will'
)


def restricted(matchers: tuple[Matcher, ...]) -> None:
    """Refuse what selects every stream.

    Raises:
        ParseError: no matcher asks for something that is not empty.
    """
    if not any(one.op in ("=", "=~") and not matches(one, "") for one in matchers):
        raise ParseError(_EVERYTHING)


def selector(cursor: Cursor) -> tuple[Matcher, ...]:
    """`{…}`."""
    cursor.expect("{")
    if cursor.accept("}"):
        return ()
    if cursor.kind != "IDENTIFIER":
        cursor.fail("IDENTIFIER", "}")
    found = [_matcher(cursor)]
    while not cursor.accept("}"):
        if cursor.kind != ",":
            cursor.fail("}", ",")
        cursor.advance()
        found.append(_matcher(cursor))
    return tuple(found)


def _matcher(cursor: Cursor) -> Matcher:
    name = cursor.expect("IDENTIFIER").text
    op = cursor.expect("=", "=~", "!~", "!=").kind
    return matcher(name, op, cursor.expect("STRING").text)


def matcher(name: str, op: str, value: str) -> Matcher:
    """A condition on a label.

    Raises:
        ParseError: its expression is none.
    """
    if op in ("=~", "!~"):
        try:
            compiled(value)
        except RegexError as error:
            raise ParseError(str(error)) from None
    return Matcher(name, op, value)


def stages(cursor: Cursor) -> tuple[tuple[syntax.Stage, ...], syntax.Unwrap | None]:
    """A pipeline, which may end in `unwrap`."""
    found: list[syntax.Stage] = []
    while True:
        if cursor.kind in FILTERS:
            found.append(_line_filter(cursor))
        elif cursor.kind == "|":
            if cursor.after(1) == "unwrap":
                return tuple(found), _unwrap(cursor)
            cursor.advance()
            found.append(_stage(cursor))
        else:
            return tuple(found), None


def _line_filter(cursor: Cursor) -> syntax.LineFilter:
    op = cursor.advance().kind
    texts = [_text(cursor)]
    while cursor.accept("or"):
        texts.append(_text(cursor))
    for text, is_address in texts:
        if op in ("|~", "!~") and not is_address:
            try:
                anywhere(f"(?s){text}")
            except RegexError as error:
                raise ParseError(str(error)) from None
        if op in ("|>", "!>"):
            pattern_parts(text, names=False)
    return syntax.LineFilter(op, tuple(texts))


def _text(cursor: Cursor) -> tuple[str, bool]:
    if cursor.accept("ip"):
        cursor.expect("(")
        text = cursor.expect("STRING").text
        cursor.expect(")")
        return text, True
    return cursor.expect("STRING", "ip").text, False


def _stage(cursor: Cursor) -> syntax.Stage:
    kind = cursor.kind
    if kind in ("IDENTIFIER", "("):
        return label_filter(cursor)
    if kind not in ("json", "logfmt", "regexp", "pattern", "unpack", "line_format", "label_format", "drop", "keep"):
        if kind != "decolorize":
            cursor.fail()
        cursor.advance()
        return syntax.Decolorize()
    cursor.advance()
    if kind in ("json", "logfmt"):
        flags = []
        while kind == "logfmt" and cursor.kind == "PARSER_FLAG":
            flags.append(cursor.advance().text)
        return syntax.LabelParser(kind, "", _fields(cursor), tuple(flags))
    if kind == "unpack":
        return syntax.LabelParser(kind)
    if kind in ("regexp", "pattern"):
        return _checked(syntax.LabelParser(kind, cursor.expect("STRING").text))
    if kind == "line_format":
        return syntax.LineFormat(_template(cursor.expect("STRING").text, "line"))
    if kind == "label_format":
        return _label_format(cursor)
    return _choice(cursor, kind)


def _checked(parser: syntax.LabelParser) -> syntax.LabelParser:
    if parser.kind == "pattern":
        pattern_parts(parser.text, names=True)
        return parser
    try:
        names = list(anywhere(parser.text).groupindex)
    except RegexError as error:
        raise ParseError(str(error)) from None
    if not names:
        raise ParseError("at least one named capture must be supplied")
    return parser


def _template(text: str, kind: str) -> str:
    try:
        unknown = next((name for name in called(parsed(text)) if name not in KNOWN), None)
        if unknown is not None:
            raise TemplateError(f'function "{unknown}" not defined')
    except TemplateError as error:
        raise ParseError(f"invalid {kind} template: template: {kind}:1: {error}") from None
    return text


def _fields(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    while cursor.kind == "IDENTIFIER" or found:
        name = cursor.expect("IDENTIFIER").text
        found.append((name, cursor.expect("STRING").text if cursor.accept("=") else name))
        if not cursor.accept(","):
            break
    return tuple(found)


def _label_format(cursor: Cursor) -> syntax.LabelFormat:
    found: list[tuple[str, str, bool]] = []
    while True:
        name = cursor.expect("IDENTIFIER").text
        cursor.expect("=")
        value = cursor.expect("IDENTIFIER", "STRING")
        if name in (one[0] for one in found):
            raise ParseError(f"multiple label name '{name}' not allowed in a single format operation")
        is_template = value.kind == "STRING"
        found.append((name, _template(value.text, "label") if is_template else value.text, is_template))
        if not cursor.accept(","):
            return syntax.LabelFormat(tuple(found))


def _choice(cursor: Cursor, word: str) -> syntax.Choice:
    found: list[tuple[str, Matcher | None]] = []
    while True:
        name = cursor.expect("IDENTIFIER").text
        condition = None
        if cursor.kind in ("=", "!=", "=~", "!~"):
            op = cursor.advance().kind
            condition = matcher(name, op, cursor.expect("STRING").text)
        found.append((name, condition))
        if not cursor.accept(","):
            return syntax.Choice(word, tuple(found))


def label_filter(cursor: Cursor) -> syntax.LabelFilter:
    """Conditions with `or` between what has `and`, a comma or nothing between."""
    found = _conjunction(cursor)
    while cursor.accept("or"):
        found = syntax.Both("or", found, _conjunction(cursor))
    return found


def _conjunction(cursor: Cursor) -> syntax.LabelFilter:
    found = _condition(cursor)
    while cursor.kind in ("and", ",", "IDENTIFIER", "("):
        if cursor.kind in ("and", ","):
            cursor.advance()
        found = syntax.Both("and", found, _condition(cursor))
    return found


def _condition(cursor: Cursor) -> syntax.LabelFilter:
    if cursor.accept("("):
        found = label_filter(cursor)
        cursor.expect(")")
        return found
    if cursor.kind != "IDENTIFIER":
        cursor.fail("IDENTIFIER", "(")
    name = cursor.advance().text
    op = cursor.kind
    if op in ("=~", "!~"):
        cursor.advance()
        return syntax.Condition(name, op, "string", matcher(name, op, cursor.expect("STRING").text).value)
    if op not in _COMPARISONS:
        cursor.fail()
    cursor.advance()
    token = cursor.token
    if cursor.kind == "STRING" and op in ("=", "!="):
        return syntax.Condition(name, op, "string", cursor.advance().text)
    if token.kind == "ip" and op in ("=", "!="):
        return syntax.Condition(name, op, "ip", _text(cursor)[0])
    if token.kind in ("DURATION", "BYTES"):
        cursor.advance()
        return syntax.Condition(name, op, token.kind.lower(), float(token.number))
    if token.kind in ("+", "-", "NUMBER"):
        return syntax.Condition(name, op, "number", number(cursor))
    cursor.fail()


def number(cursor: Cursor) -> float:
    """A number with its sign."""
    sign = -1.0 if cursor.kind == "-" else 1.0
    if cursor.kind in ("+", "-"):
        cursor.advance()
    text = cursor.expect("NUMBER").text
    return sign * (float(int(text[:20], 16)) if text[:2].lower() == "0x" else float(text))


def _unwrap(cursor: Cursor) -> syntax.Unwrap:
    cursor.advance()
    cursor.advance()
    conversion = ""
    by_kind = {shown(one): one for one in CONVERSIONS}
    if cursor.kind in by_kind:
        conversion = by_kind[cursor.advance().kind]
        cursor.expect("(")
        label = cursor.expect("IDENTIFIER").text
        cursor.expect(")")
    else:
        label = cursor.expect("IDENTIFIER", *by_kind).text
    filters = []
    while cursor.kind == "|":
        cursor.advance()
        filters.append(label_filter(cursor))
    return syntax.Unwrap(label, conversion, tuple(filters))

"""Programs that print what their words say: echo, printf, seq, expr, yes, date, cal, basename and their kin."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from simcluster.engine import SECOND
from simcluster.engine.clock import unix_seconds
from simcluster.models.userland import conditions
from simcluster.models.userland.arithmetic import apply
from simcluster.models.userland.datetimes import civil, days_of, formatted_at, read_date
from simcluster.models.userland.escapes import echoed, joined, unescaped
from simcluster.models.userland.formats import SPEC, floating, integer, padded, width_of
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import FOREVER_NS, ROOM, Exhausted, Outcome, fitting
from simcluster.models.userland.place import Call, Tool
from simcluster.models.userland.regex import RegexError, compile_pattern
from simcluster.models.userland.timezones import zone


def echo(call: Call) -> Outcome:
    """Print the words; `-n` without newline, `-e` with escapes (dash: always with)."""
    words, end, escapes = call.args, "\n", call.place.face.shell == "dash"
    letters = "[n]" if escapes else "[neE]"
    while words and re.fullmatch(rf"-{letters}+", words[0]):
        end = "" if "n" in words[0] else end
        escapes = (words[0].rfind("e") > words[0].rfind("E")) if "e" in words[0] or "E" in words[0] else escapes
        words = words[1:]
    text = " ".join(words)
    if escapes and "\\" in text:
        text, ended = echoed(text, points=call.gnu)
        end = "" if ended else end
    return Outcome(text + end)


def printf(call: Call) -> Outcome:
    """Formatted printing; the format repeats over the arguments."""
    words = call.args[1:] if call.args[:1] == ["--"] else call.args
    if not words:
        if call.place.face.bash:
            return Outcome(stderr="printf: usage: printf [-v var] format [arguments]\n", code=2)
        name = call.shell[0] or "sh"
        return Outcome(stderr=f"{name}: usage: printf FORMAT [ARGUMENT...]\n", code=2)
    printer = _Printf(call, list(words[1:]))
    text = printer.run(words[0])
    return Outcome(text, "".join(call.said), 1 if call.said else 0)


#: What a shell's printf replaces: also `%(FORMAT)T` of bash, and signs that are none.
_SPEC = re.compile(SPEC.pattern.removesuffix("([A-Za-z%])") + r"(\([^)]*\)T|[A-Za-z%$])")


class _Printf:
    def __init__(self, call: Call, values: list[str]) -> None:
        self.call = call
        self.values = values
        self.at = 0
        self.ended = False
        self.wrong = False

    def run(self, form: str) -> str:
        takes = any(match[4] != "%" for match in _SPEC.finditer(form))
        out: list[str] = []
        size = 0
        while True:
            before = self.at
            piece = self._once(form)
            out.append(piece)
            size += len(piece)
            if size > ROOM:
                raise Exhausted
            if self.ended or not takes or self.at >= len(self.values) or self.at == before:
                return joined("".join(out))

    def _once(self, form: str) -> str:
        out, at = [], 0
        for match in _SPEC.finditer(form):
            text, ended = self._literal(form[at : match.start()])
            out.append(text)
            if ended:
                self.ended = True
                return "".join(out)
            out.append(self._formatted(match))
            if self.wrong:
                self.ended = True
                return "".join(out)
            if self.ended:
                return "".join(out)
            at = match.end()
        text, ended = self._literal(form[at:])
        self.ended = self.ended or ended
        return "".join([*out, text])

    def _literal(self, text: str) -> tuple[str, bool]:
        place = re.search(r"(?<!\\)(?:\\\\)*\\c", text)
        if place is not None:
            return unescaped(text[: place.end() - 2]), True
        return unescaped(text), False

    def _next(self) -> str | None:
        self.at += 1
        return self.values[self.at - 1] if self.at <= len(self.values) else None

    def _formatted(self, match: re.Match[str]) -> str:
        flags, width, precision, letter = match.groups()
        if letter == "%":
            return "%"
        if width == "*":
            size = self._integer(self._next())
            flags, width = (flags + "-", str(-size)) if size < 0 else (flags, str(size))
        if precision == "*":
            precision = str(max(0, self._integer(self._next())))
        wide, digits = width_of(width), None if precision is None else width_of(precision)
        timed = letter[0] == "(" and self.call.place.face.bash
        if (not timed and letter not in "sbqcdiouxXeEfFgGaA") or (
            letter == "q" and self.call.place.face.shell == "ash"
        ):
            bash = self.call.place.face.bash
            raw = match.string[match.start() :].replace("\n", "\\n").replace("\t", "\\t")
            self._complain(f"`{letter}': invalid format character" if bash else f"{raw}: invalid format")
            self.wrong = True
            return ""
        value = self._next()
        if letter[0] == "(":
            at_s = self._integer(value) if value and value not in ("-1", "-2") else unix_seconds(self.call.now_ns)
            return self._text(formatted_at(letter[1:-2] or "%X", at_s), flags, wide, digits, "s")
        if letter in "sbqc":
            return self._text(value or "", flags, wide, digits, letter)
        if letter in "diouxX":
            return integer(self._integer(value), flags, wide, digits, letter)
        return floating(self._float(value), flags, wide, digits, letter)

    def _text(self, value: str, flags: str, width: int, digits: int | None, letter: str) -> str:
        if letter == "b":
            value, self.ended = echoed(value)
        elif letter == "q":
            value = _shell_word(value)
        elif letter == "c":
            value = value[:1]
        return padded(value if digits is None else value[:digits], flags, width)

    def _complain(self, text: str) -> None:
        name, line = self.call.shell
        self.call.said.append(
            self.call.place.face.said(
                name or "bash", line, text, "printf" if self.call.place.face.shell != "ash" else ""
            )
        )

    def _integer(self, text: str | None) -> int:
        if text is None or text == "":
            return 0
        if text[0] in "'\"" and len(text) > 1:
            return ord(text[1])
        match = re.match(r"\s*([-+]?)(0[xX][0-9a-fA-F]+|\d+)", text)
        digits = match[2] if match is not None else "0"
        if match is None or match.end() != len(text):
            self._complain(
                f"{text}: invalid number" if self.call.place.face.shell != "ash" else f"invalid number '{text}'"
            )
        base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
        try:
            value = int(digits[:40], base)
        except ValueError:
            self._complain(f"{text}: invalid octal number" if self.call.place.face.bash else f"invalid number '{text}'")
            value = 0
        value = -value if match is not None and match[1] == "-" else value
        if not -(1 << 63) <= value < 1 << 64:
            self._complain(f"warning: {text}: Numerical result out of range")
            value = (1 << 63) - 1 if value > 0 else -(1 << 63)
        return value

    def _float(self, text: str | None) -> Decimal:
        if not text:
            return Decimal(0)
        if text[0] in "'\"" and len(text) > 1:
            return Decimal(ord(text[1]))
        match = re.match(r"\s*[-+]?(?:inf(?:inity)?|nan|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?)", text, re.IGNORECASE)
        if match is None or match.end() != len(text):
            self._complain(
                f"{text}: invalid number" if self.call.place.face.shell != "ash" else f"invalid number '{text}'"
            )
        try:
            return Decimal(match[0].strip()[:2000]) if match is not None else Decimal(0)
        except InvalidOperation:
            return Decimal(0)


def _shell_word(text: str) -> str:
    if not text:
        return "''"
    if any(ord(char) < 32 for char in text):
        return "$'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t") + "'"
    return "".join(char if char.isalnum() or char in "_-./:=@%+" or ord(char) > 127 else "\\" + char for char in text)


def seq(call: Call) -> Outcome:
    """Numbers from one to another."""
    words, given = [], {"s": "\n", "f": ""}
    wide = False
    rest = list(call.args)
    while rest:
        word = rest.pop(0)
        if re.match(r"-[\d.]", word) or not word.startswith("-") or word == "-":
            words.append(word)
        elif word in ("-w", "--equal-width"):
            wide = True
        elif word[:2] in ("-s", "-f"):
            given[word[1]] = (
                unescaped(word[2:] or (rest.pop(0) if rest else ""))
                if word[1] == "s"
                else word[2:] or (rest.pop(0) if rest else "")
            )
        elif word.startswith(("--separator=", "--format=")):
            given[word[2]] = word.partition("=")[2]
        else:
            return call.wrong(f"invalid option -- '{word[1:2]}'")
    if not 1 <= len(words) <= 3:
        return call.wrong("missing operand" if not words else f"extra operand ‘{words[3]}’")
    numbers = []
    for word in words:
        if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", word) is None:
            return call.wrong(f"invalid floating point argument: ‘{word}’" if call.gnu else f"invalid number '{word}'")
        numbers.append(Decimal(word[:60]))
    first = numbers[0] if len(numbers) > 1 else Decimal(1)
    step = numbers[1] if len(numbers) == 3 else Decimal(1)
    if step == 0:
        return call.wrong(f"invalid Zero increment value: ‘{words[1]}’")
    return _sequence(call, first, step, numbers[-1], given, wide=wide, words=words)


def _sequence(
    call: Call, first: Decimal, step: Decimal, last: Decimal, given: dict[str, str], *, wide: bool, words: list[str]
) -> Outcome:
    places = max((len(word.partition(".")[2]) for word in words[:2] if "e" not in word.lower()), default=0)
    count = int((last - first) / step) + 1 if (last - first) / step >= 0 else 0
    most = min(count, 400_000)
    values = [first + step * at for at in range(most)]
    if given["f"]:
        match = SPEC.search(given["f"])
        if match is None:
            return call.wrong(f"format ‘{given['f']}’ has no % directive")
        wide_by, digits = width_of(match[2]), width_of(match[3]) if match[3] is not None else None
        head, tail = given["f"][: match.start()], given["f"][match.end() :]
        shown = [head + floating(value, match[1], wide_by, digits, match[4]) + tail for value in values]
    else:
        shown = [f"{value:.{places}f}" for value in values]
        if wide:
            size = max(len(f"{first:.{places}f}"), len(f"{last:.{places}f}"))
            shown = [padded(text, "", size, zero=True) for text in shown]
    text = given["s"].join(shown) + ("\n" if shown else "")
    return Outcome(fitting(text) if count <= most else text, endless=count > most)


def yes(call: Call) -> Outcome:
    """A line without end."""
    line = (" ".join(call.args) or "y") + "\n"
    return Outcome(fitting(line * max(1, 100_000 // len(line))), endless=True)


def expr(call: Call) -> Outcome:
    """Arithmetic and texts, a word for each sign."""
    words = call.args[1:] if call.args[:1] == ["--"] else call.args
    if not words:
        return call.wrong("missing operand", 2)
    try:
        value = _Expr(list(words)).value()
    except (ValueError, RegexError, RecursionError) as problem:
        return Outcome(stderr=f"{call.name}: {problem if str(problem) else 'syntax error'}\n", code=2)
    except ZeroDivisionError:
        return Outcome(stderr=f"{call.name}: division by zero\n", code=2)
    return Outcome(f"{value}\n", code=int(value in ("", "0")))


class _Expr:
    _LEVELS = (("|",), ("&",), ("<", "<=", "=", "==", "!=", ">=", ">"), ("+", "-"), ("*", "/", "%"), (":",))

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.at = 0

    def value(self) -> str:
        found = self._level(0)
        if self.at < len(self.words):
            raise ValueError(f"syntax error: unexpected argument ‘{self.words[self.at]}’")
        return found

    def _level(self, level: int) -> str:
        if level == len(self._LEVELS):
            return self._primary()
        left = self._level(level + 1)
        while self.at < len(self.words) and self.words[self.at] in self._LEVELS[level]:
            operator = self.words[self.at]
            self.at += 1
            left = self._applied(operator, left, self._level(level + 1))
        return left

    @staticmethod
    def _applied(operator: str, left: str, right: str) -> str:
        if operator == "|":
            return left if left not in ("", "0") else right if right not in ("",) else "0"
        if operator == "&":
            return left if left not in ("", "0") and right not in ("", "0") else "0"
        if operator == ":":
            return _matched(left, right)
        numeric = all(re.fullmatch(r"-?\d+", each) for each in (left, right))
        if operator in ("+", "-", "*", "/", "%"):
            if not numeric:
                raise ValueError("non-integer argument")
            if max(len(left), len(right)) > 18 and operator != "*":
                a, b = int(left[:4000]), int(right[:4000])
                return str({"+": a + b, "-": a - b}.get(operator, apply(operator, a, b) if operator in "/%" else 0))
            return (
                str(int(left[:4000]) * int(right[:4000]))
                if operator == "*"
                else str(apply(operator, int(left), int(right)))
            )
        a, b = (int(left[:4000]), int(right[:4000])) if numeric else (left, right)  # type: ignore[assignment]
        holds = {"<": a < b, "<=": a <= b, "=": a == b, "==": a == b, "!=": a != b, ">=": a >= b, ">": a > b}[operator]
        return "1" if holds else "0"

    def _take(self) -> str:
        if self.at >= len(self.words):
            raise ValueError(f"syntax error: missing argument after ‘{self.words[-1]}’")
        self.at += 1
        return self.words[self.at - 1]

    def _primary(self) -> str:
        word = self._take()
        if word == "(":
            found = self._level(0)
            if self._take() != ")":
                raise ValueError("syntax error: expecting ')' instead of ‘" + self.words[self.at - 1] + "’")
            return found
        if word == "length" and self.at < len(self.words):
            return str(len(self._primary()))
        if word == "match" and self.at + 1 < len(self.words):
            left = self._primary()
            return _matched(left, self._primary())
        if word == "substr" and self.at + 2 < len(self.words):
            text, start, size = self._primary(), self._primary(), self._primary()
            if not (start.isdigit() and size.isdigit()) or start == "0":
                return ""
            return text[int(start[:9]) - 1 : int(start[:9]) - 1 + int(size[:9])]
        if word == "index" and self.at + 1 < len(self.words):
            text, chars = self._primary(), self._primary()
            return str(next((at + 1 for at, char in enumerate(text) if char in chars), 0))
        return self._take() if word == "+" and self.at < len(self.words) else word


def _matched(text: str, pattern: str) -> str:
    compiled = compile_pattern("^" + pattern.removeprefix("^"), "G")
    found = compiled.search(text)
    if compiled.count:
        return (found.groups[1] or "") if found is not None else ""
    return str(found.end if found is not None else 0)


def date(call: Call) -> Outcome:
    """The time, or another one (`-d`), in a form."""
    given = parse(
        _iso(call.args),
        "uR",
        "dfrsI iso-8601 rfc-3339 D",
        {
            "date": "d",
            "utc": "u",
            "universal": "u",
            "rfc-email": "R",
            "reference": "r",
            "iso-8601": "iso-8601",
            "rfc-3339": "rfc-3339",
            "set": "s",
            "rfc-2822": "R",
        },
    )
    if given.problem:
        return call.wrong(given.problem)
    now_ns = call.now_ns + call.place.offset_ns()
    if "r" in given.values:
        found = call.look(given.values["r"])
        if found is None:
            return call.wrong(f"{given.values['r']}: No such file or directory", hint=False)
        now_ns = found.changed_ns
    form = next((word[1:] for word in given.words if word.startswith("+")), "")
    extra = next((word for word in given.words if not word.startswith("+")), "")
    if extra or "s" in given.values:
        if call.place.who.uid == 0 and not extra:
            own = call.place.program(call)
            if own is not None:
                return own
        return Outcome(
            stderr=f"date: invalid date ‘{extra}’\n" if extra else "date: cannot set date: Operation not permitted\n",
            code=1,
        )
    if "I" in given.values or "iso-8601" in given.values:
        form = {"d": "%F", "h": "%FT%H%:z", "m": "%FT%R%:z", "n": "%FT%T,%N%:z"}.get(
            (given.values.get("I") or given.values.get("iso-8601") or "d")[:1], "%FT%T%:z"
        )
    elif "rfc-3339" in given.values:
        form = {"d": "%F", "n": "%F %T.%N%:z"}.get(given.values["rfc-3339"][:1], "%F %T%:z")
    elif given.has("R"):
        form = "%a, %d %b %Y %T %z"
    form = form or "%a %b %e %H:%M:%S %Z %Y"
    name = "" if given.has("u") else call.env.get("TZ", "")
    if "d" not in given.values:
        seconds = unix_seconds(now_ns)
        return Outcome(formatted_at(form, seconds, now_ns % SECOND, zone(name, seconds)) + "\n")
    local_ns = now_ns + zone(name, unix_seconds(now_ns))[0] * SECOND
    found_at = read_date(given.values["d"], local_ns)
    if not call.gnu and _BUSYBOX_DATE.fullmatch(given.values["d"]) is None:
        found_at = None
    if found_at is None:
        said = f"invalid date ‘{given.values['d']}’" if call.gnu else f"invalid date '{given.values['d']}'"
        return Outcome(stderr=f"date: {said}\n", code=1)
    if name and not _ABSOLUTE.search(given.values["d"]):
        found_at = (found_at[0] - zone(name, found_at[0])[0], found_at[1])
    return Outcome(formatted_at(form, *found_at, zone(name, found_at[0])) + "\n")


#: Dates that say their time zone themselves.
_ABSOLUTE = re.compile(r"^\s*@|\d[Zz]\b|\b(?:UTC|GMT|[ECMP][SD]T|CES?T)\b|:\d\d(?:\.\d+)?\s*[-+]\s*\d")
#: What BusyBox' `date -d` takes.
_BUSYBOX_DATE = re.compile(r"@\d+|(?:\d{4}-\d\d?-\d\d? )?\d\d?:\d\d(?::\d\d)?|\d{4}-\d\d?-\d\d?")


def _iso(args: list[str]) -> list[str]:
    """`-I` and `--iso-8601` take what they are given only where it is joined to them."""
    short = {"-I": "-Id", "--iso-8601": "--iso-8601=d"}
    return [short.get(word, word) for word in args]


def cal(call: Call) -> Outcome:
    """A month."""
    year, month, _ = civil((call.now_ns // SECOND + 9 * 3600) // 86_400 + 20_514)
    words = [int(word[:4]) for word in call.args if word.isdigit()]
    if len(words) == 2:
        month, year = words
    elif words:
        return call.wrong("only one month can be shown", hint=False)
    if not 1 <= month <= 12:
        return call.wrong(f"{month} is neither a month number (1..12) nor a name", hint=False)
    first = days_of(year, month, 1)
    days = days_of(year + month // 12, month % 12 + 1, 1) - first
    title = formatted_at("%B %Y", first * 86_400)
    cells = ["  "] * ((first + 4) % 7) + [f"{day:2d}" for day in range(1, days + 1)]
    rows = [" ".join(cells[at : at + 7]) for at in range(0, len(cells), 7)]
    return Outcome("\n".join([title.center(20).rstrip(), "Su Mo Tu We Th Fr Sa", *rows, "", ""]))


def basename(call: Call) -> Outcome:
    """The last part of a path."""
    given = parse(call.args, "az", "s", {"multiple": "a", "suffix": "s"})
    if given.problem:
        return call.wrong(given.problem)
    words = given.words
    if not words:
        return call.wrong("missing operand")
    suffix, names = given.values.get("s", ""), words
    if not given.has("a", "s"):
        if len(words) > 2:
            return call.wrong(f"extra operand ‘{words[2]}’")
        names, suffix = words[:1], words[1] if len(words) > 1 else ""
    out = []
    for name in names:
        base = name.rstrip("/").rpartition("/")[2] or ("/" if name else "")
        out.append((base[: -len(suffix)] if suffix and base.endswith(suffix) and base != suffix else base) + "\n")
    return Outcome("".join(out))


def dirname(call: Call) -> Outcome:
    """All but the last part of a path."""
    words = [word for word in call.args if word not in ("-z", "--")]
    if not words:
        return call.wrong("missing operand")
    out = []
    for name in words:
        stripped = name.rstrip("/")
        folder = stripped.rpartition("/")[0].rstrip("/")
        out.append((folder or ("/" if name.startswith("/") else ".")) + "\n")
    return Outcome("".join(out))


def sleep(call: Call) -> Outcome:
    """Wait."""
    if not call.args:
        return call.wrong("missing operand")
    total_ns = 0
    for word in call.args:
        match = re.fullmatch(r"(\d{0,15})(?:\.(\d*))?([smhd]?)", word)
        if word in ("infinity", "inf"):
            return Outcome(delay_ns=FOREVER_NS)
        if match is None or not (match[1] or match[2]):
            return call.wrong(f"invalid time interval ‘{word}’" if call.gnu else f"invalid number '{word}'")
        unit_ns = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}[match[3]] * SECOND
        total_ns += int(match[1] or 0) * unit_ns + int((match[2] or "0")[:9].ljust(9, "0")) * (unit_ns // SECOND)
    return Outcome(delay_ns=min(total_ns, FOREVER_NS))


def envsubst(call: Call) -> Outcome:
    """Variables in a text."""
    wanted = {name for word in call.args for name in re.findall(r"\$\{?(\w+)", word)}
    return Outcome(
        re.sub(
            r"\$(?:\{(\w+)\}|([A-Za-z_]\w*))",
            lambda m: call.env.get(m[1] or m[2], "") if not wanted or (m[1] or m[2]) in wanted else m[0],
            call.stdin(),
        )
    )


def more(call: Call) -> Outcome:
    """A pager without a terminal prints all."""
    words = [word for word in call.args if word[:1] not in "-+"]
    return call.done("".join(text for _, text in call.inputs(words, "{name}: {problem}")))


def true(call: Call) -> Outcome:
    """Success."""
    return Outcome()


def false(call: Call) -> Outcome:
    """Failure."""
    return Outcome(code=1)


def printenv(call: Call) -> Outcome:
    """Exported variables."""
    names = [word for word in call.args if word != "-0"]
    if not names:
        return Outcome("".join(f"{name}={value}\n" for name, value in call.env.items()))
    known = [call.env[name] for name in names if name in call.env]
    return Outcome("".join(f"{value}\n" for value in known), code=int(len(known) < len(names)))


TOOLS: dict[str, Tool] = {
    "[": conditions.test,
    "[[": conditions.test,
    "basename": basename,
    "cal": cal,
    "date": date,
    "dirname": dirname,
    "echo": echo,
    "envsubst": envsubst,
    "expr": expr,
    "false": false,
    "less": more,
    "more": more,
    "printenv": printenv,
    "printf": printf,
    "seq": seq,
    "sleep": sleep,
    "test": conditions.test,
    "true": true,
    "yes": yes,
}

"""getopt, getconf, fmt and csplit."""

from __future__ import annotations

from simcluster.models.userland.escapes import raw
from simcluster.models.userland.options import parse
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError
from simcluster.models.userland.place import Call, Tool
from simcluster.models.userland.regex import RegexError, compile_pattern
from simcluster.models.userland.tools.lines import kept_lines

#: What `getconf` says on a 64-bit Linux (sysconf(3)).
_SYSTEM = {"PAGE_SIZE": 4096, "PAGESIZE": 4096, "ARG_MAX": 2_097_152, "CLK_TCK": 100, "OPEN_MAX": 1024, "LONG_BIT": 64,
           "NAME_MAX": 255, "PATH_MAX": 4096, "IOV_MAX": 1024, "CHILD_MAX": 62_744}  # fmt: skip


def getconf(call: Call) -> Outcome:
    """One value of the system."""
    if not call.args:
        return Outcome(stderr="Usage: getconf [-v specification] variable_name [pathname]\n", code=1)
    value = _SYSTEM.get(call.args[0])
    if value is None:
        return Outcome(stderr=f"getconf: Unrecognized variable `{call.args[0]}'\n", code=2)
    return Outcome(f"{value}\n")


def getopt(call: Call) -> Outcome:
    """Options of a script in their order (util-linux)."""
    words, short, long, name, old = list(call.args), None, [], "getopt", True
    plain = not words or not words[0].startswith("-")
    quiet = False
    while words and not plain:
        word = words.pop(0)
        if word == "--":
            break
        key, equals, joined = word.partition("=")
        if word in ("-T", "--test"):
            return Outcome(code=4)
        if word in ("-q", "--quiet", "-u", "--unquoted", "-a", "--alternative"):
            quiet, old = quiet or word in ("-q", "--quiet"), old and word not in ("-u", "--unquoted")
        elif key in ("-o", "--options", "-l", "--longoptions", "--long", "-n", "--name") or word[:2] in (
            "-o",
            "-l",
            "-n",
        ):
            value = joined if equals and key[:2] == "--" else word[2:] if len(word) > 2 and key[:2] != "--" else (
                words.pop(0) if words else "")  # fmt: skip
            kind = key[2] if key[:2] == "--" else word[1]
            if kind == "o":
                short = value
            elif kind == "l":
                long += [each for each in value.replace(",", " ").split() if each]
            else:
                name = value
        else:
            words.insert(0, word)
            break
    if plain or short is None:
        if not words:
            return Outcome(
                stderr="getopt: missing optstring argument\nTry 'getopt --help' for more information.\n", code=2
            )
        short, old = words.pop(0), not plain
    found, rest, errors = _parsed(words, short, long, name)
    shown = [_quoted(each) if old and not each.startswith("\0") else each.lstrip("\0") for each in found]
    shown += ["--", *(_quoted(each) if old else each for each in rest)]
    return Outcome(" " + " ".join(shown) + "\n", "" if quiet else errors, int(bool(errors)))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _parsed(words: list[str], short: str, long: list[str], name: str) -> tuple[list[str], list[str], str]:
    """Options (marked) with their values, operands, complaints."""
    found: list[str] = []
    rest: list[str] = []
    errors, letters, early = "", short.lstrip("+-:"), short.startswith("+")
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--":
            rest += queue
            break
        if word.startswith("--"):
            errors += _long(word, queue, long, name, found)
        elif word.startswith("-") and len(word) > 1:
            errors += _cluster(word[1:], queue, letters, name, found)
        else:
            rest.append(word)
            if early:
                rest += queue
                break
    return found, rest, errors


def _long(word: str, queue: list[str], long: list[str], name: str, found: list[str]) -> str:
    key, equals, value = word[2:].partition("=")
    fits = [each for each in long if each.rstrip(":") == key] or [each for each in long if each.startswith(key)]
    if not fits:
        return f"{name}: unrecognized option '--{key}'\n"
    if len(fits) > 1:
        choices = " ".join(f"'--{each.rstrip(':')}'" for each in fits)
        return f"{name}: option '--{key}' is ambiguous; possibilities: {choices}\n"
    option, colons = fits[0].rstrip(":"), fits[0].count(":")
    if colons == 1 and not equals and not queue:
        return f"{name}: option '--{option}' requires an argument\n"
    if not colons and equals:
        return f"{name}: option '--{option}' doesn't allow an argument\n"
    found.append(f"\0--{option}")
    if colons:
        found.append(value if equals or colons == 2 else queue.pop(0))
    return ""


def _cluster(text: str, queue: list[str], letters: str, name: str, found: list[str]) -> str:
    while text:
        letter, text = text[0], text[1:]
        at = letters.find(letter)
        if at < 0 or letter == ":":
            return f"{name}: invalid option -- '{letter}'\n"
        found.append(f"\0-{letter}")
        colons = len(letters[at + 1 : at + 3]) - len(letters[at + 1 : at + 3].lstrip(":"))
        if colons:
            if not text and colons == 1 and not queue:
                found.pop()
                return f"{name}: option requires an argument -- '{letter}'\n"
            found.append(text if text or colons == 2 else queue.pop(0))
            return ""
    return ""


def fmt(call: Call) -> Outcome:
    """Paragraphs filled to a width: as even as one pass makes them."""
    given = parse(call.args, "cstu", "wgp", {"width": "w", "goal": "g"})
    if given.problem:
        return call.wrong(given.problem)
    text = given.values.get("w", "75")
    if not text.isdigit():
        return call.wrong(f"invalid width: ‘{text}’", hint=False)
    width = int(text[:5])
    out: list[str] = []
    for _, content in call.inputs(given.words):
        for paragraph in content.split("\n\n"):
            lines = [line for line in paragraph.split("\n") if line.strip()]
            lead = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else ""
            line = lead
            for word in " ".join(lines).split():
                if line.strip() and len(line) + 1 + len(word) > width:
                    out.append(line + "\n")
                    line = lead
                line += (" " if line.strip() else "") + word
            out.append(line + "\n" if line.strip() else "")
            out.append("\n")
        out = out[:-1]
    return call.done("".join(out))


def csplit(call: Call) -> Outcome:
    """Pieces of a file, cut where lines match."""
    long = {"prefix": "f", "digits": "n", "quiet": "s", "silent": "s", "keep-files": "k", "elide-empty-files": "z"}
    given = parse(call.args, "kqsz", "fnb", long)
    if given.problem or not given.words:
        return call.wrong(given.problem or "missing operand")
    texts = call.inputs(given.words[:1], "cannot open '{name}' for reading: {problem}")
    if not texts:
        return call.done()
    lines, at, pieces, failed = kept_lines(texts[0][1]), 0, [], ""
    patterns = list(given.words[1:])
    while patterns and not failed:
        word = patterns.pop(0)
        again = patterns[0] if patterns and patterns[0].startswith("{") else ""
        end = _cut(lines, at, word)
        if end is None:
            failed = f"csplit: ‘{word}’: {'line number out of range' if word.isdigit() else 'match not found'}\n"
            break
        if not word.startswith("%"):
            pieces.append("".join(lines[at:end]))
        at = end
        if again:
            patterns.pop(0)
            left = 1 << 30 if again == "{*}" else int(again.strip("{}")[:6] or 0)
            while left and (end := _cut(lines, at, word, later=True)) is not None:
                pieces.append("".join(lines[at:end]))
                at, left = end, left - 1
    if not failed:
        pieces.append("".join(lines[at:]))
    pieces = [piece for piece in pieces if piece or not given.has("z")]
    prefix, digits = given.values.get("f", "xx"), int(given.values.get("n", "2")[:2] or 2)
    sizes = "".join(f"{len(raw(piece))}\n" for piece in pieces)
    try:
        for number, piece in enumerate(pieces if not failed or given.has("k") else ()):
            call.files.write(call.resolved(f"{prefix}{number:0{digits}d}"), piece)
    except FileError as problem:
        return call.wrong(str(problem), hint=False)
    return Outcome("" if given.has("s", "q") else sizes, failed, int(bool(failed)))


def _cut(lines: list[str], at: int, word: str, *, later: bool = False) -> int | None:
    if word.isdigit():
        return int(word[:9]) - 1 if at <= int(word[:9]) - 1 <= len(lines) else None
    sign = word[:1]
    body, _, offset = word[1:].rpartition(sign)
    try:
        program = compile_pattern(body, "G")
    except RegexError:
        return None
    for number in range(at + (1 if later or (at and number_matches(program, lines, at)) else 0), len(lines)):
        if program.search(lines[number].removesuffix("\n"), 0) is not None:
            moved = number + (int(offset) if offset.lstrip("+-").isdigit() else 0)
            return moved if at <= moved <= len(lines) else None
    return None


def number_matches(program: object, lines: list[str], at: int) -> bool:
    """Whether the line at which the last piece was cut would be found again."""
    return at < len(lines) and program.search(lines[at].removesuffix("\n"), 0) is not None  # type: ignore[attr-defined]


TOOLS: dict[str, Tool] = {"csplit": csplit, "fmt": fmt, "getconf": getconf, "getopt": getopt}

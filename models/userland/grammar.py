"""Compiles a shell script into a flat program of small instructions.

A program is a tuple of plain tuples, and a running shell is a counter into it: it can be pickled between any two
commands. Jumps are relative, so blocks can be put together freely.

Instructions (n: instructions to skip, counted from the instruction itself): `cmd assigns words redirections line` ·
`jmp n` · `jtrue n` · `jfalse n` · `not` · `status code` · `guard` and `unguard` (in between `set -e` does not act) ·
`loop n continue` · `for name words n` · `next name n` · `endloop` · `spawn kind n need` (the block up to n is a process
of its own, ended by `end`; kind is `sub`, `bg` or `pipe`) · `pipes` and `piped` around a pipeline · `redir
redirections` · `unredir` · `choose name n` · `case word` · `match words n` · `def name n` · `ret` · `arith word` ·
`cond tree` · `time` and `timed posix`.

A mistake is worded by `complaint`, as the shell of the face does. Left out: `coproc`, which is refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from simcluster.models.userland.face import Face
from simcluster.models.userland.lexer import DEPTH_MAX, Code, Lexer, ShellSyntaxError, Token, Word
from simcluster.models.userland.needs import need_of

Instruction = tuple[Any, ...]
Block = list[Instruction]
#: Names and what they stand for.
Aliases = tuple[tuple[str, str], ...]

_TEST, _TESTED = (("lit", "[[", False),), (("lit", "]]", False),)
_CLOSERS = frozenset(("then", "else", "elif", "fi", "do", "done", "esac", "}"))
_UNARY = frozenset(f"-{letter}" for letter in "abcdefghkprstuwxGLNOSznov")
_BINARY = frozenset(("=", "==", "!=", "=~", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"))


@lru_cache(maxsize=512)
def compile_script(text: str, shell: str = "dash", aliases: Aliases = ()) -> Code:
    """The program of a script in the language of `bash`, `ash` or `dash`; aliases hold at a terminal alone.

    Raises:
        ShellSyntaxError: the text is no shell program.
    """
    return _compiled(text, -1, 0, shell, aliases)[0]


def complaint(problem: ShellSyntaxError, face: Face, name: str, text: str) -> str:
    """What a shell prints of a script that it cannot read, with `name` as its `$0`."""
    token = "newline" if problem.token == "\n" else problem.token
    if face.bash:
        lines = text.split("\n")
        last = len(lines) + (not text.endswith("\n"))
        if problem.matching:
            line = last if problem.matching in ")}" else problem.line
            return f"{name}: -c: line {line}: unexpected EOF while looking for matching `{problem.matching}'\n"
        if not token:
            return f"{name}: -c: line {last}: syntax error: unexpected end of file\n"
        shown = lines[problem.line - 1] if problem.line <= len(lines) else ""
        head = f"{name}: -c: line {problem.line}:"
        return f"{head} syntax error near unexpected token `{token}'\n{head} `{shown}'\n"
    quote = problem.matching in ("'", '"')
    wanted = problem.wanted or ("" if quote else problem.matching)
    expecting = f' (expecting "{wanted}")' if wanted else ""
    if face.shell == "dash":
        said = "Unterminated quoted string" if quote else f'"{token}" unexpected' if token else "end of file unexpected"
        return f"{name}: {problem.line}: Syntax error: {said}{'' if quote else expecting}\n"
    shown = token if token == "newline" else f'"{token}"'
    said = "unterminated quoted string" if quote else f"unexpected {shown if token else 'end of file'}{expecting}"
    return f"{name}: syntax error: {said}\n"


def is_unfinished(text: str, *, shell: str = "bash") -> bool:
    """Whether a script goes on in the next line: an open quote, bracket, compound command or here-document.

    >>> is_unfinished("for i in 1 2"), is_unfinished("cat <<EOF"), is_unfinished("echo a \\\\"), is_unfinished("echo )")
    (True, True, True, False)
    """
    if text.endswith("\\") and not text.endswith("\\\\"):
        return True
    try:
        parser = _Parser(text, 0, 0, shell)
        parser.script("")
    except ShellSyntaxError as problem:
        return not problem.token or bool(problem.matching)
    return parser.open_here


def _compiled(text: str, position: int, depth: int, shell: str, aliases: Aliases) -> tuple[Code, int]:
    """The code of a text, or of what stands from a position up to the parenthesis that closes it, and where it ends."""
    try:
        parser = _Parser(text, max(0, position), depth, shell, aliases)
        block = parser.script(")" if position >= 0 else "")
    except RecursionError:
        raise ShellSyntaxError("(", 1) from None
    return tuple(_sealed(instruction) for instruction in block), parser.end


def _sealed(instruction: Instruction) -> Instruction:
    """Put here-documents, which were read after their line, into the instruction."""
    place = {"cmd": 3, "redir": 1}.get(instruction[0])
    if place is None or not instruction[place]:
        return instruction
    said = tuple(
        (fd, o, (target[0] if target else ()) if o == "<<" else target) for fd, o, target in instruction[place]
    )
    return (*instruction[:place], said, *instruction[place + 1 :])


def process_of(kind: str, body: Block, need: Any = None) -> Block:
    """A block that runs as a process of its own."""
    return [("spawn", kind, len(body) + 2, need), *body, ("end",)]


class _Parser:
    def __init__(self, text: str, position: int, depth: int, shell: str, aliases: Aliases = ()) -> None:
        self._aliases = dict(aliases)
        self._replacing: list[
            tuple[str, int]
        ] = []  # aliases, and how much of the text stands behind what they stand for
        self._shell, self._bash = shell, shell == "bash"
        self._lexer = Lexer(text, lambda inner, at, deep: _compiled(inner, at, deep, shell, aliases), shell, depth)
        self._lexer.position = position
        self._read_to = (0, 1)  # a place in the text, and its line
        self._deep = depth
        self._token = self._lexer.next()
        self.end = len(text)

    def script(self, closer: str) -> Block:
        block = self._list(())
        if closer and self._is(closer):
            self.end = self._token.start + 1
        elif self._token.kind != "eof" or closer:
            if closer and self._token.kind == "eof":
                raise ShellSyntaxError("", self._line(), closer, matching=closer)
            raise self._unexpected()
        return block

    @property
    def open_here(self) -> bool:
        """Whether a here-document lacks its end."""
        return self._lexer.open_here

    def _line(self) -> int:
        at, line = self._read_to
        line += self._lexer.text.count("\n", at, self._token.start)
        self._read_to = (max(at, self._token.start), line)
        return line

    def _advance(self) -> Token:
        token = self._token
        self._token = self._lexer.next()
        return token

    def _is(self, text: str) -> bool:
        return self._token.kind in ("word", "op") and self._token.text == text

    def _expect(self, text: str) -> None:
        if not self._is(text):
            raise self._unexpected(text)
        self._advance()

    def _unexpected(self, wanted: str = "") -> ShellSyntaxError:
        return ShellSyntaxError(self._token.text, self._line(), wanted)

    def _skip_newlines(self) -> None:
        while self._token.kind == "newline":
            self._advance()

    def _list(self, until: tuple[str, ...]) -> Block:
        """Commands up to one of the closing words (not consumed) or the end."""
        block: Block = []
        while True:
            self._skip_newlines()
            if self._token.kind == "eof" or any(self._is(word) for word in until):
                return block
            token = self._token
            if token.text in ((")", ";;", ";&", ";;&") if token.kind == "op" else _CLOSERS) and token.kind != "io":
                return block
            begun = self._token.start
            part = self._and_or()
            if self._is("&"):
                said = self._lexer.text[begun : self._token.start].strip()
                self._advance()
                block += process_of("bg", part, said)
                continue
            block += part
            if self._is(";"):
                self._advance()
            elif self._token.kind != "newline":
                return block

    def _body(self, *until: str) -> Block:
        block = self._list(until)
        if not block:
            raise self._unexpected(until[0])
        return block

    def _and_or(self) -> Block:
        block = self._pipeline()
        while self._is("&&") or self._is("||"):
            jump = "jfalse" if self._advance().text == "&&" else "jtrue"
            self._skip_newlines()
            right = self._pipeline()
            block = [("guard",), *block, ("unguard",), (jump, len(right) + 1), *right]
        return block

    def _pipeline(self) -> Block:
        negate, timed = False, ""
        while self._is("!") or (self._is("time") and self._bash):
            if self._advance().text == "!":
                negate = not negate
            else:
                timed = "bash"
                if self._is("-p"):
                    self._advance()
                    timed = "posix"
        empty = timed and (self._token.kind in ("newline", "eof") or self._is(";"))
        stages = [self._command() if not empty else [("status", 0)]]
        while self._is("|") or self._is("|&"):
            if self._advance().text == "|&":
                stages[-1] = [("redir", ((2, ">&", (("lit", "1", False),)),)), *stages[-1], ("unredir",)]
            self._skip_newlines()
            if self._token.kind == "eof":
                raise self._unexpected()
            stages.append(self._command())
        block = stages[0]
        if len(stages) > 1:
            block = [("pipes",)]
            for at, stage in enumerate(stages[:-1]):
                block += process_of("pipe", stage, need_of(stages[at + 1]))
            block += [*process_of("sub", stages[-1]), ("piped",)]
        if negate:
            block = [("guard",), *block, ("unguard",), ("not",)]
        return [("time",), *block, ("timed", timed)] if timed else block

    def _command(self) -> Block:
        self._deep += 1
        if self._deep > DEPTH_MAX * 2:
            raise self._unexpected()
        try:
            return self._any_command()
        finally:
            self._deep -= 1

    def _unalias(self) -> None:
        """Put what an alias stands for in the place of a command's first word."""
        lexer = self._lexer
        while self._token.kind == "word" and self._token.text in self._aliases:
            name, left = self._token.text, len(lexer.text) - self._token.start
            self._replacing = [(each, behind) for each, behind in self._replacing if left > behind]
            if any(each == name for each, _ in self._replacing):
                return
            end = lexer.position
            self._replacing.append((name, len(lexer.text) - end))
            lexer.text = lexer.text[: self._token.start] + self._aliases[name] + lexer.text[end:]
            lexer.position = self._token.start
            self._token = lexer.next()

    def _any_command(self) -> Block:
        if self._aliases:
            self._unalias()
        token = self._token
        if token.kind == "op" and token.text == "(":
            if self._bash and self._lexer.text.startswith("(", self._lexer.position):
                word = self._lexer.arithmetic()
                if word is not None:
                    self._advance()
                    return self._redirected([("arith", word, self._line())])
            self._advance()
            body = self._body(")")
            self._expect(")")
            return self._redirected(process_of("sub", body))
        if token.kind == "word":
            compound = _COMPOUND.get(token.text)
            if compound is not None and token.text not in _LACKING.get(self._shell, ()):
                self._advance()
                return self._redirected(compound(self))
            if token.text in _CLOSERS:
                raise self._unexpected()
        return self._simple()

    def _redirected(self, block: Block) -> Block:
        redirections = []
        while self._token.kind == "io":
            redirections.append(self._redirection())
        if redirections:
            return [("redir", tuple(redirections), len(block) + 1), *block, ("unredir",)]
        return block

    def _redirection(self) -> tuple[Any, ...]:
        operator = self._advance()
        if self._token.kind != "word":
            raise self._unexpected()
        target = self._token
        if operator.text in ("<<", "<<-"):
            cell = self._lexer.here_document(target, operator.text == "<<-")
            self._advance()
            return (max(operator.fd, 0), "<<", cell)
        self._advance()
        fd = operator.fd if operator.fd >= 0 else (0 if operator.text.startswith("<") else 1)
        return (fd, operator.text, target.word)

    def _simple(self) -> Block:
        assigns: list[tuple[Any, ...]] = []
        words: list[Word] = []
        redirections: list[tuple[Any, ...]] = []
        line = self._line()
        while True:
            token = self._token
            if token.kind == "io":
                redirections.append(self._redirection())
            elif token.kind == "word":
                assigned = None if words else assignment(token.word, self._bash)
                if assigned is not None:
                    assigns.append(assigned)
                else:
                    words.append(token.word)
                self._advance()
                if len(words) == 1 and assigned is None and self._is("(") and not assigns and not redirections:
                    return self._function(token.text)
            elif self._shell == "ash" and token.text in ("&&", "||") and words[:1] == [_TEST] and words[-1] != _TESTED:
                words.append((("lit", "-a" if self._advance().text == "&&" else "-o", True),))
            else:
                break
        if not (assigns or words or redirections):
            raise self._unexpected()
        return [("cmd", tuple(assigns), tuple(words), tuple(redirections), line)]

    def _function(self, name: str) -> Block:
        self._expect("(")
        self._expect(")")
        return self._definition(name)

    def _definition(self, name: str) -> Block:
        self._skip_newlines()
        body = self._command()
        return [("def", name, len(body) + 2), *body, ("ret",)]

    def _keyword_function(self) -> Block:
        name = self._advance().text
        if self._is("("):
            return self._function(name)
        return self._definition(name)

    def _group(self) -> Block:
        body = self._body("}")
        self._expect("}")
        return body

    def _condition(self, until: str) -> Block:
        return [("guard",), *self._body(until), ("unguard",)]

    def _if(self) -> Block:
        condition = self._condition("then")
        self._expect("then")
        body = self._body("fi")
        otherwise: Block = [("status", 0)]
        if self._is("elif"):
            self._advance()
            otherwise = self._if()
        else:
            if self._is("else"):
                self._advance()
                otherwise = self._body("fi")
            self._expect("fi")
        return [*condition, ("jfalse", len(body) + 2), *body, ("jmp", len(otherwise) + 1), *otherwise]

    def _do(self) -> Block:
        self._skip_newlines()
        if self._bash and self._is("{"):
            self._advance()
            return self._group()
        self._expect("do")
        body = self._body("done")
        self._expect("done")
        return body

    def _while(self, jump: str = "jfalse") -> Block:
        condition = self._condition("do")
        body = self._do()
        size = len(condition) + len(body)
        # The status of a loop is that of its last round.
        return [("loop", size + 3, 1), *condition, (jump, len(body) + 2), *body, ("jmp", -(size + 1)), ("endloop",)]

    def _until(self) -> Block:
        return self._while("jtrue")

    def _for(self) -> Block:
        if self._bash and self._is("(") and self._lexer.text.startswith("(", self._lexer.position):
            return self._counted()
        name = self._advance().text
        self._skip_newlines()
        words: list[Word] = [(("var", "@", None, "", (), True),)]
        if self._is("in"):
            self._advance()
            words = []
            while self._token.kind == "word":
                words.append(self._advance().word)
            if self._token.kind not in ("newline", "eof") and not self._is(";"):
                raise self._unexpected()
        if self._is(";"):
            self._advance()
        body = self._do()
        size = len(body)
        return [("for", tuple(words), size + 3), ("next", name, size + 2), *body, ("jmp", -(size + 1)), ("endloop",)]

    def _select(self) -> Block:
        """`select NAME in WORDS`: a `for` whose next word somebody chooses."""
        block = self._for()
        if block[0][0] != "for":
            raise self._unexpected()
        return [block[0], ("choose", *block[1][1:]), *block[2:]]

    def _coproc(self) -> Block:
        line = self._line()
        named = self._token.kind == "word" and self._token.text not in _COMPOUND
        if named:
            self._advance()
        if not named or self._token.kind == "word" or self._is("("):
            self._command()
        return [("cmd", (), ((("lit", "coproc", True),),), (), line)]

    def _counted(self) -> Block:
        """`for ((first; condition; step))`."""
        word = self._lexer.arithmetic()
        if word is None:
            raise self._unexpected()
        line = self._line()
        clauses = [*_clauses(word), (), (), ()][:3]
        self._advance()
        if self._is(";"):
            self._advance()
        body = self._do()
        size = len(body)
        test: Block = [("arith", clauses[1] or (("lit", "1", True),), line)]
        return [
            ("arith", clauses[0] or (("lit", "1", True),), line),
            ("loop", size + 5, size + 3),
            *test,
            ("jfalse", size + 3),
            *body,
            ("arith", clauses[2] or (("lit", "1", True),), line),
            ("jmp", -(size + 3)),
            ("endloop",),
        ]

    def _case(self) -> Block:
        subject = self._advance().word
        self._skip_newlines()
        self._expect("in")
        clauses: list[tuple[tuple[Word, ...], Block, str]] = []
        self._skip_newlines()
        while not self._is("esac"):
            if self._is("("):
                self._advance()
            if self._token.kind != "word":
                raise self._unexpected()
            patterns = [self._advance().word]
            while self._is("|"):
                self._advance()
                patterns.append(self._advance().word)
            self._expect(")")
            body = self._list(("esac",))
            end = ";;"
            if self._token.kind == "op" and self._token.text in (";;", ";&", ";;&"):
                end = self._advance().text
            elif not self._is("esac"):
                raise self._unexpected("esac")
            clauses.append((tuple(patterns), body, end))
            self._skip_newlines()
        self._expect("esac")
        block: Block = [("status", 0)]
        for patterns_of, body, end in reversed(clauses):
            skipped = {";;": len(block) + 1, ";&": 2, ";;&": 1}[end]
            block = [("match", patterns_of, len(body) + 2), *body, ("jmp", skipped), *block]
        return [("case", subject), *block]

    def _test(self) -> Block:
        """`[[ ... ]]`; the word `[[` is taken."""
        line = self._line()
        tree = self._any_of()
        self._expect("]]")
        return [("cond", tree, line)]

    def _any_of(self) -> tuple[Any, ...]:
        tree = self._all_of()
        while self._is("||"):
            self._advance()
            tree = ("or", tree, self._all_of())
        return tree

    def _all_of(self) -> tuple[Any, ...]:
        tree = self._one_of()
        while self._is("&&"):
            self._advance()
            tree = ("and", tree, self._one_of())
        return tree

    def _one_of(self) -> tuple[Any, ...]:
        self._skip_newlines()
        if self._is("!"):
            self._advance()
            return ("not", self._one_of())
        if self._is("("):
            self._advance()
            self._deep += 1
            if self._deep > DEPTH_MAX * 2:
                raise self._unexpected()
            tree = self._any_of()
            self._deep -= 1
            self._expect(")")
            return tree
        if self._token.kind != "word" or self._is("]]"):
            raise self._unexpected()
        first = self._advance()
        if first.text in _UNARY and self._token.kind == "word" and not self._is("]]"):
            return ("unary", first.text, self._advance().word)
        if self._token.text in _BINARY and self._token.kind in ("word", "io"):
            self._lexer.pattern = self._token.text == "=~"
            operator = self._advance().text
            if self._token.kind != "word":
                raise self._unexpected()
            return ("binary", operator, first.word, self._advance().word)
        return ("word", first.word)


#: Compound commands that a language has not: `[[` is a command of ash and none of dash.
_LACKING = {"ash": ("[[", "select", "coproc"), "dash": ("[[", "function", "select", "coproc")}
_COMPOUND = {
    "{": _Parser._group,
    "if": _Parser._if,
    "while": _Parser._while,
    "until": _Parser._until,
    "for": _Parser._for,
    "case": _Parser._case,
    "function": _Parser._keyword_function,
    "[[": _Parser._test,
    "select": _Parser._select,
    "coproc": _Parser._coproc,
}


def _clauses(word: Word) -> list[Word]:
    """The three parts of a counted loop."""
    found: list[list[Any]] = [[]]
    for part in word:
        if part[0] != "lit":
            found[-1].append(part)
            continue
        for at, text in enumerate(part[1].split(";")):
            if at:
                found.append([])
            if text.strip():
                found[-1].append(("lit", text, True))
    return [tuple(clause) for clause in found]


def assignment(word: Word, bash: bool) -> tuple[Any, ...] | None:
    """(name, subscript, whether it appends, value) of `NAME=value`; None if the word is no assignment."""
    if not word or word[0][0] != "lit" or word[0][2]:
        return None
    head, equals, rest = word[0][1].partition("=")
    name, subscript = head, None
    if bash and "[" in head and head.endswith(("]", "]+")):
        name, _, inner = head.removesuffix("+").partition("[")
        subscript = (("lit", inner[:-1], True),)
    elif bash and not equals and "[" in head:
        return _subscripted(word, head)
    append = bash and head.endswith("+")
    name = name.removesuffix("+") if append else name
    if not equals or not (name.isidentifier() and name.isascii()):
        return None
    value = ((("lit", rest, False), *word[1:])) if rest else word[1:]
    return (name, subscript, append, value)


def _subscripted(word: Word, head: str) -> tuple[Any, ...] | None:
    """`NAME[$i]=value`: the subscript has parts of its own."""
    name, _, first = head.partition("[")
    if not (name.isidentifier() and name.isascii()):
        return None
    inner: list[Any] = [("lit", first, True)] if first else []
    for at, part in enumerate(word[1:], 1):
        if part[0] == "lit" and not part[2] and "]" in part[1]:
            before, _, after = part[1].partition("]")
            append, after = after.startswith("+="), after.removeprefix("+")
            if not after.startswith("="):
                return None
            inner += [("lit", before, True)] if before else []
            rest = after[1:]
            value = ((("lit", rest, False), *word[at + 1 :])) if rest else word[at + 1 :]
            return (name, tuple(inner), append, value)
        inner.append(part)
    return None

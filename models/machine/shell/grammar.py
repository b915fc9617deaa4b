"""Compiles a shell script into a flat program of small instructions.

A program is a tuple of plain tuples, and a running shell is a counter into it: it can be
pickled between any two commands. Jumps are relative, so blocks can be put together freely.

Instructions (n, offset: instructions to skip, counted from the instruction itself):
`cmd assigns words redirections` · `jmp n` · `jtrue n` · `jfalse n` · `not` · `status code` ·
`loop n` · `for name words n` · `next n` · `endloop` · `spawn kind n` (the block up to n is a
process of its own, ended by `end`; kind is `sub`, `bg` or `pipe`) · `redir redirections` ·
`unredir` · `case word` · `match words n` · `def name n` · `ret`.
"""

from __future__ import annotations

from typing import Any

from simcluster.models.machine.shell.lexer import Code, Lexer, ShellSyntaxError, Token, Word

Instruction = tuple[Any, ...]
Block = list[Instruction]

_CLOSERS = {"then", "else", "elif", "fi", "do", "done", "esac", "}"}


def compile_script(text: str) -> Code:
    """The program of a script.

    Raises:
        ShellSyntaxError: the text is no shell program.
    """
    return tuple(_sealed(instruction) for instruction in _Parser(text).script())


def _sealed(instruction: Instruction) -> Instruction:
    """Put here-documents, which were read after their line, into the instruction."""
    if instruction[0] not in ("cmd", "redir"):
        return instruction
    redirections = tuple(
        (fd, operator, target[0] if operator == "<<" else target) for fd, operator, target in instruction[-1]
    )
    return (*instruction[:-1], redirections)


class _Parser:
    def __init__(self, text: str) -> None:
        self._lexer = Lexer(text, compile_script)
        self._token = self._lexer.next()

    def script(self) -> Block:
        block = self._list(())
        if self._token.kind != "eof":
            raise self._unexpected()
        return block

    def _advance(self) -> Token:
        token = self._token
        self._token = self._lexer.next()
        return token

    def _is(self, text: str) -> bool:
        return self._token.kind in ("word", "op") and self._token.text == text

    def _expect(self, text: str) -> None:
        if not self._is(text):
            raise ShellSyntaxError(f'{self._unexpected()} (expecting "{text}")')
        self._advance()

    def _unexpected(self) -> ShellSyntaxError:
        token = self._token
        shown = token.text if token.kind in ("eof", "newline") else f'"{token.text}"'
        return ShellSyntaxError(f"syntax error: unexpected {shown}")

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
            if self._is(")") or self._is(";;") or (self._token.kind == "word" and self._token.text in _CLOSERS):
                return block
            part = self._and_or()
            if self._is("&"):
                self._advance()
                block += _process("bg", part)
                continue
            block += part
            if self._is(";"):
                self._advance()
            elif self._token.kind != "newline":
                return block

    def _body(self, *until: str) -> Block:
        block = self._list(until)
        if not block:
            raise self._unexpected()
        return block

    def _and_or(self) -> Block:
        block = self._pipeline()
        while self._is("&&") or self._is("||"):
            jump = "jfalse" if self._advance().text == "&&" else "jtrue"
            self._skip_newlines()
            right = self._pipeline()
            block += [(jump, len(right) + 1), *right]
        return block

    def _pipeline(self) -> Block:
        negate = False
        while self._is("!"):
            self._advance()
            negate = not negate
        block = self._command()
        while self._is("|"):
            self._advance()
            self._skip_newlines()
            block = _process("pipe", block) + _process("sub", self._command())
        if negate:
            block.append(("not",))
        return block

    def _command(self) -> Block:
        token = self._token
        if token.kind == "op" and token.text == "(":
            self._advance()
            body = self._body(")")
            self._expect(")")
            return self._redirected(_process("sub", body))
        if token.kind == "word":
            compound = _COMPOUND.get(token.text)
            if compound is not None:
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
            return [("redir", tuple(redirections)), *block, ("unredir",)]
        return block

    def _redirection(self) -> tuple[Any, ...]:
        operator = self._advance()
        if self._token.kind != "word":
            raise self._unexpected()
        target = self._token
        if operator.text in ("<<", "<<-"):
            cell = self._lexer.here_document(target, operator.text == "<<-")
            self._advance()
            return (0, "<<", cell)
        self._advance()
        fd = operator.fd if operator.fd >= 0 else (0 if operator.text.startswith("<") else 1)
        return (fd, operator.text, target.word)

    def _simple(self) -> Block:
        assigns: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirections: list[tuple[Any, ...]] = []
        while True:
            token = self._token
            if token.kind == "io":
                redirections.append(self._redirection())
            elif token.kind == "word":
                name = "" if words else _assigned_name(token)
                if name:
                    assigns.append((name, _cut(token.word, len(name) + 1)))
                else:
                    words.append(token.word)
                self._advance()
                if len(words) == 1 and self._is("(") and not assigns and not redirections:
                    return self._function(token.text)
            else:
                break
        if not (assigns or words or redirections):
            raise self._unexpected()
        return [("cmd", tuple(assigns), tuple(words), tuple(redirections))]

    def _function(self, name: str) -> Block:
        self._expect("(")
        self._expect(")")
        self._skip_newlines()
        body = self._command()
        return [("def", name, len(body) + 2), *body, ("ret",)]

    def _group(self) -> Block:
        body = self._body("}")
        self._expect("}")
        return body

    def _if(self) -> Block:
        condition = self._body("then")
        self._expect("then")
        body = self._body("elif", "else", "fi")
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

    def _while(self, jump: str = "jfalse") -> Block:
        condition = self._body("do")
        self._expect("do")
        body = self._body("done")
        self._expect("done")
        size = len(condition) + len(body)
        return [
            ("loop", size + 3),
            *condition,
            (jump, len(body) + 2),
            *body,
            ("jmp", -(size + 1)),
            ("endloop",),
        ]

    def _until(self) -> Block:
        return self._while("jtrue")

    def _for(self) -> Block:
        name = self._advance().text
        self._skip_newlines()
        words: list[Word] = [(("var", "@", "", (), True),)]
        if self._is("in"):
            self._advance()
            words = []
            while self._token.kind == "word":
                words.append(self._advance().word)
        if self._is(";"):
            self._advance()
        self._skip_newlines()
        self._expect("do")
        body = self._body("done")
        self._expect("done")
        return [
            ("for", tuple(words), len(body) + 3),
            ("next", name, len(body) + 2),
            *body,
            ("jmp", -(len(body) + 1)),
            ("endloop",),
        ]

    def _case(self) -> Block:
        subject = self._advance().word
        self._skip_newlines()
        self._expect("in")
        clauses: list[tuple[tuple[Word, ...], Block]] = []
        self._skip_newlines()
        while not self._is("esac"):
            if self._is("("):
                self._advance()
            patterns = [self._advance().word]
            while self._is("|"):
                self._advance()
                patterns.append(self._advance().word)
            self._expect(")")
            clauses.append((tuple(patterns), self._list((";;", "esac"))))
            if self._is(";;"):
                self._advance()
            self._skip_newlines()
        self._expect("esac")
        block: Block = [("status", 0)]
        for patterns_of, body in reversed(clauses):
            block = [("match", patterns_of, len(body) + 2), *body, ("jmp", len(block) + 1), *block]
        return [("case", subject), *block]


_COMPOUND = {
    "{": _Parser._group,
    "if": _Parser._if,
    "while": _Parser._while,
    "until": _Parser._until,
    "for": _Parser._for,
    "case": _Parser._case,
}


def _process(kind: str, body: Block) -> Block:
    return [("spawn", kind, len(body) + 2), *body, ("end",)]


def _assigned_name(token: Token) -> str:
    if not token.word or token.word[0][0] != "lit" or token.word[0][2]:
        return ""
    name, equals, _ = token.word[0][1].partition("=")
    return name if equals and name.isidentifier() and name.isascii() else ""


def _cut(word: Word, length: int) -> Word:
    first = word[0]
    rest = first[1][length:]
    return ((("lit", rest, False), *word[1:])) if rest else word[1:]

"""`cp` and `mv` of files and folders within a container, as BusyBox does it; left out: links, owners and times."""

from __future__ import annotations

from simcluster.models.machine.imagetools.call import Outcome, Tool, ToolCall, usage_error
from simcluster.models.machine.shell.files import FileError


def _copy(call: ToolCall, source: str, target: str, deep: bool) -> None:
    """Copy a file, or a folder with all that is in it. Raises FileError."""
    files = call.files
    if not files.is_folder(source):
        files.write(target, files.read(source))
        return
    if not deep:
        raise FileError("omitting directory")
    if f"{target.rstrip('/')}/".startswith(f"{source.rstrip('/')}/"):
        raise FileError("recursion detected, omitting directory")
    files.make_folder(target, parents=True)
    for name in files.entries(source):
        _copy(call, f"{source.rstrip('/')}/{name}", f"{target}/{name}", deep)


def _remove(call: ToolCall, path: str) -> None:
    if call.files.is_folder(path):
        for name in call.files.entries(path):
            _remove(call, f"{path}/{name}")
    call.files.remove(path)


def cp(call: ToolCall) -> Outcome:
    """Copy (or, called `mv`, move); several go into a folder."""
    if len(call.arguments) < 2:
        return usage_error(call, "missing file operand")
    *names, last = call.arguments
    moving = call.name == "mv"
    target = call.path(last)
    into = call.files.is_folder(target)
    if len(names) > 1 and not into:
        return Outcome(stderr=f"{call.name}: target '{last}': No such file or directory\n", code=1)
    deep = moving or any(call.has(letter) for letter in "rRa")
    errors = ""
    for name in names:
        source = call.path(name)
        place = f"{target.rstrip('/')}/{source.rstrip('/').rpartition('/')[2]}" if into else target
        try:
            _copy(call, source, place, deep)
            if moving:
                _remove(call, source)
        except FileError as problem:
            if str(problem).endswith("omitting directory"):
                errors += f"{call.name}: {problem} '{name}'\n"
            else:
                said = "can't rename" if moving else "can't stat"
                errors += f"{call.name}: {said} '{name}': {problem}\n"
    return Outcome(stderr=errors, code=1 if errors else 0)


TOOLS: dict[str, Tool] = {"cp": cp, "mv": cp}

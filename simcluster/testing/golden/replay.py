"""Replays a sequence: every command in real bash, with the simulator's kubectl or a real one first on its PATH."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from simcluster.engine import SECOND
from simcluster.testing.golden.cluster import RecordedWorld
from simcluster.testing.golden.compare import Comparison, compare
from simcluster.testing.golden.shell import Shell, WarmShell
from simcluster.testing.golden.transcripts import Output, Step, Transcripts

#: Simulated seconds between two attempts of an `until`.
_RETRY_S = 1.0
#: The cluster's age at the first command.
_AGE_S = 15
#: Where the recordings hide a path of the recording machine; the nodes' log files lay there too.
_HIDDEN = "<path>"
_LOG_FILE = re.compile(r"/var/log/pods/[^\s:\"]+")

SETUP: dict[str, Callable[[RecordedWorld], None]] = {
    "SETUP-metrics-server": RecordedWorld.install_metrics_server,
}


class Replay:
    """One run of a sequence against one world."""

    def __init__(self, transcripts: Transcripts, world: RecordedWorld, out: Path, scratch: Path, shell: Shell) -> None:
        self.transcripts = transcripts
        self.world = world
        self.out = out
        self.shell = shell
        self._scratch = scratch
        self._own_path = re.compile(rf"{re.escape(str(scratch))}/[^\s:\"']+")
        self._manifests = scratch / "manifests"
        shutil.copytree(transcripts.manifests, self._manifests)

    def step(self, step: Step) -> Output | None:
        """Run one step; None for set-up."""
        self.world.run_for(round(step.pause * SECOND))
        if step.setup:
            self._set_up(step)
            return None
        if step.until:
            self._wait(step)
        return self._run(step.command, self.out / step.stem)

    def _set_up(self, step: Step) -> None:
        if step.name == "SETUP-kill-kubelet":
            self.world.kill_kubelet(step.command.rpartition(" ")[2])
        else:
            SETUP[step.name](self.world)

    def _wait(self, step: Step) -> None:
        deadline = self.world.sim.now + round(step.limit * SECOND)
        while self._run(step.until, self._scratch / "until").code and self.world.sim.now < deadline:
            self.world.run_for(round(_RETRY_S * SECOND))

    def _run(self, command: str, base: Path) -> Output:
        script = command.replace(_HIDDEN, str(self._scratch / "hidden"))
        paths = [base.with_name(f"{base.name}.{end}") for end in ("out", "err")]
        with paths[0].open("w") as out, paths[1].open("w") as err:
            code = self.shell.run(script, self._manifests, out, err)
        texts = [self._hide(path.read_text(errors="replace")) for path in paths]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text) if text or path is paths[0] else path.unlink()
        status = base.with_name(f"{base.name}.rc")
        if code:
            status.write_text(f"{code}\n")
        else:
            status.unlink(missing_ok=True)
        return Output(texts[0], texts[1], code)

    def _hide(self, text: str) -> str:
        return _LOG_FILE.sub(_HIDDEN, self._own_path.sub(_HIDDEN, text))


#: Makes the shell in which the commands run, in a folder of its own.
MakeShell = Callable[[RecordedWorld, Path], Shell]


def replay(
    transcripts: Transcripts,
    out: Path,
    *,
    seed: int = 0,
    world: RecordedWorld | None = None,
    last: int = 0,
    make_shell: MakeShell = WarmShell,
) -> Iterator[Comparison]:
    """Run the steps in order and compare each; what was printed goes to `out/NNN_name.*`.

    Args:
        transcripts: what was recorded.
        out: folder of the outputs; made if it does not exist.
        seed: of the world.
        world: to replay against; by default a new one, 15 s old.
        last: number of the last step to run; 0 runs all.
        make_shell: what runs the commands; by default the simulator's own programs do.
    """
    out.mkdir(parents=True, exist_ok=True)
    if world is None:
        world = RecordedWorld(seed)
        world.run_for(_AGE_S * SECOND)
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        scratch = Path(name)
        shell = make_shell(world, scratch)
        run = Replay(transcripts, world, out, scratch, shell)
        try:
            for step in transcripts.steps:
                if last and step.number > last:
                    return
                output = run.step(step)
                if output is not None:
                    verdict, diff = compare(transcripts.expected(step), output, transcripts.normalise)
                    yield Comparison(step.stem, step.command, verdict, diff)
        finally:
            shell.close()

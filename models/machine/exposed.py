"""Metrics as text, for whoever asks a program for them by hand as a scrape would."""

from __future__ import annotations

from simcluster.models.machine.process import Answer, Call, Process
from simcluster.telemetry import exposition

#: Where exporters show something.
_PATHS = ("/metrics", "/probe", "/scrape")


def answered(program: Process, call: Call) -> Answer:
    """A program's answer to a request; its metrics as text where it has some."""
    if call.kind == "http" and call.method == "GET" and call.path.startswith(_PATHS):
        samples = program.exposition(call)
        if isinstance(samples, Answer):
            return samples
        if samples is not None:
            return Answer("ok", 200, exposition.text(exposition.families_of(samples)))
    return program.answer(call)

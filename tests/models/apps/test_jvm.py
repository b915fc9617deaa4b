"""What a Java service prints, with stack traces, when its kernel refuses it something."""

from __future__ import annotations

from simcluster.apps.registry import applications
from simcluster.models.apps.behaviour import Behaviour
from simcluster.models.apps.shortage import accept_failed, last_words


def behaviour(service: str) -> Behaviour:
    (found,) = (one for folder in applications() for one in folder.behaviour.services.values() if one.name == service)
    return found


def test_a_thread_that_ends_shows_its_stack() -> None:
    words = last_words(behaviour("adservice"), "fork", "EAGAIN")
    assert words.exit_code == 1
    assert words.lines[0].endswith("error=11, Resource temporarily unavailable")
    assert words.lines[1] == "\tat java.base/java.lang.ProcessBuilder.start(ProcessBuilder.java:1143)"
    (cause,) = (place for place, line in enumerate(words.lines) if line.startswith("Caused by: java.io.IOException"))
    assert words.lines[-1] == f"\t... {cause - 2} more"
    written = last_words(behaviour("inventory"), "write", "ENOSPC").lines
    assert written[0] == 'Exception in thread "main" java.io.IOException: No space left on device'
    assert all(line.startswith("\tat java.base/") for line in written[1:])


def test_an_accept_that_fails_is_worded_by_the_server_library() -> None:
    tomcat = accept_failed(behaviour("inventory"), 8080, "EMFILE", 10**18).split("\n")
    assert tomcat[2:4] == [
        "java.io.IOException: Too many open files",
        "\tat java.base/sun.nio.ch.Net.accept(Native Method)",
    ]
    netty = accept_failed(behaviour("adservice"), 9555, "EMFILE", 10**18).split("\n")
    assert netty[-1].endswith("Errors$NativeIoException: accept(..) failed: Too many open files")

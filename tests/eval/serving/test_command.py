"""Commands as agents: what they are handed, and that every way to end is recorded truthfully and leaves nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simcluster.eval.episode import Episode
from simcluster.eval.isolation import agenthost
from simcluster.eval.isolation.agenthost import AgentHost
from simcluster.eval.isolation.ending import Ending
from simcluster.eval.runner.execute import OUTPUT_MAX, keep, work
from simcluster.eval.runner.plan import PlanError
from simcluster.eval.serving import command
from simcluster.session.clock import Budget
from tests.kiosk import OPTIONS, TASK, plan, started

#: What a program in any language does, in one that is here: requests to the API and to the desk.
CLIENT = """
import json, os, signal, ssl, subprocess, sys, time, urllib.error, urllib.request
from base64 import b64encode, b64decode
from pathlib import Path
from urllib.parse import urlsplit

E = os.environ

def api(method, path, body=None, kind="application/json"):
    request = urllib.request.Request(E["SIMCLUSTER_API"] + path, body and json.dumps(body).encode(), method=method)
    request.add_header("Authorization", "Bearer " + E["SIMCLUSTER_TOKEN"])
    request.add_header("Content-Type", kind)
    return json.load(urllib.request.urlopen(request, context=ssl._create_unverified_context()))

def desk(path, text=None):
    place = urlsplit(E["SIMCLUSTER_DESK"])
    request = urllib.request.Request(f"http://{place.hostname}:{place.port}{path}", text and text.encode())
    request.add_header("Authorization", "Basic " + b64encode(f"a:{place.password}".encode()).decode())
    return urllib.request.urlopen(request).read().decode()
"""


@pytest.fixture(scope="module")
def host() -> Iterator[AgentHost]:
    made = AgentHost()
    made.start()
    yield made
    made.close()


class Worked:
    """One run of a script."""

    def __init__(self, host: AgentHost, folder: Path, script: str, wall_s: float = 60.0, budget: int = 200) -> None:
        self.episode: Episode = started()
        self.episode.inbox.budget = Budget(commands=budget)
        path = folder / "agent.py"
        path.write_text(CLIENT + script)
        self.ending, self.printed = run(host, self.episode, f"cmd: {sys.executable} {path}", wall_s)
        self.report = self.episode.finish()


def run(host: AgentHost, episode: Episode, agent: str, wall_s: float = 60.0) -> tuple[Ending, bytes]:
    printed = bytearray()
    ending = work(agent, episode, plan(agent, wall_limit_s=wall_s), host, lambda data: keep(printed, data))
    return ending, bytes(printed)


def test_a_command_finds_cluster_page_and_budget_in_its_environment_and_is_graded(
    host: AgentHost, tmp_path: Path
) -> None:
    worked = Worked(
        host,
        tmp_path,
        """
assert E["SIMCLUSTER_ALERT"] == desk("/alert")
assert (E["SIMCLUSTER_BUDGET_COMMANDS"], E["SIMCLUSTER_WALL_SECONDS"]) == ("200", "60")
assert E["SIMCLUSTER_RUN"].startswith("anon_")
assert os.getpgid(0) == os.getsid(0) == os.getppid()
conductor = f"http://{E['API_HOSTNAME']}:{E['API_PORT']}"
assert conductor == E["SIMCLUSTER_DESK"]
for deployment in api("GET", "/apis/apps/v1/namespaces/kiosk/deployments")["items"]:
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        if deployment["status"].get("unavailableReplicas"):
            name, image = deployment["metadata"]["name"], container["image"]
print(name, image)
desk("/diagnose", f"The image tag of Deployment/{name} does not exist: {image}")
""",
    )
    assert worked.ending == Ending("done"), worked.printed
    assert worked.printed.split()[0] == b"kiosk"
    assert worked.report.diagnosis.passed
    assert not worked.report.mitigation.passed
    assert worked.report.commands == 2


@pytest.mark.parametrize(
    ("script", "outcome", "error"),
    [
        ("sys.exit(3)", "exited", "exit status 3"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed", "signal 11"),
        ("os.kill(os.getppid(), signal.SIGKILL)", "killed", "signal 9"),
        ("os.killpg(0, signal.SIGKILL)", "killed", "signal 9"),
        ("os.close(1); os.close(2)", "done", ""),
        ("1 / 0", "exited", "exit status 1"),
    ],
)
def test_how_it_ends_is_how_it_ended(host: AgentHost, tmp_path: Path, script: str, outcome: str, error: str) -> None:
    worked = Worked(host, tmp_path, script)
    assert worked.ending.outcome == outcome
    assert error in worked.ending.error
    assert worked.report.digest


def test_what_hangs_or_goes_into_the_background_is_ended_whole(
    host: AgentHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agenthost, "TERM_S", 2.0)
    worked = Worked(
        host,
        tmp_path,
        """
signal.signal(signal.SIGTERM, lambda *_: print("asked to end", flush=True))
left = [subprocess.Popen(["sleep", "600"]), subprocess.Popen(["sleep", "600"], start_new_session=True)]
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(600)
    os._exit(0)
print(*[each.pid for each in left], os.getpid(), os.getppid(), flush=True)
while True:
    signal.pause()
""",
        wall_s=3.0,
    )
    assert (worked.ending.outcome, worked.ending.by_itself) == ("timeout", False)
    *pids, asked = worked.printed.decode().replace("asked to end", "asked").split()
    assert asked == "asked"
    assert len(pids) == 5
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_gigabyte_of_output_is_cut_and_no_hindrance(host: AgentHost, tmp_path: Path) -> None:
    worked = Worked(host, tmp_path, "sys.exit(subprocess.call(['head', '-c', '1000000000', '/dev/zero']))")
    assert worked.ending == Ending("done")
    assert worked.printed.endswith(b"\n[the rest was dropped]\n")
    assert len(worked.printed) < OUTPUT_MAX + 100


def test_when_the_budget_is_used_up_a_diagnosis_is_still_taken_and_then_it_is_ended(
    host: AgentHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "GRACE_S", 1.0)
    spend = """
while True:
    try:
        api("GET", "/api/v1/pods")
    except urllib.error.HTTPError as error:
        assert error.code == 429
        desk("/diagnose", "late")
        break
"""
    failed = Worked(host, tmp_path, f"{spend}\nsys.exit(1)", budget=3)
    assert failed.ending.outcome == "budget"
    assert "exit status 1" in failed.ending.error
    stays = Worked(host, tmp_path, f"{spend}\nsignal.pause()", budget=3)
    assert (stays.ending.outcome, stays.ending.error) == ("budget", "the 3 commands are used up")
    assert stays.episode.inbox.executor.submission == "late"


def test_who_has_submitted_twice_has_done_the_work(
    host: AgentHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "GRACE_S", 0.5)
    script = """
for _ in range(2):
    place = urlsplit(E["SIMCLUSTER_DESK"])
    desk("/submit", json.dumps({"solution": "nothing"}))
signal.pause()
"""
    assert Worked(host, tmp_path, script).ending.outcome == "done"


def test_what_cannot_be_started_is_said(host: AgentHost, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF\x00")
    broken.chmod(0o755)
    episode = started()
    ending, _ = run(host, episode, f"cmd: {broken}")
    assert ending.outcome == "agent_error"
    assert "cannot be started" in ending.error
    assert not episode.finish().passed
    for agent, why in (("cmd: nosuchprogram x", "no such program"), ("cmd: 'a", "quotation"), ("cmd:", "no command")):
        with pytest.raises(PlanError, match=why):
            plan(agent).check()


def test_an_evaluation_of_commands_repeats_and_names_its_task_nowhere(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text(
        CLIENT
        + """
said = [str(E), os.getcwd(), Path(E["KUBECONFIG"]).read_text(), desk("/alert"), desk("/get_app"), desk("/status")]
pid = os.getpid()
while pid > 1:
    place = Path(f"/proc/{pid}")
    said += [(place / name).read_bytes().decode(errors="replace") for name in ("cmdline", "environ", "stat")]
    pid = int(said[-1].rpartition(")")[2].split()[1])
    if pid == int(sys.argv[1]):
        break
assert not [one for one in said if "wrong_image" in one]
for pod in api("GET", "/api/v1/namespaces/kiosk/pods")["items"]:
    print(pod["metadata"]["name"])
"""
    )
    words = [
        sys.executable,
        "-m",
        "simcluster",
        "eval",
        TASK,
        *OPTIONS,
        "--agent",
        f"cmd: {sys.executable} {script} {os.getpid()}",
    ]
    ended = []
    for seeds in (2, 1):
        out = tmp_path / str(seeds)
        more = ["--seeds", str(seeds), "--jobs", "1", "--json", "--out", str(out)]
        done = subprocess.run([*words, *more], capture_output=True, text=True, check=True, timeout=300)
        runs = json.loads(done.stdout)["runs"]
        assert [(one["outcome"], one["error"], one["commands"]) for one in runs] == [("done", "", 1)] * seeds
        assert len(list((out / "runs").glob("*.output.txt"))) == seeds
        ended.append([one["digest"] for one in runs])
    assert ended[1] == ended[0][:1]
    assert len(set(ended[0])) == 2

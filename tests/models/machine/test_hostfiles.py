"""Files of a node, as a person on its shell meets them."""

import pytest

from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.hardware import MachineSpec
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.linux import LinuxMachine
from simcluster.models.machine.network import Network
from simcluster.surface.nodeshell import NodeShell


class Clock:
    now = 60 * SECOND

    def advance(self, duration_ns):
        """Nothing moves."""


@pytest.fixture
def sh():
    sim = Simulation(0)
    machine = LinuxMachine(sim, MachineSpec("n1", "172.18.0.2"), Network(), ImageRegistry(sim), None)
    machine.files.write("/etc/kubernetes/manifests/a.yaml", "kind: Pod\nname: a\n")
    return NodeShell(machine, Clock())


def test_copy_move_and_remove(sh):
    assert sh.sh("cp /etc/kubernetes/manifests/a.yaml /tmp/b.yaml && cat /tmp/b.yaml").stdout == "kind: Pod\nname: a\n"
    assert sh.sh("mv /etc/kubernetes/manifests/a.yaml /tmp/").exit_code == 0
    assert sh.sh("ls /etc/kubernetes/manifests").stdout == ""
    assert sh.sh("ls /tmp").stdout == "a.yaml\nb.yaml\n"
    assert sh.sh("rm /tmp/a.yaml; ls /tmp").stdout == "b.yaml\n"
    assert sh.sh("rm /tmp/a.yaml").stderr == "rm: cannot remove '/tmp/a.yaml': No such file or directory\n"
    assert sh.sh("mv /nope /tmp/").stderr == "mv: cannot stat '/nope': No such file or directory\n"


def test_edit_in_place_and_redirect(sh):
    assert sh.sh("sed -i 's/name: a/name: b/' /etc/kubernetes/manifests/a.yaml").exit_code == 0
    assert "name: b" in sh.sh("cat /etc/kubernetes/manifests/a.yaml").stdout
    sh.sh("echo one > /tmp/x; echo two >> /tmp/x")
    assert sh.sh("cat /tmp/x").stdout == "one\ntwo\n"
    assert sh.sh("echo three | tee -a /tmp/x | wc -l").stdout.strip() == "1"
    assert sh.sh("grep -c . /tmp/x").stdout == "3\n"
    assert sh.sh("echo x > /no/such/file").stderr == "bash: line 1: /no/such/file: No such file or directory\n"


def test_editors_need_a_terminal(sh):
    assert sh.sh("vi /tmp/x").exit_code == 1


def test_watchers_hear_of_their_folder_only(sh):
    heard = []
    files = sh.host.files
    files.watch("/etc/kubernetes/manifests", heard.append)
    sh.sh("touch /etc/kubernetes/manifests/new.yaml; touch /tmp/other")
    assert heard == ["/etc/kubernetes/manifests/new.yaml"]

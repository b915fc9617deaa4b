"""The machine's clock: drift, steps, chronyd, and who sees it."""

import pytest

from simcluster.engine import SECOND
from simcluster.engine.clock import DAY
from tests.clusters.onemachine import one_machine, said


def test_a_free_clock_runs_away_and_chronyd_brings_it_back():
    node = one_machine()
    clock = node.os.clock
    node.control("stop", "chrony")
    clock.set_drift(500.0)
    node.sim.run_for(1000 * SECOND)
    assert clock.offset_ns() == 500_000_000
    assert node.run(["chronyc", "tracking"])[:3] == ("", "506 Cannot talk to daemon\n", 1)
    assert "NTP service: inactive" in node.run(["timedatectl"]).stdout
    node.control("start", "chrony")
    node.sim.run_for(20 * SECOND)
    assert clock.offset_ns() == 0


def test_a_step_while_chronyd_runs_is_slewed_slowly_and_complained_about():
    node = one_machine()
    node.os.clock.step(3600 * SECOND)
    assert node.os.clock.now_ns() == node.sim.now + 3600 * SECOND
    node.sim.run_for(164 * SECOND)
    assert node.os.clock.offset_ns() == 3600 * SECOND - 100 * SECOND * 83_333 // 1_000_000
    assert said(node, "chronyd") == ["System clock wrong by -3600.000000 seconds"]
    assert "seconds fast of NTP time" in node.run(["chronyc", "tracking"]).stdout
    node.control("restart", "chrony")
    node.sim.run_for(10 * SECOND)
    assert node.os.clock.offset_ns() == 0


def test_the_journal_carries_the_machines_stamps_and_dmesg_without_t_does_not():
    node = one_machine()
    node.control("stop", "chrony")
    node.os.clock.step(DAY)
    node.sim.run_for(5 * SECOND)
    node.kernel("hello")
    line = list(node.journal())[-1]
    assert line.t_ns == node.sim.now + DAY
    assert node.run(["dmesg"]).stdout.splitlines()[-1] == "[    5.000000] hello"


def test_certificates_are_judged_by_the_machines_clock():
    node = one_machine()
    until = node.sim.now + 30 * DAY
    assert node.os.clock.certificate_error(0, until) == ""
    node.control("stop", "chrony")
    node.os.clock.step(60 * DAY)
    text = node.os.clock.certificate_error(0, until)
    assert text.startswith("x509: certificate has expired or is not yet valid: current time ")
    assert " is after " in text
    node.os.clock.step(-DAY)
    assert " is before " in node.os.clock.certificate_error(node.sim.now, until)


def test_absurd_magnitudes_are_refused():
    node = one_machine()
    with pytest.raises(ValueError, match="ppm"):
        node.os.clock.set_drift(1e6)
    with pytest.raises(ValueError, match="100 years"):
        node.os.clock.step(10**21)


def test_date_can_be_set_by_hand():
    node = one_machine()
    node.control("stop", "chrony")
    node.run(["date", "-s", "2030-01-01 00:00:00"])
    assert node.run(["date", "-Iseconds"]).stdout == "2030-01-01T00:00:00+00:00\n"


def test_a_server_that_is_gone_leaves_the_clock_to_its_crystal():
    node = one_machine()
    text = node.files.read("/etc/chrony/chrony.conf")
    assert "^* 169.254.169.123               3   6   377" in node.run(["chronyc", "sources"]).stdout
    node.files.write("/etc/chrony/chrony.conf", text.replace("169.254.169.123", "10.0.0.9"))
    node.control("restart", "chrony")
    node.os.clock.neglect(-410.0, 200 * DAY)
    node.sim.run_for(1000 * SECOND)
    assert node.os.clock.offset_ns() == -7084 * SECOND - 800_000_000 - 410_000_000
    sources = node.run(["chronyc", "sources"]).stdout.splitlines()
    assert sources[2] == "^? 10.0.0.9                      0   6     0     -     +0ns[   +0ns] +/-    0ns"
    tracking = node.run(["chronyc", "tracking"]).stdout
    assert "Reference ID    : 00000000 ()\nStratum         : 0\n" in tracking
    assert "Leap status     : Not synchronised\n" in tracking
    status = node.run(["timedatectl"]).stdout
    assert "System clock synchronized: no\n              NTP service: active\n" in status
    assert node.run(["chronyc", "makestep"]).stdout == "200 OK\n"
    assert node.os.clock.offset_ns() < -7000 * SECOND
    assert node.run(["chronyc", "add", "server", "169.254.169.123", "iburst"]).stdout == "200 OK\n"
    node.sim.run_for(10 * SECOND)
    assert "System clock was stepped by 7085." in said(node, "chronyd")[-1]
    assert abs(node.os.clock.offset_ns()) < SECOND


def test_a_boot_takes_the_time_from_the_board():
    node = one_machine()
    node.files.write("/etc/chrony/chrony.conf", "server 10.0.0.9 iburst\n")
    node.control("restart", "chrony")
    node.os.clock.neglect(100.0, 100 * DAY)
    node.run(["date", "-s", "2026-03-02 09:00:10"])
    assert node.run(["hwclock"]).stdout.startswith("2026-03-02 09:14:2")
    node.power.cut()
    node.power.give()
    node.sim.run_for(80 * SECOND)
    assert node.os.clock.offset_ns() // SECOND == 864


def test_date_reads_dates():
    node = one_machine()
    assert node.run(["date", "-d", "@0", "+%F %T"]).stdout == "1970-01-01 00:00:00\n"
    assert node.run(["date", "-u", "-R"]).stdout == "Mon, 02 Mar 2026 09:00:00 +0000\n"
    refused = "date: invalid option -- 'x'\nTry 'date --help' for more information.\n"
    assert node.run(["date", "-x"])[:3] == ("", refused, 1)


def test_what_was_stamped_by_a_wrong_clock_keeps_its_stamp():
    node = one_machine()
    node.sim.run_for(10 * SECOND)
    node.control("stop", "chrony")
    node.os.clock.step(-2 * 3600 * SECOND)
    node.sim.run_for(60 * SECOND)
    node.control("start", "chrony")
    node.sim.run_for(60 * SECOND)
    clock = node.os.clock
    assert clock.offset_ns() == 0
    assert clock.shown_ns(5 * SECOND) == 5 * SECOND
    assert clock.shown_ns(30 * SECOND) == 30 * SECOND - 2 * 3600 * SECOND
    assert clock.shown_ns(node.sim.now) == node.sim.now

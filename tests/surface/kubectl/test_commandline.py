"""Flags, unknown words and costs: what kubectl says before it asks anybody anything."""

from __future__ import annotations

import pytest

from simcluster.api.server import Api
from simcluster.engine import Simulation
from simcluster.surface.kubectl import Kubectl


class StillClock:
    """A clock that only moves when told."""

    def __init__(self) -> None:
        self.now = 0

    def advance(self, duration_ns: int) -> None:
        self.now += duration_ns


@pytest.fixture(scope="module")
def kubectl() -> Kubectl:
    return Kubectl(Api(Simulation(1)), StillClock())


ERRORS = [
    ("get pods --bogus", "error: unknown flag: --bogus\nSee 'kubectl get --help' for usage.\n"),
    ("get pods -z", "error: unknown shorthand flag: 'z' in -z\nSee 'kubectl get --help' for usage.\n"),
    ("get pods -o", "error: flag needs an argument: 'o' in -o\nSee 'kubectl get --help' for usage.\n"),
    ("get pods --output", "error: flag needs an argument: --output\nSee 'kubectl get --help' for usage.\n"),
    (
        "logs x --tail=abc",
        'error: invalid argument "abc" for "--tail" flag: strconv.ParseInt: parsing "abc": invalid syntax\n'
        "See 'kubectl logs --help' for usage.\n",
    ),
    (
        "get pods -A=maybe",
        'error: invalid argument "maybe" for "-A, --all-namespaces" flag: strconv.ParseBool: parsing "maybe": '
        "invalid syntax\nSee 'kubectl get --help' for usage.\n",
    ),
    ("gett pods", 'error: unknown command "gett" for "kubectl"\n\nDid you mean this?\n\tset\n\tget\n'),
    ("rollout foo", "error: unknown command \"foo\"\nSee 'kubectl rollout -h' for help and examples\n"),
    (
        "create foo",
        "error: Unexpected args: [foo]\nSee 'kubectl create -h' for help and examples\n",
    ),
    ("get widgets", 'error: the server doesn\'t have a resource type "widgets"\n'),
    ("get pod foo -A", "error: a resource cannot be retrieved by name across all namespaces\n"),
    ("exec x", "error: you must specify at least one command for the container\n"),
    (
        "exec x ls",
        "error: exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead\n"
        "See 'kubectl exec -h' for help and examples\n",
    ),
    ("patch pod x -p {} --type=foo", 'error: --type must be one of [json merge strategic], not "foo"\n'),
    ("apply -f nofile.yaml", 'error: the path "nofile.yaml" does not exist\n'),
    ("apply", "error: must specify one of -f and -k\n"),
    ("cordon", "error: USAGE: cordon NODE [flags]\nSee 'kubectl cordon -h' for help and examples\n"),
    ("taint node foo", "error: at least one taint update is required\n"),
    ("top pod --sort-by=x", "error: --sort-by accepts only cpu or memory\n"),
    ("wait --for=foo pod/x", 'error: unrecognized condition: "foo"\n'),
    ("get pods --context=nope", "Error in configuration: context was not found for specified context: nope\n"),
]


@pytest.mark.parametrize(("line", "stderr"), ERRORS)
def test_errors(kubectl: Kubectl, line: str, stderr: str) -> None:
    result = kubectl.run(line)
    assert (result.stdout, result.stderr, result.exit_code) == ("", stderr, 1)


def test_what_is_not_here_refuses(kubectl: Kubectl) -> None:
    for line in ("cp a b", "kustomize .", "plugin list", "completion bash", "port-forward x"):
        result = kubectl.run(line)
        assert result.exit_code == 1
        assert result.stderr.startswith("error: ")


def test_a_group_alone_prints_its_commands_and_fails(kubectl: Kubectl) -> None:
    assert kubectl.run("rollout").exit_code == 1
    assert kubectl.run("rollout --help").stdout == kubectl.run("rollout").stdout
    assert "\n  status        Show the status of the rollout\n" in kubectl.run("rollout").stdout
    assert kubectl.run("create secret").stderr.endswith(
        "Usage:\n  kubectl create secret (docker-registry | generic | tls) [options]\n\n"
        'Use "kubectl create secret <command> --help" for more information about a given command.\n'
        'Use "kubectl options" for a list of global command-line options (applies to all commands).\n'
    )
    assert "\nDeploy Commands:\n  rollout         Manage the rollout of a resource\n" in kubectl.run("").stdout


def test_errors_name_the_command_and_not_its_alias(kubectl: Kubectl) -> None:
    assert kubectl.run("create cm").stderr.endswith("See 'kubectl create configmap -h' for help and examples\n")


def test_global_flags_may_stand_before_the_command(kubectl: Kubectl) -> None:
    assert kubectl.run("-n shop get pods").stderr == "No resources found in shop namespace.\n"


def test_words_may_be_given_as_a_list(kubectl: Kubectl) -> None:
    assert kubectl.run(["get", "pods", "-A"]).stderr == "No resources found\n"

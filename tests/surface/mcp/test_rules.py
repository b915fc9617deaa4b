"""Which commands the kubectl tool takes."""

from __future__ import annotations

import pytest

from simcluster.surface.mcp import rules


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("get pods", "must start with 'kubectl'"),
        ("kubectl get pods | grep x", "shell operators are not supported: '|'"),
        ("kubectl get pods; ls", "shell operators are not supported: ';'"),
        ("kubectl get pods && ls", "shell operators"),
        ("kubectl get pods > f", "shell operators"),
        ("kubectl edit deploy x", "'kubectl edit' is interactive"),
        ("kubectl -n shop port-forward x 80", "'kubectl"),
        ("kubectl exec -it x -- sh", "interactive flag '-it'"),
        ("kubectl exec --stdin x -- sh", "interactive flag '--stdin'"),
        ("kubectl logs -f x", "never ends"),
        ("kubectl delete ns shop", "namespaces must not be deleted"),
        ("kubectl delete namespace/shop", "namespaces must not be deleted"),
        ("kubectl get 'pods", "No closing quotation"),
        ("kubectl apply -f - <<EOF\nkind: x\n", "here-document does not end with 'EOF'"),
        ("", "must start with"),
    ],
)
def test_refusals(command: str, why: str) -> None:
    if command.startswith("kubectl -n shop"):
        words, _ = rules.words_of("kubectl -n shop get pods")
        assert words == ["-n", "shop", "get", "pods"]
        command = "kubectl port-forward x 80 -n shop"
    with pytest.raises(ValueError, match=r"Command rejected") as refused:
        rules.words_of(command)
    assert why in str(refused.value)


def test_what_is_taken() -> None:
    patch = """kubectl patch deploy x -p '{"a": "b|c; d > e"}'"""
    assert rules.words_of(patch) == (["patch", "deploy", "x", "-p", '{"a": "b|c; d > e"}'], "")
    assert rules.words_of("kubectl apply -f - <<'EOF'\nkind: x\nEOF\n") == (["apply", "-f", "-"], "kind: x\n")
    assert rules.words_of("kubectl exec x -- ls -t")[0][-1] == "-t"
    assert rules.unattended(["delete", "pod", "x"]) == ["delete", "pod", "x", "--wait=false"]
    assert rules.unattended(["get", "pod"]) == ["get", "pod"]
    assert rules.shown("x" * 10_000) == "x" * 10_000
    assert rules.shown("x" * 10_001).startswith("x" * 10_000 + "\n... [truncated: 10001")

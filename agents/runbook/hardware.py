"""Rules about machines and their drives: is the machine on, can its drives be read, are the data what was written?"""

from __future__ import annotations

import json
import re

from simcluster.agents.runbook.reading import Act, Finding, Json, Reading, condition_of, labels_of

_BMC = "ipmitool -I lanplus -H {node}-bmc -U admin -P admin"
_BAD_SECTOR = re.compile(r"I/O error, dev (\w+), sector \d+ op 0x0:\(READ\)")
_WRONG_DATA = re.compile(r"checksum error|checksum doesn't match")
_READ_ERROR = re.compile(r"failed to read \d+ bytes at offset \d+: Input/output error")
_BOOT = "150s"


def machines_without_power(reading: Reading) -> list[Finding]:
    """A node that is not Ready and to which there is no route: ask its management controller, and switch it on."""
    nodes = reading.objects("nodes")
    names = [node["metadata"]["name"] for node in nodes]
    dead = [n["metadata"]["name"] for n in nodes if condition_of(n, "Ready").get("status") != "True"]
    findings = []
    for name in dead:
        if reading.session.node(name).sh("uptime").exit_code != 255:
            continue
        other = next((each for each in names if each not in dead), "")
        bmc = _BMC.format(node=name)
        if not other or "is off" not in reading.session.node(other).sh(f"{bmc} chassis power status").stdout:
            continue
        acts = [Act(node=other, sh=f"{bmc} chassis power on"), Act(wait=_BOOT)]
        # Programs that lost what they were connected to or registered with start anew.
        acts += [
            Act(f"rollout restart deployment -n {each} {_stateless(reading, each)}") for each in reading.namespaces
        ]
        findings.append(Finding(f"Node/{name}", "the machine lost power, it is off", {}, (name,), tuple(acts)))
    return findings


def broken_drives(reading: Reading) -> list[Finding]:
    """Stores in a crash loop on their data: the kernel's log tells unreadable sectors from silently wrong data.

    What such a store holds is filled again by its programs, so it gets a new volume on another node.
    """
    findings = []
    for namespace in reading.namespaces:
        for deployment in reading.objects("deployments", namespace):
            claims = claims_of(deployment)
            pods = [pod for pod in reading.pods_of(deployment) if _restarts(pod)]
            if not claims or not pods or not pods[0]["spec"].get("nodeName"):
                continue
            name, node = deployment["metadata"]["name"], pods[0]["spec"]["nodeName"]
            logs = f"logs {pods[0]['metadata']['name']} -n {namespace} --tail=60"
            for which in (logs, f"{logs} --previous"):  # a store that has just started has not met its data yet
                log = reading.session.kubectl(which).stdout
                if _READ_ERROR.search(log) or _WRONG_DATA.search(log):
                    break
            else:
                continue
            said = _BAD_SECTOR.findall(reading.session.node(node).sh("dmesg").stdout)
            device = said[-1] if said else _device(reading, node)
            bad = "the disk has bad sectors that cannot be read" if said else "the disk silently corrupts data"
            acts = new_volume(reading, namespace, name, node, claims)
            findings.append(Finding(f"Node/{node}", bad, {"device": device}, (node,), acts))
    return findings


def _device(reading: Reading, node: str) -> str:
    """The drive on which volumes lie."""
    source = reading.session.node(node).sh("df --output=source /var/local-path-provisioner | tail -1").stdout.strip()
    found = re.search(r"/dev/([a-z]+)", source)
    return found[1] if found else "sda"


def _restarts(pod: Json) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return max((status.get("restartCount", 0) for status in statuses), default=0)


def claims_of(deployment: Json) -> list[str]:
    """Claims that a Deployment's pods mount."""
    volumes = deployment["spec"]["template"]["spec"].get("volumes") or []
    return [each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each]


def new_volume(reading: Reading, namespace: str, store: str, node: str, claims: list[str]) -> tuple[Act, ...]:
    """Give a store an empty volume on another node, and start the programs anew that fill it."""
    here = f"-n {namespace}"
    acts = [Act(f"cordon {node}"), Act(f"scale deployment/{store} {here} --replicas=0"), Act(wait="15s")]
    for claim in claims:
        acts += [Act(f"delete pvc {claim} {here} --wait=false"), Act(wait="15s")]
        acts.append(Act(f"apply {here} -f -", stdin=_fresh(reading, namespace, claim)))
    acts += [
        Act(f"scale deployment/{store} {here} --replicas=1"),
        Act(f"rollout status deployment/{store} {here} --timeout=180s"),
        Act(f"uncordon {node}"),
        Act(f"rollout restart deployment {here} {_stateless(reading, namespace)}"),
    ]
    return tuple(acts)


def _fresh(reading: Reading, namespace: str, claim: str) -> str:
    """The claim as it was asked for, without what it was bound to."""
    for found in reading.objects("persistentvolumeclaims", namespace):
        if found["metadata"]["name"] == claim:
            spec = {key: value for key, value in found["spec"].items() if key != "volumeName"}
            metadata = {"name": claim, "labels": labels_of(found)}
            return json.dumps({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
    return ""


def _stateless(reading: Reading, namespace: str) -> str:
    """Names of the application's Deployments of its own image: the one that most of them run."""
    deployments = reading.objects("deployments", namespace)
    images = [each["spec"]["template"]["spec"]["containers"][0]["image"] for each in deployments]
    own = max(sorted(set(images)), key=images.count, default="")
    return " ".join(each["metadata"]["name"] for each, image in zip(deployments, images, strict=True) if image == own)

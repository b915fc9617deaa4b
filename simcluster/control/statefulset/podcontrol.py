"""Creating, repairing and deleting the pods of StatefulSets, with their claims and events.

Source: kubernetes pkg/controller/statefulset/stateful_pod_control.go and the retention
policy functions of stateful_set_utils.go.
"""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.events import EventRecorder
from simcluster.api.objects import (
    ApiObject,
    Json,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    thaw,
    uid_of,
)
from simcluster.control.statefulset.identity import (
    claims_for,
    has_identity,
    identity_labels,
    is_in_range,
    with_claims,
)

CLAIMS = "persistentvolumeclaims"


def wanted_owner(stateful_set: ApiObject, pod: ApiObject) -> ApiObject | None:
    """Whose deletion shall take the pod's claims along (the claim retention policy).

    The set's, if claims go with the set; the pod's, if claims go when the set is scaled and
    the pod is beyond its range; otherwise nobody's.
    """
    policy = stateful_set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    if policy.get("whenScaled", "Retain") == "Delete" and not is_in_range(pod, stateful_set):
        return pod
    return stateful_set if policy.get("whenDeleted", "Retain") == "Delete" else None


class StatefulPodControl:
    """Writes of one StatefulSet controller that concern pods and claims."""

    def __init__(self, client: Client, recorder: EventRecorder) -> None:
        self.client = client
        self.recorder = recorder

    def create(self, stateful_set: ApiObject, pod: Json) -> None:
        """Create the claims, then the pod. Raises ApiError."""
        try:
            self.create_missing_claims(stateful_set, name_of(pod))
            created = self.client.create("pods", namespace_of(stateful_set), pod)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                self._pod_event("create", stateful_set, name_of(pod), error)
            raise
        try:
            self.apply_retention(stateful_set, created)
        except ApiError as error:
            self._pod_event("update", stateful_set, name_of(pod), error)
            raise
        self._pod_event("create", stateful_set, name_of(pod), None)

    def delete(self, stateful_set: ApiObject, pod: ApiObject) -> None:
        """Delete a pod. Raises ApiError."""
        failure: ApiError | None = None
        try:
            self.client.delete("pods", namespace_of(pod), name_of(pod), uid=uid_of(pod))
        except ApiError as error:
            failure = error
        self._pod_event("delete", stateful_set, name_of(pod), failure)
        if failure is not None:
            raise failure

    def create_missing_claims(self, stateful_set: ApiObject, pod_name: str) -> None:
        """Create the claims that do not exist. Raises ApiError if one cannot be had."""
        problems = []
        for claim in claims_for(stateful_set, pod_name).values():
            existing = self.client.cache.get(CLAIMS, namespace_of(stateful_set), name_of(claim))
            if existing is not None:
                if is_terminating(existing):
                    problems.append(f"pvc {name_of(claim)} is being deleted")
                continue
            try:
                self.client.create(CLAIMS, namespace_of(stateful_set), claim)
            except ApiError as error:
                problems.append(f"failed to create PVC {name_of(claim)}: {error.message}")
                self._claim_event(stateful_set, pod_name, name_of(claim), error)
            else:
                self._claim_event(stateful_set, pod_name, name_of(claim), None)
        if problems:
            text = problems[0] if len(problems) == 1 else "[" + ", ".join(problems) + "]"
            raise ApiError(500, "", text)

    def repair(self, stateful_set: ApiObject, pod: ApiObject) -> None:
        """Give a pod the labels of its identity and its claims their owners. Raises ApiError."""
        self.apply_retention(stateful_set, pod)
        labels = {**labels_of(pod), **identity_labels(name_of(pod))}
        if has_identity(stateful_set, pod) and labels == labels_of(pod):
            return
        failure: ApiError | None = None
        try:
            self.client.patch("pods", namespace_of(pod), name_of(pod), {"metadata": {"labels": labels}}, kind="merge")
        except ApiError as error:
            failure = error
        self._pod_event("update", stateful_set, name_of(pod), failure)
        if failure is not None:
            raise failure

    def has_storage(self, stateful_set: ApiObject, pod: ApiObject) -> bool:
        """Whether the pod mounts the claims of its set (storageMatches)."""
        volumes = [thaw(volume) for volume in pod["spec"].get("volumes") or ()]
        claims = claims_for(stateful_set, name_of(pod))
        return with_claims(volumes, claims)[: len(claims)] == [v for v in volumes if v["name"] in claims]

    def apply_retention(self, stateful_set: ApiObject, pod: ApiObject) -> None:
        """Write the owner references that the claim retention policy asks for. Raises ApiError."""
        wanted = wanted_owner(stateful_set, pod)
        for claim in self._claims(stateful_set, name_of(pod)):
            managed = (uid_of(stateful_set), uid_of(pod))
            references = [thaw(entry) for entry in claim["metadata"].get("ownerReferences") or ()]
            kept = [entry for entry in references if entry["uid"] not in managed]
            if wanted is not None:
                kept.append(owner_reference(wanted))
            if kept != references:
                changed = thaw(claim)
                changed["metadata"]["ownerReferences"] = kept
                self.client.update(CLAIMS, changed)

    def has_retention(self, stateful_set: ApiObject, pod: ApiObject) -> bool:
        """Whether the claims have the owners that the policy asks for."""
        wanted = wanted_owner(stateful_set, pod)
        for claim in self._claims(stateful_set, name_of(pod)):
            uids = [entry["uid"] for entry in claim["metadata"].get("ownerReferences") or ()]
            managed = [uid for uid in uids if uid in (uid_of(stateful_set), uid_of(pod))]
            if managed != ([uid_of(wanted)] if wanted is not None else []):
                return False
        return True

    def has_stale_claim(self, stateful_set: ApiObject, pod: Json) -> bool:
        """Whether a claim still belongs to a former pod of the name, and will vanish with it."""
        for claim in self._claims(stateful_set, name_of(pod)):
            for reference in claim["metadata"].get("ownerReferences") or ():
                if reference["kind"] == "Pod" and reference["name"] == name_of(pod):
                    return True
        return False

    def _claims(self, stateful_set: ApiObject, pod_name: str) -> list[ApiObject]:
        namespace, found = namespace_of(stateful_set), []
        for claim in claims_for(stateful_set, pod_name).values():
            existing = self.client.cache.get(CLAIMS, namespace, name_of(claim))
            if existing is not None:
                found.append(existing)
        return found

    def _pod_event(self, verb: str, stateful_set: ApiObject, pod_name: str, error: ApiError | None) -> None:
        about = f"{verb} Pod {pod_name} in StatefulSet {name_of(stateful_set)}"
        if error is None:
            self.recorder.event(stateful_set, "Normal", f"Successful{verb.title()}", f"{about} successful")
        else:
            message = f"{about} failed error: {error.message}"
            self.recorder.event(stateful_set, "Warning", f"Failed{verb.title()}", message)

    def _claim_event(self, stateful_set: ApiObject, pod_name: str, claim: str, error: ApiError | None) -> None:
        where = f"Pod {pod_name} in StatefulSet {name_of(stateful_set)}"
        if error is None:
            self.recorder.event(stateful_set, "Normal", "SuccessfulCreate", f"create Claim {claim} {where} success")
        else:
            message = f"create Claim {claim} for {where} failed error: {error.message}"
            self.recorder.event(stateful_set, "Warning", "FailedCreate", message)

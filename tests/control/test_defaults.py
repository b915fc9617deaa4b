"""Figures that stand in Kubernetes' own source and manuals, under the names that they have there."""

from __future__ import annotations

from importlib import import_module

import pytest

from simcluster.control.replicaset.expectations import Expectations
from simcluster.engine import Simulation

MS, S, MINUTE, HOUR = 10**6, 10**9, 60 * 10**9, 3600 * 10**9
#: Module below `simcluster.control`, name there, value, name in Kubernetes.
FACTS = [
    ("replicaset.expectations", "EXPECTATIONS_TIMEOUT_NS", 5 * MINUTE, "controller.ExpectationsTimeout"),
    ("replicaset.controller", "BURST_REPLICAS", 500, "replicaset.BurstReplicas"),
    ("daemonset.controller", "BURST_REPLICAS", 250, "daemon.BurstReplicas"),
    ("daemonset.controller", "FAILED_BACKOFF_BASE_NS", S, "failedPodsBackoff 1s to 15m"),
    ("daemonset.controller", "FAILED_BACKOFF_MAX_NS", 15 * MINUTE, "failedPodsBackoff 1s to 15m"),
    ("job.controller", "BATCH_NS", S, "job.syncJobBatchPeriod"),
    ("job.backoff", "BACKOFF_BASE_NS", 10 * S, "job.DefaultJobPodFailureBackOff"),
    ("job.backoff", "BACKOFF_MAX_NS", 10 * MINUTE, "job.MaxJobPodFailureBackOff"),
    ("job.jobsync", "MOST_PODS_PER_SYNC", 500, "job.MaxPodCreateDeletePerSync"),
    ("job.jobsync", "MOST_UNCOUNTED", 500, "job.MaxUncountedPods"),
    ("cronjob.due", "WAKE_DELAY_NS", 100 * MS, "cronjob.nextScheduleDelta"),
    ("cronjob.due", "MANY_MISSED", 100, "mostRecentScheduleTime: too many missed start times (> 100)"),
    ("workqueue", "BACKOFF_BASE_NS", 5 * MS, "DefaultControllerRateLimiter"),
    ("workqueue", "BACKOFF_MAX_NS", 1000 * S, "DefaultControllerRateLimiter"),
    ("resourcequota.controller", "RESYNC_NS", 5 * MINUTE, "--resource-quota-sync-period"),
    ("garbagecollector.controller", "RESYNC_NS", 30 * S, "GarbageCollector.Sync period"),
    ("persistentvolume.binder", "RESYNC_NS", 15 * S, "--pvclaimbinder-sync-period"),
    ("attachdetach.controller", "TIMEOUT_NS", 2 * MINUTE, "csiTimeout"),
    ("attachdetach.controller", "MAX_WAIT_UNMOUNT_NS", 6 * MINUTE, "ReconcilerMaxWaitForUnmountDuration"),
    ("attachdetach.controller", "RETRY_BASE_NS", 500 * MS, "exponentialbackoff.initialDurationBeforeRetry"),
    ("attachdetach.controller", "RETRY_MAX_NS", 122 * S, "exponentialbackoff.maxDurationBeforeRetry"),
    ("kubelet.mounting", "_FIRST_RETRY_NS", 500 * MS, "exponentialbackoff.initialDurationBeforeRetry"),
    ("kubelet.mounting", "_LONGEST_RETRY_NS", 122 * S, "exponentialbackoff.maxDurationBeforeRetry"),
    ("kubelet.mounting", "_TIMEOUT_NS", 123 * S, "podAttachAndMountTimeout"),
    ("kubelet.kubelet", "_ORPHAN_GRACE_NS", 2 * S, "housekeepingPeriod"),
    ("kubelet.staticpods", "CHECK_NS", 20 * S, "fileCheckFrequency"),
    ("kubelet.staticpods", "HOUSEKEEPING_NS", 2 * S, "housekeepingPeriod"),
    ("kubelet.networkmounts", "_PORT", 2049, "nfs in /etc/services"),
    ("kubelet.stopping", "_MINIMUM_GRACE_NS", 2 * S, "minimumGracePeriodInSeconds"),
    ("kubelet.imagegc", "PERIOD_NS", 5 * MINUTE, "ImageGCPeriod"),
    ("kubelet.imagegc", "HIGH_PERCENT", 85, "imageGCHighThresholdPercent"),
    ("kubelet.imagegc", "LOW_PERCENT", 80, "imageGCLowThresholdPercent"),
    ("kubelet.imagegc", "MINIMUM_AGE_NS", 2 * MINUTE, "imageMinimumGCAge"),
    ("kubelet.poddns", "_MOST_SERVERS", 3, "validation.MaxDNSNameservers"),
    ("kubelet.poddns", "_MOST_PATHS", 32, "validation.MaxDNSSearchPaths"),
    ("kubelet.poddns", "_MOST_CHARACTERS", 2048, "validation.MaxDNSSearchListChars"),
    ("kubelet.statusmanager", "_SYNC_STATUS_NS", 10 * S, "status.syncPeriod"),
    ("kubelet.nodestatus", "STATUS_PERIOD_NS", 10 * S, "nodeStatusUpdateFrequency"),
    ("kubelet.nodestatus", "REPORT_PERIOD_NS", 5 * MINUTE, "nodeStatusReportFrequency"),
    ("kubelet.nodestatus", "LEASE_SECONDS", 40, "nodeLeaseDurationSeconds"),
    ("kubelet.nodestatus", "_RENEW_NS", (10 * S, 10_400 * MS), "a quarter of the lease, jittered by 0.04"),
    ("kubelet.host", "RELIST_NS", S, "genericPlegRelistPeriod"),
    ("kubelet.host", "RUNTIME_DOWN_NS", 30 * S, "maxWaitForContainerRuntime"),
    ("kubelet.host", "PLEG_THRESHOLD_NS", 3 * MINUTE, "genericPlegRelistThreshold"),
    ("kubelet.backoff", "INITIAL_NS", 10 * S, "backOffPeriod"),
    ("kubelet.backoff", "MAXIMUM_NS", 5 * MINUTE, "MaxContainerBackOff"),
    ("kubelet.resting", "RESYNC_NS", (60 * S, 90 * S), "syncFrequency, jittered by workerResyncIntervalJitterFactor"),
    ("kubelet.podworker", "RETRY_NS", (10 * S, 15 * S), "backOffPeriod, workerBackOffPeriodJitterFactor"),
    ("kubelet.podworker", "SOON_NS", (S, 1500 * MS), "backOffOnTransientErrorPeriod"),
    ("kubelet.eviction", "INTERVAL_NS", 10 * S, "evictionMonitoringPeriod"),
    ("kubelet.eviction", "TRANSITION_NS", 5 * MINUTE, "evictionPressureTransitionPeriod"),
    ("kubelet.eviction", "CLEANUP_NS", 30 * S, "podCleanupTimeout"),
    ("kubelet.eviction", "CRITICAL_PRIORITY", 2 * 10**9, "scheduling.SystemCriticalPriority"),
    ("kubelet.eviction", "GRACE_S", 1, "immediateEvictionGracePeriodSeconds"),
    ("kubelet.shutdown", "CRITICAL_PRIORITY", 2 * 10**9, "scheduling.SystemCriticalPriority"),
    ("kubelet.tokenfile", "_LONGEST_USE_S", 24 * 3600, "token.maxTTL"),
    ("operator.election", "LEASE_NS", 15 * S, "leaderElectLeaseDuration"),
    ("operator.election", "RENEW_DEADLINE_NS", 10 * S, "leaderElectRenewDeadline"),
    ("operator.election", "RETRY_NS", 2 * S, "leaderElectRetryPeriod"),
    ("operator.reflector", "BACKOFF_NS", 800 * MS, "reflector backoffManager"),
    ("operator.reflector", "BACKOFF_MAX_NS", 30 * S, "reflector backoffManager"),
    ("operator.reflector", "WATCH_MIN_NS", 5 * MINUTE, "reflector minWatchTimeout"),
    ("operator.reflector", "WATCH_MAX_NS", 10 * MINUTE, "twice minWatchTimeout"),
    ("operator.connection", "DIAL_TIMEOUT_NS", 30 * S, "net.Dialer of client-go"),
    ("nodelifecycle.podgc", "PERIOD_NS", 20 * S, "podgc.gcCheckPeriod"),
    ("nodelifecycle.podgc", "QUARANTINE_NS", 40 * S, "podgc.quarantineTime"),
    ("nodelifecycle.podgc", "TERMINATED_THRESHOLD", 12_500, "--terminated-pod-gc-threshold"),
    ("nodelifecycle.controller", "MONITOR_PERIOD_NS", 5 * S, "--node-monitor-period"),
    ("nodelifecycle.controller", "GRACE_PERIOD_NS", 50 * S, "--node-monitor-grace-period"),
    ("nodelifecycle.controller", "STARTUP_GRACE_PERIOD_NS", 60 * S, "--node-startup-grace-period"),
    ("nodelifecycle.controller", "EVICTION_PERIOD_NS", 100 * MS, "scheduler.NodeEvictionPeriod"),
    ("nodelifecycle.zones", "EVICTION_INTERVAL_NS", 10 * S, "--node-eviction-rate 0.1"),
    ("nodelifecycle.zones", "SECONDARY_INTERVAL_NS", 100 * S, "--secondary-node-eviction-rate 0.01"),
    ("nodelifecycle.zones", "LARGE_ZONE", 50, "--large-cluster-size-threshold"),
    ("nodelifecycle.zones", "UNHEALTHY_PERCENT", 55, "--unhealthy-zone-threshold"),
    ("scheduler.requests", "DEFAULT_MILLI_CPU", 100, "util.DefaultMilliCPURequest"),
    ("scheduler.requests", "DEFAULT_MEMORY", 200 << 20, "util.DefaultMemoryRequest"),
    ("scheduler.preemption", "LEAST_PERCENT", 10, "minCandidateNodesPercentage"),
    ("scheduler.preemption", "LEAST_CANDIDATES", 100, "minCandidateNodesAbsolute"),
    ("scheduler.search", "LEAST_NODES_TO_FIND", 100, "minFeasibleNodesToFind"),
    ("scheduler.framework", "MAX_SCORE", 100, "framework.MaxNodeScore"),
    ("scheduler.queue", "BACKOFF_INITIAL_NS", S, "podInitialBackoffSeconds"),
    ("scheduler.queue", "BACKOFF_MAX_NS", 10 * S, "podMaxBackoffSeconds"),
    ("scheduler.queue", "UNSCHEDULABLE_MAX_NS", 5 * MINUTE, "DefaultPodMaxInUnschedulablePodsDuration"),
    ("scheduler.queue", "UNSCHEDULABLE_FLUSH_NS", 30 * S, "flushUnschedulablePodsLeftover"),
    ("scheduler.scheduler", "VOLUME_TIMEOUT_NS", 10 * MINUTE, "bindTimeoutSeconds"),
    ("scheduler.plugins.spread", "HOST_SKEW", 3, "systemDefaultConstraints"),
    ("scheduler.plugins.spread", "ZONE_SKEW", 5, "systemDefaultConstraints"),
    ("scheduler.plugins.interpod", "HARD_AFFINITY_WEIGHT", 1, "hardPodAffinityWeight"),
    ("scheduler.plugins.imagelocality", "LEAST_BYTES", 23 << 20, "imagelocality.minThreshold"),
    ("scheduler.plugins.imagelocality", "MOST_BYTES", 1000 << 20, "imagelocality.maxContainerThreshold"),
    ("namespace.controller", "GRACE_PERIOD_NS", 5 * S, "namespaceDeletionGracePeriod"),
    ("namespace.controller", "FINALIZER_ESTIMATE_S", 15, "finalizerEstimateSeconds"),
    ("disruption.budget", "DELETION_TIMEOUT_NS", 2 * MINUTE, "disruption.DeletionTimeout"),
    ("storage.controller", "RETRY_BASE_NS", 15 * S, "sig-storage-lib-external-provisioner ExponentialBackOff"),
    ("endpointslice.slices", "MAX_ENDPOINTS", 100, "--max-endpoints-per-slice"),
    ("endpoints.controller", "MAX_ADDRESSES", 1000, "endpoints.maxCapacity"),
    ("metricsserver.server", "RESOLUTION_NS", 15 * S, "--metric-resolution"),
    ("nodeipam.controller", "MASK_SIZE", 24, "--node-cidr-mask-size"),
    ("horizontalpodautoscaler.controller", "SYNC_PERIOD_NS", 15 * S, "--horizontal-pod-autoscaler-sync-period"),
    ("horizontalpodautoscaler.limits", "DOWNSCALE_STABILIZATION_NS", 5 * MINUTE, "downscale-stabilization"),
    ("horizontalpodautoscaler.limits", "SCALE_UP_FACTOR", 2, "scaleUpLimitFactor"),
    ("horizontalpodautoscaler.limits", "SCALE_UP_MINIMUM", 4, "scaleUpLimitMinimum"),
    ("horizontalpodautoscaler.replicas", "TOLERANCE", 0.1, "--horizontal-pod-autoscaler-tolerance"),
    ("horizontalpodautoscaler.replicas", "CPU_INITIALIZATION_NS", 5 * MINUTE, "cpu-initialization-period"),
    ("horizontalpodautoscaler.replicas", "INITIAL_READINESS_NS", 30 * S, "initial-readiness-delay"),
    ("deployment.conditions", "NO_DEADLINE", (1 << 31) - 1, "math.MaxInt32"),
    ("ttl.controller", "BOUNDARIES",
     ((0, 100, 0), (90, 500, 15), (450, 1000, 30), (900, 2000, 60), (1800, 1 << 31, 300)), "ttl.ttlBoundaries"),
    ("certificates.cleaner", "DECIDED_NS", HOUR, "approvedExpiration, deniedExpiration"),
    ("certificates.cleaner", "PENDING_NS", 24 * HOUR, "pendingExpiration"),
    ("certificates.cleaner", "LOOK_NS", HOUR, "cleaner.pollingInterval"),
    ("serviceaccount.cleaner", "LOOK_NS", 24 * HOUR, "legacy token cleaner's SyncInterval"),
    ("serviceaccount.cleaner", "UNUSED_NS", 365 * 24 * HOUR, "--legacy-service-account-token-clean-up-period"),
    ("history.hashing", "ALPHABET", "bcdfghjklmnpqrstvwxz2456789", "util/rand.alphanums"),
    ("history.hashing", "_FNV_OFFSET", 2166136261, "hash/fnv.offset32"),
    ("history.hashing", "_FNV_PRIME", 16777619, "hash/fnv.prime32"),
    ("kubeproxy.proxy", "MIN_SYNC_PERIOD_NS", S, "iptables.minSyncPeriod"),
    ("kubeproxy.configuration", "_SYNC_NS", 30 * S, "iptables.syncPeriod"),
    ("clusterdns.coredns", "RELOAD_NS", 30 * S, "reload: 30s 15s"),
    ("clusterdns.coredns", "RELOAD_JITTER_NS", 15 * S, "reload: 30s 15s"),
    ("clusterdns.coredns", "READY_PORT", 8181, "ready: :8181"),
    ("clusterdns.coredns", "KUBERNETES_TTL_S", 5, "kubernetes: ttl 5"),
    ("clusterdns.answercache", "SUCCESS_S", 3600, "cache: maxTTL"),
    ("clusterdns.answercache", "DENIAL_S", 1800, "cache: maxNTTL"),
    ("clusterdns.answercache", "FAILURE_S", 5, "cache: failttl"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "name", "value", "source"), FACTS, ids=[f"{m}.{n}" for m, n, _, _ in FACTS])
def test_a_figure_is_that_of_kubernetes(module: str, name: str, value: object, source: str) -> None:
    assert getattr(import_module(f"simcluster.control.{module}"), name) == value, source


def test_what_was_asked_for_is_waited_for_until_it_is_seen_or_five_minutes_have_gone() -> None:
    sim = Simulation()
    expectations = Expectations(sim)
    assert expectations.satisfied("a")
    expectations.expect_creations("a", 2)
    expectations.creation_observed("a")
    assert not expectations.satisfied("a")
    expectations.creation_observed("a")
    expectations.creation_observed("a")  # one too many is none
    assert expectations.satisfied("a")
    expectations.expect_deletions("b", ["x", "y"])
    expectations.deletion_observed("b", "x")
    expectations.deletion_observed("c", "y")
    assert not expectations.satisfied("b")
    sim.run_for(5 * MINUTE)
    assert not expectations.satisfied("b")
    sim.run_for(1)
    assert expectations.satisfied("b")
    expectations.expect_deletions("b", ["z"])
    expectations.forget("b")
    assert expectations.satisfied("b")

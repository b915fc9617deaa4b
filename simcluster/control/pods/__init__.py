"""What several controllers need to know of pods: their phase and readiness, their creation, order and counters."""

"""The HorizontalPodAutoscaler controller: replicas from measured usage."""

from simcluster.control.horizontalpodautoscaler.controller import HorizontalPodAutoscalerController

__all__ = ["HorizontalPodAutoscalerController"]

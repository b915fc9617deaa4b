"""What exporters on a node show of its machine: cAdvisor (inside of the kubelet) and node-exporter."""

"""The control plane and the node agents: scheduler, kubelet, kube-proxy, one folder per controller."""

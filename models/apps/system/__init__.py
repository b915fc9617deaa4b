"""The programs of the cluster itself, as they show up in kube-system."""

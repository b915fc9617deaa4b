kubectl get pod broken -n shop -o jsonpath='{.status.containerStatuses[0].state.waiting.reason}' | sed 's/ErrImagePull/ImagePullBackOff/'

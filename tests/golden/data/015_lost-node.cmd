kubectl get node hotel-worker2 --no-headers

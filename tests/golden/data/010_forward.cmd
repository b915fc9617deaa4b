(timeout 3 kubectl port-forward -n shop deploy/cart 18070:7070 & sleep 1; curl -s http://127.0.0.1:18070/missing/page; wait)

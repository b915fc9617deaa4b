A=$(kubectl get cm settings -n shop --no-headers); sleep 5m; kubectl get cm settings -n shop --no-headers | sed 's/ .*[^0-9]\([0-9]*m\).*/ older/'

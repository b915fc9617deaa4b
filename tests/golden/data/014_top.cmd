kubectl top pods -n shop --no-headers | sed 's/^[^ ]* *//' | sort -u

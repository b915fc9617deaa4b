"""SRE-Zero: the five services of that benchmark, whose settings, queues, disks and caches act on each other."""

"""A cluster over real sockets: what HTTP clients, `kubectl exec` and port-forwards need, thin over one door.

Start at `server.Served`: it listens, and hands what comes to `kubernetes` (the API), `channels` and `forwarding`
(WebSockets) and `desk` (endpoints of the operator's desk). All of them ask a `door.Door`, which lets requests enter one
after the other. Needs the packages of `pip install 'simcluster[serve]'`.
"""

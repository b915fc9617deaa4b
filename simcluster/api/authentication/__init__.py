"""Who sends a request: bearer tokens of service accounts, and the key that signs them.

Left out: client certificates (the holder of the socket knows them), OpenID Connect, webhook
and bootstrap tokens.
"""

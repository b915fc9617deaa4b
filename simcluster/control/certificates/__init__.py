"""CertificateSigningRequests: approved ones are signed, old ones are removed."""

from simcluster.control.certificates.cleaner import RequestCleaner
from simcluster.control.certificates.signing import RequestSigner

__all__ = ["RequestCleaner", "RequestSigner"]

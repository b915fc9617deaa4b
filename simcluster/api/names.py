"""Names, keys and numbers: each function returns the server's complaints, none if well-formed.

Source: k8s.io/apimachinery/pkg/util/validation/validation.go.
"""

from __future__ import annotations

import functools
import re


def _regex_error(message: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PERCENT = "[0-9]+%"

_HEADER = "[-A-Za-z0-9]+"

_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_DNS1035_RE = re.compile(_DNS1035)
_QUALIFIED_RE = re.compile(_QUALIFIED)
_VALUE_RE = re.compile(_VALUE)
_CONFIG_KEY_RE = re.compile(_CONFIG_KEY)
_PERCENT_RE = re.compile(_PERCENT)

LABEL_ERROR = _regex_error(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
SUBDOMAIN_ERROR = _regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
DNS1035_ERROR = _regex_error(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _DNS1035,
    "my-name",
    "abc-123",
)
_QUALIFIED_ERROR = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
QUALIFIED_ERROR = _regex_error(_QUALIFIED_ERROR, _QUALIFIED, "MyName", "my.name", "123-abc")
VALUE_ERROR = _regex_error(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character",
    _VALUE,
    "MyValue",
    "my_value",
    "12345",
)
CONFIG_KEY_ERROR = _regex_error(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)
PERCENT_ERROR = _regex_error(
    "a valid percent string must be a numeric string followed by an ending '%'", _PERCENT, "1%", "93%"
)


def _longer_than(limit: int) -> str:
    return f"must be no more than {limit} characters"


@functools.lru_cache(maxsize=8192)
def dns_subdomain(name: str) -> tuple[str, ...]:
    """The rule for most object names."""
    long = (_longer_than(253),) if len(name) > 253 else ()
    return long if _SUBDOMAIN_RE.fullmatch(name) else (*long, SUBDOMAIN_ERROR)


@functools.lru_cache(maxsize=8192)
def dns_label(name: str) -> tuple[str, ...]:
    """The rule for containers, volumes, ports of Services, namespaces."""
    long = (_longer_than(63),) if len(name) > 63 else ()
    return long if _LABEL_RE.fullmatch(name) else (*long, LABEL_ERROR)


@functools.lru_cache(maxsize=1024)
def dns1035_label(name: str) -> tuple[str, ...]:
    """The rule for names of Services."""
    long = (_longer_than(63),) if len(name) > 63 else ()
    return long if _DNS1035_RE.fullmatch(name) else (*long, DNS1035_ERROR)


def path_segment(name: str) -> tuple[str, ...]:
    """The rule for names of roles and bindings."""
    if name in (".", ".."):
        return (f"may not be '{name}'",)
    return tuple(f"may not contain '{mark}'" for mark in "/%" if mark in name)


@functools.lru_cache(maxsize=8192)
def qualified_name(key: str) -> tuple[str, ...]:
    """The rule for keys of labels, annotations, taints and resources."""
    parts = key.split("/")
    problems: list[str] = []
    if len(parts) == 2:
        prefix, name = parts
        if not prefix:
            problems.append("prefix part must be non-empty")
        else:
            problems += [f"prefix part {problem}" for problem in dns_subdomain(prefix)]
    elif len(parts) == 1:
        name = key
    else:
        return (
            "a qualified name "
            + QUALIFIED_ERROR
            + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part " + _longer_than(63))
    if not _QUALIFIED_RE.fullmatch(name):
        problems.append("name part " + QUALIFIED_ERROR)
    return tuple(problems)


@functools.lru_cache(maxsize=8192)
def label_value(value: str) -> tuple[str, ...]:
    """The rule for values of labels."""
    long = (_longer_than(63),) if len(value) > 63 else ()
    return long if _VALUE_RE.fullmatch(value) else (*long, VALUE_ERROR)


def config_key(key: str) -> tuple[str, ...]:
    """The rule for keys of ConfigMaps and Secrets."""
    problems = []
    if len(key) > 253:
        problems.append(_longer_than(253))
    if not _CONFIG_KEY_RE.fullmatch(key):
        problems.append(CONFIG_KEY_ERROR)
    if key == ".":
        problems.append("must not be '.'")
    elif key == "..":
        problems.append("must not be '..'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return tuple(problems)


def port_number(port: int) -> tuple[str, ...]:
    """1 to 65535."""
    return () if 1 <= port <= 65_535 else ("must be between 1 and 65535, inclusive",)


@functools.lru_cache(maxsize=1024)
def port_name(name: str) -> tuple[str, ...]:
    """IANA service names: the rule for named ports."""
    problems = []
    if len(name) > 15:
        problems.append(_longer_than(15))
    if not re.fullmatch(r"[-a-z0-9]+", name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return tuple(problems)


def port_number_or_name(port: int | str) -> tuple[str, ...]:
    """A port given by number or by name."""
    return port_number(port) if isinstance(port, int) else port_name(port)


def http_header(name: str) -> tuple[str, ...]:
    """Names of headers of HTTP."""
    error = _regex_error("a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER, "X-Header-Name")
    return () if re.fullmatch(_HEADER, name) else (error,)


def percent(text: str) -> tuple[str, ...]:
    """`25%`."""
    return () if _PERCENT_RE.fullmatch(text) else (PERCENT_ERROR,)


def environment_name(name: str) -> tuple[str, ...]:
    """Names of environment variables (relaxed rule, on by default in 1.32)."""
    if not name:
        return ("environment variable name must be non-empty",)
    if all(" " <= letter <= "~" and letter != "=" for letter in name):
        return ()
    return ("a valid environment variable name must consist only of printable ASCII characters other than '='",)


@functools.lru_cache(maxsize=8192)
def ip_address(text: str) -> tuple[str, ...]:
    """An IPv4 or IPv6 address."""
    if _is_ipv4(text) or _is_ipv6(text):
        return ()
    return ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",)


def cidr(text: str) -> tuple[str, ...]:
    """An address range."""
    address, slash, bits = text.partition("/")
    limit = 32 if _is_ipv4(address) else 128 if _is_ipv6(address) else -1
    if slash and bits.isdecimal() and int(bits) <= limit:
        return ()
    return ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)


def _is_ipv4(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 4 and all(p.isdecimal() and p == str(int(p)) and int(p) < 256 for p in parts)


def _is_ipv6(text: str) -> bool:
    if ":" not in text or text.count("::") > 1:
        return False
    groups = text.split(":")
    hexadecimal = all(re.fullmatch("[0-9a-fA-F]{0,4}", group) for group in groups)
    return hexadecimal and (len(groups) == 8 or ("::" in text and len(groups) <= 8))

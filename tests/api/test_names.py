import pytest

from simcluster.api import names


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (names.dns_subdomain, ("a", "a.b", "a-1.b-2", "1a"), ("", "A", "a_b", "-a", "a.", "a..b", "a" * 254)),
        (names.dns_label, ("a", "1-a"), ("a.b", "A", "a-", "a" * 64)),
        (names.dns1035_label, ("a", "a-1"), ("1a", "a.b", "")),
        (names.qualified_name, ("a", "A_b.c", "x.io/a"), ("", "a b", "/a", "x.io/", "a/b/c", "X.io/a", "a" * 64)),
        (names.label_value, ("", "a", "A_b.c-d"), ("-a", "a b", "a" * 64)),
        (names.config_key, ("a", "a.b-C_1", ".x"), ("", "a b", ".", "..", "..a")),
        (names.port_name, ("http", "p80"), ("80", "HTTP", "a--b", "-a", "a" * 16, "")),
        (names.environment_name, ("A", "a.b-c"), ("", "a=b", "\u00e9")),
        (names.percent, ("0%", "125%"), ("", "5", "a%", "-5%")),
        (
            names.ip_address,
            ("10.0.0.1", "::1", "2001:db8::ff"),
            ("", "10.0.0", "10.0.0.256", "01.2.3.4", "a::b::c", "x"),
        ),
        (names.cidr, ("10.0.0.0/8", "::/0"), ("10.0.0.0", "10.0.0.0/33", "x/8")),
        (names.path_segment, ("system:node", "A b"), (".", "..", "a/b", "a%b")),
    ],
)
def test_rules(rule, good, bad):
    assert [text for text in good if rule(text)] == []
    assert [text for text in bad if not rule(text)] == []


def test_ports():
    assert names.port_number(1) == names.port_number(65_535) == ()
    assert names.port_number(0) == ("must be between 1 and 65535, inclusive",)
    assert names.port_number_or_name("http") == ()


def test_the_text_names_pattern_and_examples():
    assert names.port_name("80") == ("must contain at least one letter (a-z)",)
    assert names.dns1035_label("1a") == (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation "
        "is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    )

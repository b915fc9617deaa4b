import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcluster.api import quantity
from simcluster.api.quantity import BINARY_SI, DECIMAL_EXPONENT, DECIMAL_SI, MAX_NANO, NANO, Quantity, QuantityError


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0", "0"),
        ("0.1", "100m"),
        (0.5, "500m"),
        (2, "2"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1024Mi", "1Gi"),
        ("1280Mi", "1280Mi"),
        ("0.5Gi", "512Mi"),
        ("1.5Gi", "1536Mi"),
        ("100", "100"),
        ("1000", "1k"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("12e2", "1200"),
        ("1E", "1E"),
        ("64M", "64M"),
        ("2048", "2048"),
        ("0Mi", "0"),
        ("0.5Ki", "512"),
        ("0.0001Ki", "102400u"),
        ("1n", "1n"),
        ("0.1n", "1n"),
        ("-250m", "-250m"),
        ("+5", "5"),
        (".5", "500m"),
        ("1.", "1"),
        ("41998499n", "41998499n"),
        ("8341868Ki", "8341868Ki"),
        (" 5 ", "5"),
    ],
)
def test_canonical(text, printed):
    assert quantity.canonical(text) == printed


@pytest.mark.parametrize("text", ["", "abc", "1 Gi", "10Kb", "1,5", "1.2.3", "+", True, None, {}])
def test_what_is_no_quantity(text):
    with pytest.raises(QuantityError, match="quantities must match the regular expression"):
        quantity.parse(text)


@pytest.mark.parametrize("text", ["--1", "1mm", "1ki", "1K", "1mi", "5e", "1ee3"])
def test_unknown_suffix(text):
    with pytest.raises(QuantityError, match="suffix"):
        quantity.parse(text)


def test_rounding_is_up():
    assert quantity.to_millicores("100u") == 1
    assert quantity.to_bytes("1500m") == 2
    assert quantity.to_bytes("1Ki") == 1024
    assert quantity.to_millicores("-1500u") == -1


def test_amounts_are_capped():
    assert quantity.parse("1e30").nano == MAX_NANO
    assert quantity.parse("9Ei").nano == MAX_NANO


def test_sum_keeps_the_family_of_the_first_that_is_not_zero():
    total = Quantity(0) + quantity.parse("64Mi") + quantity.parse("64M")
    assert total.format == BINARY_SI
    assert str(quantity.parse("1310m") + quantity.parse("2")) == "3310m"
    assert quantity.parse("1") < quantity.parse("1001m")
    assert str(quantity.parse("1Gi") - quantity.parse("512Mi")) == "512Mi"


@given(
    st.integers(-MAX_NANO, MAX_NANO) | st.integers(-(10**6), 10**6).map(lambda n: n * NANO),
    st.sampled_from([DECIMAL_SI, BINARY_SI, DECIMAL_EXPONENT]),
)
def test_parse_of_print_is_the_amount(nano, form):
    amount = Quantity(nano, form)
    again = quantity.parse(str(amount))
    assert again.nano == nano
    if form != BINARY_SI:  # a binary amount that no Ki divides prints like a decimal one
        assert str(again) == str(amount)

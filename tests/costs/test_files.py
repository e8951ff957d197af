"""Price lists in files: both formats, and every bad line at once."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.costs import Prices
from thrifty.costs import files as files_module
from thrifty.costs.files import read_list
from thrifty.errors import PriceError

CLINIC = {
    "own": {"age": 1.0, "chol": 5.17, "fbs": 3.1, "xray": 20.0, "mri": 300.0},
    "groups": {"blood": ["chol", "fbs"]},
    "shared": {"blood": 2.10},
    "requires": {"mri": ["xray"]},
    "panels": ["blood"],
    "also": {"mSv": Prices({"xray": 0.1})},
}


@pytest.fixture
def read(tmp_path):
    def write_and_read(name: str, text: str, **arguments) -> Prices:
        (tmp_path / name).write_bytes(text.encode())
        return Prices.read(tmp_path / name, **arguments)

    return write_and_read


@pytest.fixture
def refused(read):
    def problems(name: str, text: str, **arguments) -> list[str]:
        with pytest.raises(PriceError) as caught:
            read(name, text, **arguments)
        message = str(caught.value).split(f"{name}: ", 1)[1]
        return re.split(r"\n  - ", message)[1:] or [message]

    return problems


def layout(language: str) -> str:
    """The example that the documentation of the module shows."""
    shown = re.findall(r"::\n\n((?:    .*\n|\n)+)", files_module.__doc__)
    return shown[["csv", "toml"].index(language)].replace("\n    ", "\n").removeprefix("    ")


# --- CSV ---------------------------------------------------------------------


def test_the_csv_of_the_manual_is_read(read):
    delays = {"chol": 30.0, "fbs": 30.0, "xray": 10.0, "mri": 45.0}
    assert read("p.csv", layout("csv")) == Prices(**CLINIC, delays=delays)
    assert read("p.CSV", layout("csv"), unit="CAD").unit == "CAD"


@pytest.mark.parametrize(
    "text",
    [
        "feature,price\na,1\nb,2\n",
        "price,feature\n1,a\n2,b",
        " Feature , PRICE \r\na, 1 \r\n\r\nb,2\r\n,\r\n",
        "\ufefffeature,price,group,shared\na,1,,\nb,2\n",
        '"feature","price"\n"a","1"\n"b","2"\n',
    ],
)
def test_a_csv_may_be_written_in_many_ways(read, text):
    assert read("p.csv", text) == Prices({"a": 1, "b": 2})


def test_a_member_may_leave_out_its_price_where_the_group_has_one(read):
    text = "feature,price,group,shared\na,,g,\nb,2, g ,3\n"
    expected = Prices({"b": 2}, groups={"g": ["a", "b"]}, shared={"g": 3})
    assert read("p.csv", text) == expected


def test_a_name_is_taken_verbatim(read):
    assert read("p.csv", 'feature,price\n"a,b ",1\n') == Prices({"a,b ": 1})


def test_a_nameless_table_takes_positions_from_a_file(read):
    assert read("p.csv", "feature,price\n1,5\n0,4\n").bind(2).own.tolist() == [4.0, 5.0]


def test_every_bad_line_is_reported_with_its_number(refused):
    text = """feature,price,group,shared
age,-1,,
age,2,,
chol,abc,blood,2.10
fbs,"3,10",blood,2.20

thal,,,
ca,1,,5
,1,,
x,1,2,3,4
y,nan,g,inf
z,,h,
"""
    assert refused("p.csv", text) == [
        "line 2: price -1.0 is negative; a price is 0 or more",
        "line 3: feature 'age' is already in line 2",
        "line 4: price 'abc' is not a number",
        "line 5: price '3,10' is not a number; write a decimal point",
        "line 5: group 'blood' has the shared price 2.2 here and 2.1 in line 4",
        "line 7: no price for 'thal' (0 if it is free)",
        "line 8: shared price 5 without a group",
        "line 9: no feature",
        "line 10: 5 cells where the header has 4",
        "line 11: price nan is not a price; write 0 if the feature is free",
        "line 11: shared inf is not finite; drop from the table what cannot be bought",
        "line 12: no price for 'z' (0 if it is free)",
    ]


def test_a_quoted_cell_over_two_lines_does_not_shift_the_numbers(refused):
    text = 'feature,price\n"a\nb",x\nc,y\n'
    assert refused("p.csv", text) == [
        "line 2: price 'x' is not a number",
        "line 4: price 'y' is not a number",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the file is empty"),
        ("feature,price\n", "line 1: no features below the header"),
        ("feature,prise\na,1\n", "line 1: unknown column 'prise'; did you mean 'price'?"),
        ("feature,prise\na,1\n", "line 1: no column 'price'"),
        ("feature,price,price\na,1,1\n", "line 1: column 'price' occurs twice"),
        ("age,1.0\n", "line 1: no column 'feature'"),
        ('feature,price\na,"1\n', "line 2: unexpected end of data"),
    ],
)
def test_a_csv_of_another_shape_is_refused_with_the_reason(refused, text, words):
    assert any(problem.startswith(words) for problem in refused("p.csv", text))


NAMES = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1)
AMOUNTS = st.floats(0, 1e100)


@given(own=st.dictionaries(NAMES, AMOUNTS, min_size=1))
def test_prices_are_read_back_to_the_bit(own, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lists")
    rows = ['"{}",{!r}\n'.format(name.replace('"', '""'), price) for name, price in own.items()]
    (folder / "p.csv").write_text("feature,price\n" + "".join(rows), encoding="utf-8")
    assert read_list(folder / "p.csv")["own"] == own


# --- TOML --------------------------------------------------------------------


def test_the_toml_of_the_manual_is_read(read):
    prices = read("p.toml", layout("toml"))
    assert prices == Prices(
        **CLINIC,
        delays={"blood": 30.0, "mri": 45.0},
        delay_unit="min",
        evaluation=0.01,
        calls={"remote": 0.5},
        unit="CAD",
    )


def test_structure_in_a_csv_is_checked_line_by_line(refused):
    text = (
        "feature,price,group,panel,requires,delay,price:ms,shared:ms\n"
        "a,1,,yes,,-2,x,\nb,1,g,maybe,;,,1,3\nc,1,g,no,,,,4\nd,1,g,yes,,,,\n"
    )
    assert refused("p.csv", text) == [
        "line 2: panel yes without a group",
        "line 2: delay -2.0 is negative; a delay is 0 or more",
        "line 2: price:ms 'x' is not a number",
        "line 3: panel 'maybe' is neither yes nor no",
        "line 4: group 'g' has the panel no here and maybe in line 3",
        "line 4: group 'g' has the shared:ms 4.0 here and 3.0 in line 3",
        "line 5: group 'g' has the panel yes here and maybe in line 3",
    ]


def test_the_name_of_a_currency_keeps_its_case(read):
    prices = read("p.csv", "Feature,Price,Group,Price:mSv,SHARED:mSv\na,1,g,2,3\n")
    assert prices.also == {"mSv": Prices({"a": 2}, shared={"g": 3})}


def test_a_currency_needs_a_name(refused):
    assert "unknown column 'price:'" in refused("p.csv", "feature,price,price:\na,1,2\n")[0]


def test_structure_in_a_toml_is_checked(refused):
    text = (
        "delay_unit = 3\n[prices]\na = 1\n[groups.g]\nmembers = ['a']\npanel = 'x'\n"
        "[requires]\na = 'b'\n[delays]\na = -1\n"
        "[currencies.ms]\nfoo = 1\nevaluation = -1\n[currencies.ms.prices]\na = -1\n"
    )
    assert refused("p.toml", text) == [
        "[groups.g] panel: write true or false",
        "delay_unit: 3 is not text; put it in quotes",
        "[requires] a: 'b' is not a list",
        "[delays] a: -1.0 is negative; a delay is 0 or more",
        "[currencies.ms] unknown key 'foo' (keys: prices, shared, evaluation, calls)",
        "[currencies.ms.prices] a: -1.0 is negative; a price is 0 or more",
        "[currencies.ms] evaluation: -1.0 is negative; a price is 0 or more",
    ]


def test_a_toml_may_be_short(read):
    assert read("p.toml", "[prices]\na = 1\n") == Prices({"a": 1})
    group = "[groups.g]\nshared = 2\nmembers = [0, 1]\n"
    assert read("p.toml", group).bind(2).shared.tolist() == [2.0]


def test_the_unit_may_be_given_by_the_caller(read):
    assert read("p.toml", "[prices]\na = 1\n", unit="ms").unit == "ms"
    assert read("p.toml", 'unit = "ms"\n[prices]\na = 1\n', unit="ms").unit == "ms"


def test_two_units_are_a_contradiction(refused):
    text = 'unit = "CAD"\n[prices]\na = 1\n'
    assert refused("p.toml", text, unit="EUR") == ["the unit of the file is 'CAD', not 'EUR'"]


def test_every_problem_of_a_toml_is_reported(refused):
    text = """unit = 3
evaluation = -1
prises = 1

[prices]
age = "1"
chol = true
lab.fbs = 3

[groups.blood]
share = 2.1
members = []

[groups.exercise]
shared = nan
members = "thal"

[calls]
remote = inf
"""
    assert refused("p.toml", text) == [
        "unknown key 'prises'; did you mean 'prices'?",
        "[groups.blood] unknown key 'share'; did you mean 'shared'?",
        "[prices] age: '1' is not a number",
        "[prices] chol: True is not a number",
        "[prices] lab: {'fbs': 3} is not a number; put a name with a dot in quotes",
        "[groups.blood] has no list of members",
        "[groups.exercise] has no list of members",
        "[groups] shared price of exercise: nan is not a price; write 0 if the feature is free",
        "[calls] remote: inf is not finite; drop from the table what cannot be bought",
        "evaluation: -1.0 is negative; a price is 0 or more",
        "unit: 3 is not text; put it in quotes",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no prices; add a table [prices]"),
        ("prices = 3", "'prices' is not a table; write [prices]"),
        ("groups = [1]\n[prices]\na = 1", "'groups' is not a table; write [groups]"),
        ("[groups]\nblood = 3", "'groups.blood' is not a table; write [groups.blood]"),
    ],
)
def test_a_toml_of_another_shape_is_refused_with_the_reason(refused, text, words):
    assert words in refused("p.toml", text)


def test_a_syntax_error_of_a_toml_is_reported_with_its_line(refused):
    (problem,) = refused("p.toml", "[prices]\nage = 1\nage = 2\n")
    assert "line 3" in problem


# --- both --------------------------------------------------------------------


def test_only_csv_and_toml_are_read(refused):
    assert refused("p.xlsx", "") == ["a price list is a .csv or a .toml file"]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_csv_may_have_semicolons_and_decimal_commas(tmp_path, separator):
    text = "feature,price,group,shared\nage,1.5,,\nchol,5,blood,2.1\nfbs,3.25,blood,\n"
    (tmp_path / "p.csv").write_text(text)
    expected = Prices.read(tmp_path / "p.csv")
    (tmp_path / "p.csv").write_text(text.replace(",", separator).replace(".", ","))
    assert Prices.read(tmp_path / "p.csv") == expected


def test_a_csv_in_another_encoding_is_a_warning(tmp_path):
    (tmp_path / "p.csv").write_bytes("feature,price\nâge,1\n".encode("latin-1"))
    with pytest.warns(UserWarning, match="not UTF-8 text, read as Windows-1252"):
        assert Prices.read(tmp_path / "p.csv") == Prices({"âge": 1})


def test_other_encodings_are_refused_with_the_remedy(tmp_path):
    (tmp_path / "p.toml").write_bytes("[prices]\n'âge' = 1\n".encode("latin-1"))
    with pytest.raises(PriceError, match="not UTF-8 text; save the file as UTF-8"):
        Prices.read(tmp_path / "p.toml")
    (tmp_path / "p.csv").write_bytes(b"\x81\xff")
    with pytest.raises(PriceError, match="save the file as UTF-8"):
        Prices.read(tmp_path / "p.csv")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.csv"):
        Prices.read(str(tmp_path / "absent.csv"))


def test_numbers_and_nesting_without_end_are_refused(refused):
    assert "4300 digits" in refused("p.toml", f"unit = {'9' * 5000}")[0]
    assert "recursion" in refused("p.toml", f"unit = {'[' * 20_000}")[0]

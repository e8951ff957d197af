"""Files with the costs of errors: CSV or TOML, all problems at once."""

from __future__ import annotations

import pytest

from thrifty.cli.inputs.cost_files import read_costs_file
from thrifty.errors import DataError


def test_both_kinds_of_files_say_the_same(tmp_path) -> None:
    (tmp_path / "c.csv").write_text("cost,true,predicted\n5,1,2\n\n7.5, 2 ,1\n")
    (tmp_path / "c.toml").write_text("[costs.1]\n2 = 5\n[costs.2]\n1 = 7.5\n")
    for name in ("c.csv", "c.toml"):
        assert read_costs_file(tmp_path / name, [1, 2]) == {(1, 2): 5.0, (2, 1): 7.5}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("c.csv", "true,predicted,cost\nno,maybe,5\nno,yes,-3\nyes,no\nno,yes,2\nno,yes,3\n",
         ["line 2: no class 'maybe'", "line 3: cost '-3' is not", "line 4: 2 cells",
          "line 6: 'no', 'yes' is listed twice"]),
        ("c.csv", "true,predicted,cost\nno,yes,5\n",
         ["no cost for predicting 'no' where 'yes' is true"]),
        ("c.csv", "a,b\n", ["line 1: the columns are a,b, not true,predicted,cost"]),
        ("c.toml", "costs = 3\n", ["must have tables such as [costs.ill]"]),
        ("c.toml", f"costs = {'9' * 5000}\n", ["4300 digits"]),
        ("c.toml", f"costs = {'[' * 20_000}\n", ["recursion"]),
        ("c.toml", "[costs]\nno = 1\n", ["'no' is not a table; write [costs.no]"]),
        ("c.toml", "[costs.no\n", ["Expected"]),
        ("c.toml", "[costs.no]\nyes = true\n", ["cost True is not a finite number"]),
        ("c.toml", "[costs.no]\nyes = []\n", ["cost [] is not a finite number"]),
        ("c.toml", f"[costs.no]\nyes = 1{'0' * 400}\n", ["is not a finite number"]),
        ("c.csv", f"true,predicted,cost\nno,yes,{'1' * 140_000}\n", ["field larger than"]),
        ("c.txt", "", ["as a .csv or .toml file"]),
    ],
)  # fmt: skip
def test_all_problems_of_a_file_are_listed(tmp_path, name, text, words) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as caught:
        read_costs_file(tmp_path / name, ["no", "yes"])
    for each in words:
        assert each in str(caught.value)


def test_a_european_file_says_the_same(tmp_path) -> None:
    comma, semicolon = tmp_path / "a.csv", tmp_path / "b.csv"
    comma.write_text("true,predicted,cost\nno,yes,1.5\nyes,no,20.0\n")
    semicolon.write_text("true;predicted;cost\nno;yes;1,5\nyes;no;20,0\n")
    labels = ["no", "yes"]
    assert read_costs_file(semicolon, labels) == read_costs_file(comma, labels)

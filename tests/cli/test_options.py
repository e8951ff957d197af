"""The options that commands share: checked before any work."""

from __future__ import annotations

import click
import pytest

from thrifty.cli.options import check_outputs, name_main, read_prices

FIT = ("fit", "table.csv", "--target", "ill", "--learner", "greedy-miser", "-o", "m.thrifty",
       "--budget", "20")  # fmt: skip


def test_without_a_price_list_every_feature_costs_1() -> None:
    prices = read_prices(None, "ms").bind(["age", "sex"])
    assert prices.own.tolist() == [1.0, 1.0] and prices.unit == "ms"


def test_an_output_is_neither_an_input_nor_another_output(tmp_path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    check_outputs([a, None], [b, None])
    for outputs, inputs in (([a], [tmp_path / "x" / ".." / "a"]), ([a, a], [b])):
        with pytest.raises(click.UsageError, match="is named twice"):
            check_outputs(outputs, inputs)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--budget", "nan"), "not a finite number"),
        (("--budget", "inf"), "not a finite number"),
        (("--drop", "ill"), "'ill' is named by --target and by --drop"),
        (("--groups", "ill"), "'ill' is named by --target and by --groups"),
        (("--task", "clustering"), "clustering"),
        (("--prices", "absent.csv"), "does not exist"),
        (("-o", "absent/m.thrifty"), "There is no folder 'absent'; create it first"),
        (("-o", "."), "is a directory"),
        (("-o", "table.csv"), "'table.csv' is named twice"),
    ],
)
def test_a_wrong_option_is_reported_before_any_work(run, folder, arguments, words, files) -> None:
    before = files()
    result = run(*FIT, *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert files() == before


def test_a_folder_without_write_permission_is_reported_before_any_work(
    run, folder, monkeypatch
) -> None:
    monkeypatch.setattr("thrifty.cli.options.os.access", lambda path, mode: False)
    result = run(*FIT)
    assert result.exit_code == 2
    assert "is not writable" in result.stderr


def test_the_main_currency_has_one_amount() -> None:
    assert name_main({"": 30.0, "ms": 5.0}, "CAD") == {"CAD": 30.0, "ms": 5.0}
    with pytest.raises(click.UsageError, match="CAD is the main currency, and has two amounts"):
        name_main({"": 30.0, "CAD": 40.0}, "CAD")

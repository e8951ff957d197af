"""The terminal sessions on two pages are run, with the models of these pages."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner

from thrifty import BudgetClassifier
from thrifty.cli import main
from thrifty.data import heart, heart_files

DOCS = Path(__file__).parent.parent / "docs"
ADDRESS = "http://127.0.0.1:8000"


def sessions_of(page: str) -> list[tuple[str, str]]:
    """Return the commands in the console blocks of a page, each with the output that it shows."""
    blocks = re.findall(r"code-block:: console\n\n((?:   .*\n|\n)+)", (DOCS / page).read_text())
    text = "".join(dedent(block) for block in blocks).replace("\\\n", " ")
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(part.split("\n")[0], "\n".join(part.split("\n")[1:])) for part in parts]


def assert_shown(command: str, shown: str, printed: str) -> None:
    """Check that a page shows what a command printed; line breaks may differ, `...` is anything."""
    shown, printed = (re.sub(r"\s+", "", text) for text in (shown, printed))
    is_shown = doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)
    assert is_shown, f"{command}\nshown:   {shown}\nprinted: {printed}"


@contextmanager
def served(folder: Path, model: str) -> Iterator[str]:
    """Serve a model file of a folder; yield its address."""
    command = [sys.executable, "-m", "thrifty.cli", "serve", model, "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            yield found[0]
        finally:
            process.terminate()


def check_requests(page: str, address: str) -> int:
    """Send the requests of a page; check the responses, and return how many there are."""
    case, count = "CASE", 0
    for command, shown in sessions_of(page):
        if not command.startswith("curl "):
            continue
        filled = command.replace(ADDRESS, address).replace("CASE", case)
        arguments = ["curl", "-s", *shlex.split(filled)[1:]]
        printed = subprocess.run(arguments, capture_output=True, text=True).stdout
        case = json.loads(printed).get("case", case)
        assert_shown(command, shown.replace("CASE", case), printed)
        count += 1
    return count


needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


@needs_curl
def test_the_requests_on_the_page_about_serving_are_answered_as_it_shows(tmp_path) -> None:
    page = "howto/serving.rst"
    names: dict[str, object] = {}
    for example in doctest.DocTestParser().get_examples((DOCS / page).read_text()):
        exec(example.source, names)
        if "predictor" in names:
            break
    names["predictor"].save(tmp_path / "credit.thrifty")  # type: ignore[attr-defined]
    with served(tmp_path, "credit.thrifty") as address:
        assert check_requests(page, address) >= 8


@needs_curl
def test_the_requests_of_the_first_tutorial_are_answered_as_it_shows(tmp_path) -> None:
    from sklearn.model_selection import train_test_split

    table = heart()
    X, _, y, _ = train_test_split(table.X, table.y, test_size=200, random_state=0)
    model = BudgetClassifier(table.prices, budget=30, effort="fast", random_state=0).fit(X, y)
    model.save(tmp_path / "heart.thrifty")
    with served(tmp_path, "heart.thrifty") as address:
        assert check_requests("tutorials/quickstart.rst", address) == 2


@pytest.mark.no_cover
def test_the_commands_of_the_first_tutorial_print_what_it_shows(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in heart_files().items():
        Path(name).write_text(text)
    commands = [each for each in sessions_of("tutorials/quickstart.rst") if "heart.csv" in each[0]]
    assert len(commands) == 2
    for command, shown in commands:
        assert_shown(command, shown, CliRunner().invoke(main, shlex.split(command)[1:]).stdout)
    # The reference shows the same result.
    (result,) = re.findall(r"On the test set: .*?\)\.", " ".join(commands[0][1].split()))
    assert result in " ".join((DOCS / "reference" / "command-line.rst").read_text().split())

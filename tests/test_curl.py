"""The curl commands on the page about serving are run, and answer what the page shows."""

from __future__ import annotations

import doctest
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from thrifty import GreedyMiserClassifier
from thrifty.data import heart

PAGE = Path(__file__).parent.parent / "docs" / "howto" / "serving.rst"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_curl_commands_of_the_page_answer_what_it_shows(tmp_path):
    table = heart()
    model = GreedyMiserClassifier(table.prices, n_estimators=20, penalty=0.002, random_state=0)
    model.fit(table.X, table.y).save(tmp_path / "heart.thrifty")
    commands = re.findall(r"^   \$ (curl .*)\n   (.*)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) >= 8
    server = [sys.executable, "-m", "thrifty.cli", "serve", "heart.thrifty", "--port", "0"]
    with subprocess.Popen(server, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            case = "CASE"
            for command, shown in commands:
                filled = command.replace("http://127.0.0.1:8000", found[0]).replace("CASE", case)
                answer = subprocess.run(
                    filled.replace("curl", "curl -s", 1), shell=True, capture_output=True, text=True
                ).stdout
                case = json.loads(answer).get("case", case)
                wanted = shown.replace("CASE", case)
                is_shown = doctest.OutputChecker().check_output(wanted, answer, doctest.ELLIPSIS)
                assert is_shown, f"{command}\nshown:  {wanted}\nanswer: {answer}"
        finally:
            process.terminate()

"""The files in docs/deploy start what exists, and systemd understands its unit."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from thrifty.cli.serve import serve

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "docs" / "deploy"
UNIT = (DEPLOY / "thrifty.service").read_text()
DOCKERFILE = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
OPTIONS = {name for parameter in serve.params for name in parameter.opts}


def test_the_unit_starts_the_server_with_options_that_exist() -> None:
    (command,) = re.findall(r"^ExecStart=(.*)$", UNIT.replace("\\\n", " "), re.MULTILINE)
    assert command.split()[:2] == ["/opt/thrifty/bin/thrifty", "serve"]
    assert set(re.findall(r"--[a-z-]+", command)) <= OPTIONS


def test_the_unit_hands_over_what_its_command_reads() -> None:
    handed = set(re.findall(r"^LoadCredential=([^:]+):", UNIT, re.MULTILINE))
    assert set(re.findall(r"%d/(\S+)", UNIT)) == handed


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path) -> None:
    program = tmp_path / "thrifty"
    program.symlink_to(sys.executable)
    unit = tmp_path / "thrifty.service"
    unit.write_text(UNIT.replace("/opt/thrifty/bin/thrifty", str(program)))
    command = ["systemd-analyze", "verify", "--man=no", unit]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_container_starts_the_server_with_options_that_exist() -> None:
    (entry,) = re.findall(r"^ENTRYPOINT (\[.*\])$", DOCKERFILE, re.MULTILINE)
    (arguments,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert json.loads(entry) == ["/opt/thrifty/bin/thrifty", "serve"]
    options = [word for word in json.loads(arguments) if word.startswith("--")]
    assert options and set(options) <= OPTIONS


def test_the_container_does_not_run_as_root_and_keeps_the_ledger() -> None:
    (user,) = re.findall(r"^USER (\d+)$", DOCKERFILE, re.MULTILINE)
    assert int(user) > 0 and f"--uid {user} " in DOCKERFILE
    (volume,) = re.findall(r"^VOLUME (\S+)$", DOCKERFILE, re.MULTILINE)
    assert f'"--ledger", "{volume}/' in DOCKERFILE


def test_what_the_image_installs_is_in_the_repository() -> None:
    assert "--constraint constraints.txt" in DOCKERFILE
    assert (ROOT / "constraints.txt").exists()

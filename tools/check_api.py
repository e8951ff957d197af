"""Try a server with what its own description allows and forbids, by schemathesis.

    .venv/bin/python tools/check_api.py [--examples 50] [--seed 1]

It needs the network: schemathesis (MIT) is installed into an environment of its own, which goes
when it is done, so that its dozen dependencies are none of ours. An undocumented status, a response
that does not match its schema, a valid request that is refused, an invalid one that is taken, or an
internal error fails the run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from importlib.resources import as_file
from pathlib import Path

from thrifty.data import heart_model


def main() -> int:
    """Run a server and schemathesis; return the exit code of the latter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=50, help="examples per operation")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, as_file(heart_model()) as model:
        folder = Path(name)
        venv.EnvBuilder(symlinks=os.name != "nt", with_pip=True).create(folder)
        scripts = folder / ("Scripts" if os.name == "nt" else "bin")
        pip = [scripts / "python", "-m", "pip", "install", "--quiet", "schemathesis"]
        subprocess.run(pip, check=True)
        # One client sends all requests: the limit that protects a server from that is lifted.
        command = [sys.executable, "-m", "thrifty.cli", "serve", model, "--port", "0",
                   "--rate", "1000000"]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                url = next(word for word in server.stdout.readline().split() if "://" in word)
                command = [
                    scripts / "schemathesis", "run", f"{url}/openapi.json", "--no-color",
                    "--max-examples", str(given.examples), "--seed", str(given.seed),
                    "--continue-on-failure",
                ]  # fmt: skip
                return subprocess.call(command, cwd=folder)
            finally:
                server.terminate()


if __name__ == "__main__":
    sys.exit(main())

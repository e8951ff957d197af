#!/usr/bin/env python3
"""From a fresh clone to a running Thrifty with nothing but Python and pip.

    python3 dev.py demo           a short tour in the terminal
    python3 dev.py test [ARGS]    linters, types, import rules, tests, docs; ARGS go to pytest
    python3 dev.py lint           the linters alone
    python3 dev.py bench [NAME]   run benchmarks/NAME.py; without a name, list them
    python3 dev.py docs           build the documentation into docs/_build/html

The first run makes .venv with the versions of constraints.txt; later runs start at once.
"""

# This file must parse on any Python 3, so that an old one gets a message and not a SyntaxError.
import sys

if sys.version_info < (3, 11):
    sys.exit(
        "Thrifty needs Python 3.11 or newer; this is Python {}.{} ({}).\n"
        "Run dev.py with a newer one, for example: python3.11 dev.py demo".format(
            sys.version_info[0], sys.version_info[1], sys.executable
        )
    )

import hashlib
import importlib.util
import json
import os
import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / "thrifty-stamp.json"
BENCHMARKS = ROOT / "benchmarks"

LINTERS = {
    "ruff check": [PYTHON, "-m", "ruff", "check", "."],
    "ruff format": [PYTHON, "-m", "ruff", "format", "--check", "."],
    "mypy": [PYTHON, "-m", "mypy"],
    "lint-imports": [BIN / "lint-imports"],
}
DOCS = [PYTHON, "-m", "sphinx", "-W", "--keep-going", "-q", "docs", "docs/_build/html"]


def demo(arguments):
    """Show the tour, in the folder the user is in."""
    prepare()
    return subprocess.call([PYTHON, "-m", "thrifty.cli", "demo", *arguments])


def test(arguments):
    """Run every check and tell at the end which ones failed."""
    prepare("test", "docs")
    tests = {
        "pytest": [PYTHON, "-m", "pytest", "-n", "2", "--dist", "worksteal", *arguments],
        "docs": DOCS,
    }
    return run_all({**LINTERS, **tests})


def lint(arguments):
    """Run the linters alone."""
    refuse(arguments)
    prepare("test")
    return run_all(LINTERS)


def bench(arguments):
    """Run the benchmarks that were named, one after the other."""
    known = sorted(path.stem for path in BENCHMARKS.glob("[!_]*.py"))
    unknown = [name for name in arguments if name not in known]
    if unknown:
        sys.exit("No benchmark {}; there are: {}".format(", ".join(unknown), ", ".join(known)))
    if not arguments:
        print("\n".join(known))
        return 0
    prepare("bench", "parquet")
    # Waiting OpenMP threads would otherwise burn the cores that are being measured.
    environment = {"OMP_WAIT_POLICY": "passive"}
    scripts = {name: [PYTHON, BENCHMARKS / f"{name}.py"] for name in arguments}
    return run_all(scripts, environment)


def docs(arguments):
    """Build the documentation; a warning is an error."""
    refuse(arguments)
    prepare("docs")
    return run_all({"docs": DOCS})


def refuse(arguments):
    """Stop when a verb without arguments was given some."""
    if arguments:
        sys.exit("This verb takes no arguments: {}".format(" ".join(arguments)))


def run_all(commands, environment=None):
    """Run every command in the project's folder; 1 if any failed, else 0."""
    defaults = {"OMP_NUM_THREADS": "1"} if environment is None else environment
    failed = []
    for name, command in commands.items():
        print(f"== {name}", flush=True)
        if subprocess.call(command, cwd=ROOT, env={**os.environ, **defaults}):
            failed.append(name)
    print("failed: {}".format(", ".join(failed)) if failed else "all passed", flush=True)
    return 1 if failed else 0


def prepare(*extras):
    """Make the environment hold the package and `extras`; do nothing when it already does."""
    present = installed()
    if present is None:
        print(f"making {VENV}", flush=True)
        # The host's pip installs from outside, so the environment needs no ensurepip.
        venv.EnvBuilder(clear=True, symlinks=os.name != "nt", with_pip=False).create(VENV)
    elif present.issuperset(extras):
        return
    wanted = sorted({*extras, *(present or ())})
    target = "{}[{}]".format(ROOT, ",".join(wanted)) if wanted else str(ROOT)
    STAMP.unlink(missing_ok=True)
    install(["--constraint", str(ROOT / "constraints.txt"), "--editable", target])
    STAMP.write_text(json.dumps({"key": key(), "extras": wanted}))


def installed():
    """Extras in the environment, or None when it must be made anew."""
    try:
        stamp = json.loads(STAMP.read_text())
        return set(stamp["extras"]) if PYTHON.exists() and stamp["key"] == key() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def key():
    """Hash of all that decides what the environment holds: place, Python, requirements."""
    parts = [str(ROOT).encode(), sys.version.encode()]
    parts += [(ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def install(arguments):
    """Install into the environment with the pip of the Python that runs this file."""
    command = [*host_pip(), "--python", str(PYTHON), "install", "--quiet", *arguments]
    print("installing (the first time takes a few minutes)", flush=True)
    if subprocess.call(command, cwd=ROOT):
        sys.exit("pip could not install Thrifty; its message is above.")


def host_pip():
    """Command that runs pip: our own interpreter's, or that of the one below it."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    # Inside an environment without pip, such as our own, the interpreter it was made from has it.
    base = getattr(sys, "_base_executable", sys.executable)
    command = [base, "-m", "pip"]
    if subprocess.call([*command, "--version"], stdout=subprocess.DEVNULL):
        sys.exit(f"pip is missing: {base} -m pip does not run. Install pip for it and try again.")
    return command


VERBS = {verb.__name__: verb for verb in (demo, test, lint, bench, docs)}


def main():
    """Run one verb."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(__doc__.strip())
        return 0
    if arguments[0] not in VERBS:
        sys.exit("Unknown verb {!r}; there are: {}".format(arguments[0], ", ".join(VERBS)))
    return VERBS[arguments[0]](arguments[1:])


if __name__ == "__main__":
    sys.exit(main())

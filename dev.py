#!/usr/bin/env python3
"""From a fresh clone to a running Thrifty with nothing but Python, pip and a C compiler.

    python3 dev.py demo           a short tour in the terminal
    python3 dev.py test           linters, types, import rules, tests with coverage, docs
    python3 dev.py test --fast    the same without the slow tests and without coverage
    python3 dev.py test ARGS      the same with ARGS passed to pytest, without coverage
    python3 dev.py test --sanitize  kernels and model files under the sanitizers of gcc
    python3 dev.py test --oldest  tests with the oldest versions that pyproject.toml allows
    python3 dev.py fuzz           hostile input for all readers, for a minute; -h shows the options
    python3 dev.py lint           ruff, mypy and the import rules
    python3 dev.py bench [NAME]   run benchmarks/NAME.py; without a name, list them
    python3 dev.py bench --results [NAME]
                                  measure what the papers report, and write docs/results
    python3 dev.py docs           build the documentation into docs/_build/html
    python3 dev.py docs --links   visit every external link of the documentation; needs the network
    python3 dev.py wheel          build a wheel, the source distribution and their SBOM into dist/
    python3 dev.py hashes         write constraints-hashes.txt: constraints.txt with hashes
    python3 dev.py --require-hashes COMMAND
                                  install only files whose hashes are in constraints-hashes.txt

The first run creates .venv with the versions in constraints.txt and compiles the kernels; later
runs reuse both, and compile again what has changed.
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
import platform
import shutil
import subprocess
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / "thrifty-stamp.json"
BENCHMARKS = ROOT / "benchmarks"
KERNELS = ROOT / "src" / "thrifty" / "kernels"
CONSTRAINTS = ROOT / "constraints.txt"
OLDEST = ROOT / "constraints-oldest.txt"
HASHES = ROOT / "constraints-hashes.txt"
EXTRAS = ["bench", "dask", "docs", "parquet", "serve", "test"]
# Whether to install only files whose hashes are known.
VERIFIED = sys.argv[1:2] == ["--require-hashes"]

LINTERS = {
    "ruff check": [PYTHON, "-m", "ruff", "check", "."],
    "ruff format": [PYTHON, "-m", "ruff", "format", "--check", "."],
    "mypy": [PYTHON, "-m", "mypy"],
    "lint-imports": [BIN / "lint-imports"],
}
# Kernels, and model files that try to make them read or write outside of their arrays.
SANITIZED = [
    "tests/kernels",
    "tests/bundle/test_hostile.py",
    "tests/test_corpus.py",
    "tests/test_parallel.py",
    "tests/fuzz",
    # They measure memory, of which the sanitizers take more.
    "--deselect=tests/bundle/test_hostile.py::test_a_small_file_takes_little_time_and_memory",
    "--deselect=tests/fuzz/test_fuzz.py::test_a_case_that_takes_too_much_memory_is_an_escape",
]
# The same cases every time; readers are slower and larger with the sanitizers.
FUZZ = [PYTHON, "-m", "fuzz"]
SANITIZED_FUZZ = [*FUZZ, "--cases", "4000", "--seed", "1", "--slack", "10"]
# Writes 64 bytes to an array of two.
OVERRUN = """
import numpy as np
from thrifty.kernels.binning import fill_codes
fill_codes(np.zeros(64), np.zeros(2, dtype=np.uint8))
"""
DOCS = [PYTHON, "-m", "sphinx", "-W", "--keep-going", "-q", "docs", "docs/_build/html"]
# The examples need not run for that: their links are in their text.
LINKS = [PYTHON, "-m", "sphinx", "-q", "-b", "linkcheck", "-D", "plot_gallery=0"]
LINKS += ["docs", "docs/_build/links"]


# Measure coverage and fail below the figure in pyproject.toml ([tool.coverage.report]).
COVERAGE = ["--cov", "--cov-report=term-missing:skip-covered"]


def demo(arguments):
    """Run the tour in the current folder."""
    prepare()
    return subprocess.call([PYTHON, "-m", "thrifty.cli", "demo", *arguments])


def test(arguments):
    """Run every check and report at the end which ones failed.

    Coverage is measured only when the whole suite runs: a part of it says nothing.
    """
    if arguments == ["--sanitize"]:
        return sanitize()
    if arguments[:1] == ["--oldest"]:
        return test_oldest(arguments[1:])
    prepare("test", "docs")
    options = []
    for argument in arguments:
        options += ["-m", "not slow"] if argument == "--fast" else [argument]
    pytest = [PYTHON, "-m", "pytest", "-n", "2", "--dist", "worksteal", *(options or COVERAGE)]
    return run_all({**LINTERS, "pytest": pytest, "docs": DOCS})


def sanitize():
    """Run the tests of the kernels and of model files with AddressSanitizer and UBSan."""
    prepare("test")
    base = ROOT / "build" / "sanitize"
    build = [PYTHON, "setup.py", "-q", "build", "--build-base", base, "--build-lib", base / "lib"]
    flags = {"THRIFTY_SANITIZE": "1", "THRIFTY_OPTIMIZE": "1"}
    if run_all({"build": build}, flags):
        return 1
    runtime = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], text=True).strip()
    environment = {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(base / "lib"),
        # Python itself is not instrumented: it never frees some objects, and its allocator hides
        # the ends of arrays.
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
    }
    # A kernel that writes beyond an array must be stopped, or the tests would prove nothing.
    overrun = [PYTHON, "-c", OVERRUN]
    done = subprocess.run(
        overrun, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True
    )
    if "AddressSanitizer" not in done.stderr:
        print("failed: the sanitizer does not see an overrun", done.stdout, done.stderr, flush=True)
        return 1
    pytest = [PYTHON, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", "-m", "not slow"]
    status = run_all({"pytest": [*pytest, *SANITIZED]}, environment)
    return max(status, run_all({"fuzz": SANITIZED_FUZZ}, {**environment, **fuzzing(base / "lib")}))


def fuzz(arguments):
    """Try hostile input on everything that reads files and replies; see tests/fuzz."""
    prepare("test")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **fuzzing()}
    return subprocess.call([*FUZZ, *arguments], cwd=ROOT, env=environment)


def fuzzing(*folders):
    """Return the environment of the fuzzer: its modules, and one order of sets."""
    paths = os.pathsep.join(map(str, [*folders, ROOT / "tests"]))
    return {"PYTHONPATH": paths, "PYTHONHASHSEED": "0"}


def test_oldest(arguments):
    """Run the tests with the oldest versions that pyproject.toml allows, on the oldest Python.

    They run in a copy of the sources with an environment of its own, so that the oldest Cython
    compiles the kernels, too. What is not in constraints-oldest.txt is as in constraints.txt.
    """
    if sys.version_info[:2] != (3, 11):
        sys.exit("The oldest versions are tested on Python 3.11: python3.11 dev.py test --oldest")
    copy = ROOT / "build" / "oldest"
    shutil.rmtree(copy, ignore_errors=True)
    ignored = shutil.ignore_patterns(
        *(".git", ".venv", "build", "dist", "_build", "gallery", "generated", "__pycache__"),
        *("*.so", "*.egg-info"),
    )
    shutil.copytree(ROOT, copy, ignore=ignored)
    oldest = {line.split("==")[0]: line for line in OLDEST.read_text().splitlines()}
    newest = {line.split("==")[0]: line for line in CONSTRAINTS.read_text().splitlines()}
    constraints = copy / "build" / "constraints.txt"
    constraints.parent.mkdir()
    constraints.write_text("\n".join({**newest, **oldest}.values()))
    python = create_environment(copy / ".venv")
    install(["setuptools", "cython"], python, constraints)
    editable = ["--no-build-isolation", "--editable", f"{copy}[parquet,test]"]
    install(editable, python, constraints)
    pytest = [python, "-m", "pytest", "-n", "2", "--dist", "worksteal", *arguments]
    return run_all({"pytest": pytest}, folder=copy)


def lint(arguments):
    """Run ruff, mypy and the import rules."""
    refuse(arguments)
    prepare("test")
    return run_all(LINTERS)


def bench(arguments):
    """Run the named benchmarks one after the other, or list them; --results runs all by default."""
    folder = BENCHMARKS
    if arguments[:1] == ["--results"]:
        folder, arguments = BENCHMARKS / "results", arguments[1:]
    known = sorted(path.stem for path in folder.glob("[!_]*.py"))
    if folder != BENCHMARKS:
        arguments = arguments or known
    unknown = [name for name in arguments if name not in known]
    if unknown:
        sys.exit("No benchmark {}; there are: {}".format(", ".join(unknown), ", ".join(known)))
    if not arguments:
        print("\n".join(known))
        return 0
    prepare("bench", "dask", "parquet", "serve")
    # Otherwise idle OpenMP threads would spin on the cores that are being measured.
    environment = {"OMP_WAIT_POLICY": "passive"}
    scripts = {name: [PYTHON, folder / f"{name}.py"] for name in arguments}
    return run_all(scripts, environment)


def docs(arguments):
    """Build the documentation, where a warning is an error, or visit its external links."""
    if arguments == ["--links"]:
        prepare("docs")
        return run_all({"links": LINKS})
    refuse(arguments)
    # The pages of the server and of the examples import what the tests need.
    prepare("test", "docs")
    return run_all({"docs": DOCS})


def wheel(arguments):
    """Build the source distribution, a wheel for this Python and platform, and their SBOM."""
    refuse(arguments)
    prepare("test")
    build = [PYTHON, "-m", "build", "--no-isolation", "--outdir", "dist", "."]
    return run_all({"build": build}) or run_all({"sbom": [PYTHON, "tools/sbom.py", "dist"]})


def hashes(arguments):
    """Write constraints.txt with the hashes of the files that pip would install here."""
    refuse(arguments)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [*host_pip(), "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--no-deps", "--only-binary", ":all:"]
        command += ["--requirement", CONSTRAINTS, "--report", report]
        if subprocess.call(command):
            sys.exit("pip could not find every file; see its message above.")
        found = {}
        for entry in json.loads(report.read_text())["install"]:
            name = entry["metadata"]["name"].lower().replace("_", "-").replace(".", "-")
            found[name] = entry["download_info"]["archive_info"]["hashes"]["sha256"]
    version = "{}.{}".format(*sys.version_info[:2])
    lines = [f"# Python {version}, {platform.system()}, {platform.machine()}: `dev.py hashes`"]
    for line in CONSTRAINTS.read_text().splitlines():
        lines += [f"{line} \\", "    --hash=sha256:{}".format(found[line.split("==")[0]])]
    HASHES.write_text("\n".join(lines) + "\n")
    return 0


def refuse(arguments):
    """Exit with an error if a command that takes no arguments was given some."""
    if arguments:
        sys.exit("This command takes no arguments: {}".format(" ".join(arguments)))


def run_all(commands, environment=None, folder=ROOT):
    """Run every command in the project's folder; return 1 if any failed, else 0."""
    defaults = {"OMP_NUM_THREADS": "1"} if environment is None else environment
    failed = []
    for name, command in commands.items():
        print(f"== {name}", flush=True)
        if subprocess.call(command, cwd=folder, env={**os.environ, **defaults}):
            failed.append(name)
    print("failed: {}".format(", ".join(failed)) if failed else "all passed", flush=True)
    return 1 if failed else 0


def prepare(*extras):
    """Install the package and `extras` into .venv, unless they are there already."""
    stamp = read_stamp()
    present = set(stamp.get("extras", ()))
    if not stamp:
        create_environment(VENV)
    elif present.issuperset(extras) and stamp.get("kernels") == digest_of_kernels():
        return
    verified = VERIFIED or stamp.get("verified", False)
    wanted = EXTRAS if verified else sorted({*extras, *present})
    target = "{}[{}]".format(ROOT, ",".join(wanted)) if wanted else str(ROOT)
    STAMP.unlink(missing_ok=True)
    print("installing and compiling (the first time takes a few minutes)", flush=True)
    if verified:
        # Everything in constraints.txt, and nothing else: pip could not verify what is not there.
        install(["--require-hashes", "--no-deps", "--requirement", str(HASHES)], constraints=None)
        target = str(ROOT)
    else:
        # The tools that build have fixed versions, too: the same source gives the same kernels.
        install(["setuptools", "cython"])
    install(["--no-build-isolation", *(["--no-deps"] * verified), "--editable", target])
    kept = {"key": key(), "kernels": digest_of_kernels(), "extras": wanted, "verified": verified}
    STAMP.write_text(json.dumps(kept))


def create_environment(folder):
    """Create an empty environment; return the path of its Python."""
    print(f"creating {folder}", flush=True)
    # The pip of the host installs into it from outside, so it needs no ensurepip.
    venv.EnvBuilder(clear=True, symlinks=os.name != "nt", with_pip=False).create(folder)
    return folder / PYTHON.relative_to(VENV)


def read_stamp():
    """Return what is in the environment, empty if it must be created again."""
    try:
        stamp = json.loads(STAMP.read_text())
        is_valid = PYTHON.exists() and stamp["key"] == key() and stamp["verified"] >= VERIFIED
        return stamp if is_valid else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def key():
    """Return a hash of what determines the environment: location, Python, requirements."""
    parts = [str(ROOT).encode(), sys.version.encode()]
    parts += [(ROOT / name).read_bytes() for name in ("pyproject.toml", CONSTRAINTS.name)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def digest_of_kernels():
    """Return a hash of what is compiled: compiled kernels hide a source that has changed."""
    sources = [ROOT / "setup.py", *sorted(KERNELS.rglob("*.py")), *sorted(KERNELS.rglob("*.pxd"))]
    parts = [str(path.relative_to(ROOT)).encode() + path.read_bytes() for path in sources]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def install(arguments, python=PYTHON, constraints=CONSTRAINTS):
    """Install into an environment with the pip of the Python that runs this file."""
    command = [*host_pip(), "--python", str(python), "install", "--quiet", *arguments]
    command += ["--constraint", str(constraints)] if constraints else []
    if subprocess.call(command, cwd=ROOT):
        sys.exit("pip could not install Thrifty; see its message above.")


def host_pip():
    """Return the command that runs pip, if need be with the base interpreter."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    # An environment without pip, such as our own, can use the interpreter it was created from.
    base = getattr(sys, "_base_executable", sys.executable)
    command = [base, "-m", "pip"]
    if subprocess.call([*command, "--version"], stdout=subprocess.DEVNULL):
        sys.exit(f"pip is missing: {base} -m pip does not run. Install pip for it and try again.")
    return command


COMMANDS = {
    command.__name__: command for command in (demo, test, fuzz, lint, bench, docs, wheel, hashes)
}


def main():
    """Run the command that was named."""
    arguments = sys.argv[2:] if VERIFIED else sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(__doc__.strip())
        return 0
    if arguments[0] not in COMMANDS:
        sys.exit("Unknown command {!r}; there are: {}".format(arguments[0], ", ".join(COMMANDS)))
    return COMMANDS[arguments[0]](arguments[1:])


if __name__ == "__main__":
    sys.exit(main())

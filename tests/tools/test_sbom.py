"""The bill of materials of a release has the structure of CycloneDX and says what is shipped."""

from __future__ import annotations

import hashlib
import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from dependencies import direct, installed
from sbom import write_sbom

import thrifty

NAMES = [
    f"thrifty-{thrifty.__version__}.tar.gz",
    f"thrifty-{thrifty.__version__}-cp311-cp311-linux_x86_64.whl",
]


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A folder with a source distribution and a wheel, and one of an earlier version."""
    for name in [*NAMES, "thrifty-0.0.1.tar.gz"]:
        (tmp_path / name).write_text(f"the contents of {name}")
    return tmp_path


@pytest.fixture
def bill(dist: Path) -> dict[str, Any]:
    path = write_sbom(dist)
    assert path == dist / f"thrifty-{thrifty.__version__}.cdx.json"
    return json.loads(path.read_text())


def test_the_structure_is_that_of_cyclonedx(bill) -> None:
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]+\+00:00", bill["metadata"]["timestamp"])
    product = bill["metadata"]["component"]
    for component in [product, *product["components"], *bill["components"]]:
        assert component["type"] in ("library", "file")
        assert component["name"] and component["bom-ref"]
        for entry in component.get("licenses", []):
            assert entry.keys() in ({"expression"}, {"license"})
            assert entry.get("license", {"id": ""}).keys() in ({"id"}, {"name"})


def test_references_are_unique_and_every_dependency_refers_to_a_component(bill) -> None:
    product = bill["metadata"]["component"]
    components = [product, *bill["components"]]
    references = [component["bom-ref"] for component in components]
    files = [component["bom-ref"] for component in product["components"]]
    assert len(references + files) == len(set(references + files))
    graph = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
    assert graph.keys() == set(references)
    assert {name for needed in graph.values() for name in needed} <= set(references)


def test_built_files_of_this_version_have_their_hashes(bill) -> None:
    found = {file["name"]: file["hashes"] for file in bill["metadata"]["component"]["components"]}
    due = {name: hashlib.sha256(f"the contents of {name}".encode()).hexdigest() for name in NAMES}
    assert found == {name: [{"alg": "SHA-256", "content": due[name]}] for name in NAMES}


def test_everything_that_runs_is_listed_with_version_and_license(bill) -> None:
    assert len(bill["components"]) == len(installed())
    numpy = next(part for part in bill["components"] if part["name"] == "numpy")
    assert numpy["version"] == version("numpy")
    assert numpy["purl"] == f"pkg:pypi/numpy@{version('numpy')}"
    assert all(part["licenses"] and part["scope"] == "required" for part in bill["components"])


def test_thrifty_depends_on_what_it_requires_and_not_on_test_tools(bill) -> None:
    graph = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
    needed = {
        name.split("/")[1].split("@")[0]
        for name in graph[f"pkg:pypi/thrifty@{thrifty.__version__}"]
    }
    assert needed == set(direct())
    assert not [reference for reference in graph if "pytest" in reference]


def test_a_folder_without_a_build_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / NAMES[0]).write_text("")
    with pytest.raises(FileNotFoundError, match="python3 dev.py wheel"):
        write_sbom(tmp_path)

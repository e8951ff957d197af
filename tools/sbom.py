"""Write a bill of materials (CycloneDX 1.6) next to the files of a release.

    python tools/sbom.py dist

It lists what Thrifty needs to run, and to run with its optional extras, with the versions and
licenses that are installed in this environment, and the SHA-256 of the wheel and the source
distribution in the folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import uuid
from datetime import UTC, datetime
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from dependencies import FOR_USERS, PERMISSIVE, PROJECT, ROOT, direct, installed, stated_licenses


def write_sbom(folder: Path) -> Path:
    """Write the bill of materials of the release in a folder; return its path.

    Raises
    ------
    FileNotFoundError
        If the folder has no wheel or no source distribution of the present version.
    """
    (version,) = re.findall(
        r'^__version__ = "(.+)"$', (ROOT / "src" / "thrifty" / "__init__.py").read_text(), re.M
    )
    wheels = sorted(folder.glob(f"thrifty-{version}-*.whl"))
    sources = sorted(folder.glob(f"thrifty-{version}.tar.gz"))
    if not (wheels and sources):
        raise FileNotFoundError(
            f"{folder} has no wheel and source distribution of Thrifty {version}: "
            "build them with `python3 dev.py wheel`"
        )
    path = folder / f"thrifty-{version}.cdx.json"
    text = json.dumps(bill_of_materials(version, [*sources, *wheels]), indent=2, sort_keys=True)
    path.write_text(text + "\n")
    return path


def bill_of_materials(version: str, files: list[Path]) -> dict[str, Any]:
    """Return the bill of materials of a version with its built files."""
    needed, always = installed(*FOR_USERS), installed()
    reference = {name: f"pkg:pypi/{name}@{this.version}" for name, (this, _) in needed.items()}
    thrifty = f"pkg:pypi/thrifty@{version}"
    built = [
        {
            "type": "file",
            "bom-ref": path.name,
            "name": path.name,
            "hashes": [
                {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}
            ],
        }
        for path in files
    ]
    graph = {thrifty: [reference[name] for name in direct(*FOR_USERS)]}
    for name, (_, others) in needed.items():
        graph[reference[name]] = [reference[other] for other in others]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "component": {
                "type": "library",
                "bom-ref": thrifty,
                "name": "thrifty",
                "version": version,
                "description": PROJECT["description"],
                "purl": thrifty,
                "licenses": [{"license": {"id": PROJECT["license"]}}],
                "components": built,
            },
        },
        "components": [
            library(reference[name], this, "required" if name in always else "optional")
            for name, (this, _) in needed.items()
        ],
        "dependencies": [
            {"ref": name, "dependsOn": sorted(others)} for name, others in sorted(graph.items())
        ],
    }


def library(reference: str, this: Distribution, scope: str) -> dict[str, Any]:
    """Return the entry of a distribution that Thrifty needs."""
    stated = stated_licenses(this.metadata)
    licenses: list[dict[str, Any]]
    if this.metadata.get("License-Expression"):  # type: ignore[attr-defined]
        licenses = [{"expression": stated[0]}]
    else:
        key = {name: "id" if name in PERMISSIVE else "name" for name in stated}
        licenses = [{"license": {key[name]: name}} for name in stated]
    return {
        "type": "library",
        "bom-ref": reference,
        "name": this.name,
        "version": this.version,
        "scope": scope,
        "purl": reference,
        "licenses": licenses,
    }


if __name__ == "__main__":
    print(write_sbom(Path(sys.argv[1])))

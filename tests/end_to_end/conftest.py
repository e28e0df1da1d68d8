"""An environment with exactly what `pip install saccade` brings: no torch, and no network."""

import importlib.metadata
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

NO_NETWORK = """\
import socket

def refuse(self, address):
    raise OSError(f"no network in this environment, but {address} was asked for")

socket.socket.connect = socket.socket.connect_ex = refuse
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python with the base install of saccade."""

    python: Path
    directory: Path
    """Where commands run."""

    def run(self, *args: str | Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """`saccade ARGS`; does not raise on failure."""
        return self.run_python("-m", "saccade", *args, stdin=stdin)

    def run_python(self, *args: str | Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        command = [self.python, *args]
        return subprocess.run(command, input=stdin, env=variables, cwd=self.directory, capture_output=True, text=True)


@pytest.fixture(scope="session")
def without_torch(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    directory = tmp_path_factory.mktemp("without_torch")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory / "venv"], check=True)
    paths = sysconfig.get_paths("venv", {"base": str(directory / "venv")})
    site_packages = Path(paths["purelib"])
    # Not as sitecustomize: Debian's Python has one of its own, which comes first.
    (site_packages / "no_network.py").write_text(NO_NETWORK)
    (site_packages / "no_network.pth").write_text("import no_network\n")
    for distribution in base_install():
        link(distribution, site_packages)
    (directory / "work").mkdir()
    return Environment(Path(paths["scripts"]) / "python", directory / "work")


def base_install() -> list[importlib.metadata.Distribution]:
    """saccade and all it requires without extras."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = [Requirement("saccade")]
    while waiting:
        requirement = waiting.pop()
        name = str(requirement)
        if name not in found:
            found[name] = importlib.metadata.distribution(requirement.name)
            waiting += requirements_of(found[name], requirement.extras)
    return list(found.values())


def requirements_of(distribution: importlib.metadata.Distribution, extras: set[str]) -> Iterator[Requirement]:
    for requirement in map(Requirement, distribution.requires or []):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def link(distribution: importlib.metadata.Distribution, site_packages: Path) -> None:
    """Link the distribution's top-level packages, modules and metadata; scripts stay behind."""
    for name in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
        target = site_packages / name
        if not target.is_symlink():
            target.symlink_to(Path(str(distribution.locate_file(name))).resolve())

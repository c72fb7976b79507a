"""The peers' own environment: made when missing, filled by package name, read by us."""

from __future__ import annotations

import importlib
import os
import site
import subprocess
import sys
import sysconfig
import venv
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ENVIRONMENT = os.path.join(ROOT, ".bench", "venv")
_PATIENCE = 180
_loaded: set[str] = set()


class Missing(Exception):
    """A peer is not here; the message says why."""


def install(*packages: str, into: str = "") -> None:
    """Install packages by name into `.bench/venv`, or into one beside it, unless they are there."""
    environment = _ENVIRONMENT + into
    done = os.path.join(environment, "installed-" + "-".join(sorted(packages)))
    if os.path.exists(done):
        return
    if not os.path.exists(_python(environment)):
        venv.create(environment, with_pip=True)
    pip = [_python(environment), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    try:
        asked = subprocess.run(
            [*pip, *packages], capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Missing(f"pip took longer than {_PATIENCE} s") from error
    if asked.returncode:
        errors = [line for line in asked.stderr.splitlines() if line.startswith("ERROR")]
        raise Missing("pip failed: " + (errors or [asked.stderr.strip()])[-1])
    with open(done, "w", encoding="ascii"):
        pass


def _python(environment: str) -> str:
    return os.path.join(environment, "bin", "python")


def program(name: str, *, of: str = "") -> str:
    """Return where a program of that environment is."""
    return os.path.join(_ENVIRONMENT + of, "bin", name)


def library(name: str) -> Any:
    """Import a module of that environment; it was made by the Python that runs us."""
    if not _loaded:
        paths = {"base": _ENVIRONMENT, "platbase": _ENVIRONMENT}
        site.addsitedir(sysconfig.get_path("purelib", vars=paths))
        importlib.invalidate_caches()
    _loaded.add(name)
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Missing(f"{name} does not import: {error}") from error


def python_version() -> str:
    """Return the version of the Python that runs all of us."""
    return sys.version.split()[0]

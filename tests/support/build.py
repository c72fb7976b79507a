"""Another build of ours: the same sources with one comment more, in an environment of its own."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import venv
from pathlib import Path

import agent_pty

_PACKAGE = Path(agent_pty.__file__).parent


def another_build(directory: Path) -> Path:
    """Install a build that differs from this one; return its Python."""
    builder = venv.EnvBuilder(symlinks=True, with_pip=False)
    builder.create(directory)
    copy = directory / "src" / "agent_pty"
    shutil.copytree(_PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "errors.py").open("a") as file:
        file.write("\n# another build\n")
    site = next((directory / "lib").glob("python*/site-packages"))
    ours = sysconfig.get_path("purelib")
    (site / "build.pth").write_text(f"{directory / 'src'}\n{ours}\n")
    for name in ("k", "km", "agent-tty"):
        shutil.copy(copy / "cli" / "k", directory / "bin" / name)
    return Path(os.path.join(directory, "bin", os.path.basename(sys.executable)))

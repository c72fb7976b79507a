"""The git program, as we run it: by its place, with an environment of ours alone."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from agent_pty.process.bounded_run import Bounds, Command, Output, Surroundings, run_all
from agent_pty.process.git_work_tree import CannotLook, WorkTree

# Not the PATH of whoever started us: a session may have put a `git` of its own there.
PATH = "/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin:/opt/local/bin:/run/current-system/sw/bin"

_MOST_REASON = 300
_MOST_VALUE = 4096  # of an attribute, with its name; git reads no longer lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """Runs git in a work tree, with a git directory of ours instead of the repository's.

    What it writes goes into the repository, or into the directory *objects* if there is one.
    """

    program: str
    directory: str
    tree: WorkTree
    bounds: Bounds
    objects: str | None = None

    def run(self, *calls: list[str], stdin: str = os.devnull) -> list[Output]:
        """Run git side by side; raise `CannotLook` with what it says if it fails."""
        commands = [Command(argv=[self.program, *one], stdin=stdin) for one in calls]
        outputs = run_all(commands, self._surroundings(), self.bounds)
        for call, output in zip(calls, outputs, strict=True):
            if output.status:
                raise CannotLook(f"git {call[0]}: {self._reason(output)}")
        return outputs

    def attribute(self, name: str, paths: list[bytes]) -> list[str]:
        """Return the value of an attribute for each of some paths."""
        asked = os.path.join(self.directory, "paths")
        with open(asked, "wb") as file:
            file.write(b"".join(path + b"\0" for path in paths))
        most = sum(len(path) + _MOST_VALUE for path in paths)
        every = replace(self, bounds=replace(self.bounds, kept=most, read=most))
        [answer] = every.run(["check-attr", "-z", "--stdin", name], stdin=asked)
        # Three fields for each: path, name, value.
        return [value.decode(errors="replace") for value in answer.kept.split(b"\0")[2::3]]

    def _surroundings(self) -> Surroundings:
        return Surroundings(
            cwd=self.tree.workspace,
            # What is ours is for its owner alone; in a repository its user's rule counts.
            umask=-1 if self.objects is None else 0o077,
            environment={
                "PATH": PATH,
                "HOME": self.directory,
                "LC_ALL": "C",
                "GIT_DIR": self.directory,
                "GIT_WORK_TREE": self.tree.root,
                "GIT_OBJECT_DIRECTORY": self.objects
                or os.path.join(self.tree.common_directory, "objects"),
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_ATTR_NOSYSTEM": "1",
                "GIT_TERMINAL_PROMPT": "0",
                "GIT_PAGER": "cat",
                "GIT_LITERAL_PATHSPECS": "1",
                # Objects that a partial clone lacks are not fetched.
                "GIT_NO_LAZY_FETCH": "1",
                "GIT_ALLOW_PROTOCOL": "none",
            },
        )

    def _reason(self, output: Output) -> str:
        said = " ".join(line.strip() for line in self.complaints(output))
        return said[:_MOST_REASON] or f"it ended with {output.status}"

    def complaints(self, output: Output) -> list[str]:
        """Return the lines that git has written to standard error."""
        said = output.error.decode(errors="replace")
        # Our directory is gone when somebody reads this.
        return said.replace(self.directory, self.tree.git_directory).splitlines()

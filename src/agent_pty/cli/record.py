"""`record export`: the recording of a session as one file; works without a daemon."""

from __future__ import annotations

import html
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence

from agent_pty.cli.command import Invocation, client_command
from agent_pty.core.command import Command, part
from agent_pty.core.duration import seconds
from agent_pty.core.evidence.cast import CastClock, Code, header_line
from agent_pty.core.evidence.playback import Moment, shortened
from agent_pty.core.evidence.recorded_text import recorded_text
from agent_pty.emulator.frames import Frame, frames
from agent_pty.errors import Usage
from agent_pty.store import atomic
from agent_pty.store.whole_recording import WholeRecording, whole_recording

# Of each kind of picture: more would be too much for whoever looks at it.
_MOST_FRAMES = 1000
_SECOND = 1_000_000_000
_CODES = frozenset("oimrx")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

Report = Callable[[int, int], None]


def record(call: Invocation) -> int:
    """Write a recording in another form."""
    o = call.options
    found = whole_recording(call.layout.log_dir, o.name, o.instance)
    limit = seconds(o.idle_limit, what="idle limit") or None
    data, problems = _FORMATS[o.format](found, limit, _progress())
    path = o.output or f"{o.name}.{o.format}"
    for problem in [*found.problems, *problems]:
        sys.stderr.write(f"record: {problem}\n")
    if path == "-":
        sys.stdout.buffer.write(data)
        return 0
    try:
        atomic.replace(os.path.abspath(path), data, durable=False)
    except OSError as error:
        raise Usage(f"cannot write {path}: {error.strerror}") from error
    return call.show({"path": os.path.abspath(path), "bytes": len(data)}, f"saved {path}")


def _progress() -> Report:
    """Return what tells a person who watches how far it is."""
    if not sys.stderr.isatty():
        return lambda _done, _all: None

    def report(done: int, of: int) -> None:
        end = "\n" if done == of else ""
        sys.stderr.write(f"\rexport: {done} of {of} pictures{end}")
        sys.stderr.flush()

    return report


Written = tuple[bytes, Sequence[str]]


def _cast(found: WholeRecording, _limit: float | None, _report: Report) -> Written:
    """Return one asciicast, with the times as they were."""
    clock = CastClock(0)
    events = (clock.line(int(one.at * _SECOND), _code(one), one.text) for one in found.moments())
    return b"".join([header_line(found.header), *events]), ()


def _code(one: Moment) -> Code:
    return one.code if one.code in _CODES else "m"  # type: ignore[return-value]  # one of them


def _text(found: WholeRecording, _limit: float | None, _report: Report) -> Written:
    return recorded_text(found.moments(), cols=found.cols), ()


def _frames(found: WholeRecording, limit: float | None) -> tuple[list[Frame], list[str]]:
    played: Iterator[Moment] = shortened(found.moments(), limit)
    drawn = frames(played, rows=found.rows, cols=found.cols)
    taken = list(itertools.islice(drawn, _MOST_FRAMES + 1))
    if len(taken) <= _MOST_FRAMES:
        return taken, []
    end = taken[_MOST_FRAMES - 1].at
    said = f"it has more than {_MOST_FRAMES} pictures: what follows second {end:.0f} is left out"
    return taken[:_MOST_FRAMES], [said]


def _svg(found: WholeRecording, limit: float | None, report: Report) -> Written:
    from agent_pty.emulator.svg_animation import svg_animation  # noqa: PLC0415  only this needs it

    pictures, problems = _frames(found, limit)
    return svg_animation(
        pictures, drawn=lambda count: report(count, len(pictures))
    ).encode(), problems


def _gif(found: WholeRecording, limit: float | None, report: Report) -> Written:
    from agent_pty.emulator.gif import gif_of  # noqa: PLC0415  only this needs it

    pictures, problems = _frames(found, limit)
    return gif_of(pictures, drawn=lambda count: report(count, len(pictures))), problems


def _html(found: WholeRecording, limit: float | None, report: Report) -> Written:
    """Return a page with the playback, and all text below it; no script is in it."""
    played, problems = _svg(found, limit, report)
    text = html.escape(recorded_text(found.moments(), cols=found.cols).decode(errors="replace"))
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{html.escape(os.path.basename(found.name))}</title>
<style>
body {{ margin: 1em auto; max-width: 90ch; font-family: system-ui, sans-serif; }}
svg {{ max-width: 100%; height: auto; }}
pre {{ overflow-x: auto; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #111; color: #ddd; }} }}
</style>
</head>
<body>
<h1>{html.escape(os.path.basename(found.name))}</h1>
{played.decode()}
<details><summary>Text</summary>
<pre>{text}</pre>
</details>
</body>
</html>
"""
    return page.encode(), problems


_FORMATS: dict[str, Callable[[WholeRecording, float | None, Report], Written]] = {
    "cast": _cast,
    "gif": _gif,
    "txt": _text,
    "html": _html,
    "svg": _svg,
}

COMMANDS = (
    client_command(
        "record",
        "Write the recording of a session as one file: asciicast, text, or pictures that move.\n\n"
        "The session may run or be gone. Only the recording is read, in which secrets are covered. "
        "A GIF needs Pillow (the extra `png`).",
        Command(
            parts=(
                part("action", choices=("export",), help="what to do with it"),
                part("name", help="the session, or a file of asciicast"),
                part("format", "--format", choices=tuple(_FORMATS), default="cast", help="form"),
                part("output", "-o", "--output", metavar="FILE", help="`-`: standard output"),
                part("instance", "--instance", metavar="ID", help="an earlier one of that name"),
                part(
                    "idle_limit",
                    "--idle-limit",
                    default="2s",
                    metavar="DUR",
                    help="longest quiet time in pictures (default: 2s; 0: as long as it was)",
                ),
                part("log_dir", "--log-dir", metavar="DIR", help="where the recording is"),
            ),
            examples=(
                "agent-pty record export work --format cast -o work.cast",
                "agent-pty record export work --format svg",
            ),
        ),
    ),
)

"""What the command `screen` prints: it asks one of the ops of `screen.py` for each form."""

from __future__ import annotations

import base64
from typing import Any

from agent_pty.core.command import Call, Fields, fitted_text, show_fitted_json
from agent_pty.errors import Usage
from agent_pty.ops.past_screen import print_past_screen

# Names that promise another content than a PNG or an SVG.
_OTHER_FILES = (
    *(".avif", ".bmp", ".gif", ".heic", ".htm", ".html", ".ico", ".jfif", ".jpe", ".jpeg", ".jpg"),
    *(".pdf", ".png", ".ppm", ".svg", ".svgz", ".tif", ".tiff", ".webp"),
)


async def print_screen(call: Call, fields: Fields) -> int:
    """Print or save the screen as the options ask for it."""
    o, name = call.options, fields["id"]
    _check_pictures(o)
    if o.at is not None or o.instance is not None:
        _check_past(o)
        return await print_past_screen(call, name, "json" if call.json else o.format)
    if o.since is not None:
        return await _print_changes(call, await call.ask("changes", id=name, since=o.since))
    if o.find is not None:
        return await _print_places(call, await call.ask("find", id=name, text=o.find))
    if o.png or o.svg:
        return await _save_pictures(call, name)
    return await _print_whole(call, name)


async def _print_whole(call: Call, name: str) -> int:
    o = call.options
    form = "json" if call.json else o.format
    if form in ("ansi", "html") or o.scrollback:
        return await _print_rendered(call, name, form)
    screen = await call.ask("screen", id=name)
    if form == "json":
        await show_fitted_json(call, screen, rest=f"agent-pty screen {name} --json")
        return 0
    text = await _fitted(call, screen["text"])
    await call.print(_as(form, text))
    return 0


async def _fitted(call: Call, text: str) -> str:
    above = call.options.scrollback
    rows = f" --scrollback {above}" if above else ""
    return await fitted_text(call, text, rest=f"agent-pty screen {call.options.name}{rows}")


def _as(form: str, text: str) -> str:
    if form != "markdown":
        return text
    fence = "`" * max(3, _longest_ticks(text) + 1)
    return f"{fence}text\n{text.rstrip()}\n{fence}\n"


def _longest_ticks(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


async def _print_rendered(call: Call, name: str, form: str) -> int:
    wanted = form if form in ("ansi", "html") else "text"
    o = call.options
    rendered = await call.ask(
        "render", id=name, format=wanted, scrollback=o.scrollback, palette=o.palette
    )
    if call.json:
        rest = f"agent-pty screen {name} --scrollback {call.options.scrollback}"
        await show_fitted_json(call, rendered, rest=rest)
        return 0
    text = rendered["content"]
    await call.print(_as(form, await _fitted(call, text)) if wanted == "text" else text)
    return 0


async def _print_changes(call: Call, changes: dict[str, Any]) -> int:
    if call.json:
        await show_fitted_json(call, changes, rest=f"agent-pty screen {call.options.name}")
        return 0
    lines = [f"{row['row']}: {row['text']}" for row in changes["rows"]]
    head = "unchanged" if changes["unchanged"] else f"hash {changes['hash']}"
    await call.print(await _fitted(call, "\n".join([head, *lines]) + "\n"))
    return 0


async def _print_places(call: Call, places: list[dict[str, Any]]) -> int:
    if call.json:
        await call.show_json(places)
    else:
        await call.print("".join(f"{place['row']},{place['col']}\n" for place in places))
    return 0 if places else 1


def _check_past(options: Any) -> None:
    """Refuse what only the present has."""
    if options.at is None:
        raise Usage("--instance is for --at: a session that is gone has no screen now")
    given = {"--since": options.since, "--find": options.find, "--png": options.png}
    given |= {"--svg": options.svg, "--scrollback": options.scrollback}
    wrong = next((name for name, value in given.items() if value), None)
    if wrong is not None:
        raise Usage(f"{wrong} is not for --at: a past screen comes as text, ansi, html or json")
    if options.format == "markdown":
        raise Usage("--format markdown is not for --at: it comes as text, ansi, html or json")


def _check_pictures(options: Any) -> None:
    """Refuse what would save a picture under a wrong name, or ask for colours of plain text."""
    for form, path in (("png", options.png), ("svg", options.svg)):
        wrong = next((end for end in _OTHER_FILES if str(path).lower().endswith(end)), None)
        if path and wrong not in (None, f".{form}"):
            kind = form.upper()
            raise Usage(f"--{form} {path}: it saves {kind}, not {wrong}: name the file .{form}")
    if options.palette is not None and not (options.png or options.svg or options.format == "html"):
        raise Usage("--palette is for --png, --svg and --format html; text has no colours")


async def _save_pictures(call: Call, name: str) -> int:
    saved = []
    for form, path in (("png", call.options.png), ("svg", call.options.svg)):
        if path:
            drawn = await call.ask("render", id=name, format=form, palette=call.options.palette)
            content = drawn["content"]
            data = base64.b64decode(content) if form == "png" else content.encode()
            await call.write_file(path, data)
            saved.append(path)
    await call.show({"saved": saved}, "\n".join(f"saved {path}" for path in saved))
    return 0

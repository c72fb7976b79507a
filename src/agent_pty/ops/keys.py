"""`keys` and `paste`: press keys by name, paste text."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from agent_pty.core.chord import chord
from agent_pty.core.command import NAME, Call, Command, duration, part, text_or_file
from agent_pty.ops.context import Session
from agent_pty.ops.op import Mutation, Op

_MOST_KEYS = 1000


class Keys(Mutation, frozen=True, kw_only=True):
    """Press keys by name, encoded as the program in the session expects them now."""

    id: Annotated[str, Meta(description="session to type into")]
    keys: Annotated[
        list[str],
        Meta(
            min_length=1,
            max_length=_MOST_KEYS,
            description="names of keys: ctrl-c up f5 alt-x shift-tab enter a",
        ),
    ]
    repeat: Annotated[int, Meta(ge=1, le=_MOST_KEYS, description="how often to press them")] = 1
    delay_ms: Annotated[
        int, Meta(ge=0, le=10_000, description="pause between two keys in milliseconds")
    ] = 0


class Paste(Mutation, frozen=True, kw_only=True):
    """Paste text: bracketed if the program asked for that; the text cannot end the paste itself."""

    id: Annotated[str, Meta(description="session to paste into")]
    text: Annotated[str, Meta(description="text to paste")]
    enter: Annotated[bool, Meta(description="press Enter afterwards")] = False


class Pressed(Struct, frozen=True, kw_only=True):
    """The keys were pressed; their effect can be read from *cursor* on."""

    cursor: int
    keys: int


class Pasted(Struct, frozen=True, kw_only=True):
    """The text was pasted; its effect can be read from *cursor* on."""

    cursor: int
    bracketed: bool


async def keys(session: Session, request: Keys) -> Pressed:
    """Parse every chord before the first is pressed: if one is misspelt, none is pressed."""
    chords = [chord(text) for text in request.keys] * request.repeat
    cursor = await session.input.keys(chords, pause=request.delay_ms / 1000)
    return Pressed(cursor=cursor, keys=len(chords))


async def paste(session: Session, request: Paste) -> Pasted:
    """Paste the whole text at once."""
    cursor, bracketed = await session.input.paste(request.text, enter=request.enter)
    return Pasted(cursor=cursor, bracketed=bracketed)


KEYS = Op(
    name="keys",
    answer="pressed",
    request=Keys,
    where="session",
    handler=keys,
    commands=(
        Command(
            parts=(
                NAME,
                part(
                    "keys",
                    into="keys",
                    nargs="+",
                    metavar="KEY",
                    help="for example: ctrl-c up f5 alt-x shift-tab enter a",
                ),
                duration("delay_ms", "--delay", note=": pause between two keys"),
            ),
            text=lambda _call, pressed: f"pressed {pressed['keys']} key(s)",
            examples=("agent-pty keys work ctrl-c", "agent-pty keys vim escape : w q enter"),
        ),
    ),
)


def _pasted(_call: Call, pasted: dict[str, bool]) -> str:
    return "pasted" if pasted["bracketed"] else "pasted (not bracketed)"


PASTE = Op(
    name="paste",
    answer="pasted",
    request=Paste,
    where="session",
    handler=paste,
    commands=(
        Command(
            parts=(NAME, text_or_file()),
            text=_pasted,
            examples=("agent-pty paste work --file notes.txt", "pbpaste | agent-pty paste work -"),
        ),
    ),
)

"""`keys` and `paste`: press keys by name, type text among them, paste text."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agent_pty.core.chord import Chord, chords
from agent_pty.core.command import NAME, Call, Command, duration, part, text_or_file
from agent_pty.errors import BadRequest
from agent_pty.ops.context import Session
from agent_pty.ops.keys_screen import ScreenAfter, pressed_on_screen, print_pressed
from agent_pty.ops.op import Mutation, Op

_MOST_KEYS = 1000
# Of a text each character is a key, and each is encoded while others wait.
_MOST_TYPED = 10_000
_MOST_PRESSED = 1_000_000


class Keys(Mutation, frozen=True, kw_only=True):
    """Press keys by name, encoded as the program in the session expects them now."""

    id: Annotated[str, Meta(description="session to type into")]
    keys: Annotated[
        list[str],
        Meta(
            min_length=1,
            max_length=_MOST_KEYS,
            description="names of keys: ctrl-c up f5 alt-x shift-tab enter a; text:hello types it",
        ),
    ]
    repeat: Annotated[int, Meta(ge=1, le=_MOST_KEYS, description="how often to press them")] = 1
    delay_ms: Annotated[
        int, Meta(ge=0, le=10_000, description="pause between two keys in milliseconds")
    ] = 0
    screen: Annotated[
        bool, Meta(description="wait until the screen has settled; return the rows that changed")
    ] = False
    timeout_ms: Annotated[
        int, Meta(ge=0, le=60_000, description="milliseconds in which the screen must settle")
    ] = 3000


class Paste(Mutation, frozen=True, kw_only=True):
    """Paste text: bracketed if the program asked for that; the text cannot end the paste itself."""

    id: Annotated[str, Meta(description="session to paste into")]
    text: Annotated[str, Meta(description="text to paste")]
    enter: Annotated[bool, Meta(description="press Enter afterwards")] = False


class Pressed(Struct, frozen=True, kw_only=True):
    """The keys were pressed; their effect can be read from *cursor* on."""

    cursor: int
    keys: int
    screen: ScreenAfter | UnsetType = UNSET


class Pasted(Struct, frozen=True, kw_only=True):
    """The text was pasted; its effect can be read from *cursor* on."""

    cursor: int
    bracketed: bool


async def keys(session: Session, request: Keys) -> Pressed:
    """Parse every chord before the first is pressed: if one is misspelt, none is pressed."""
    pressed = _pressed(request)
    pressing = session.input.keys(pressed, pause=request.delay_ms / 1000)
    if not request.screen:
        return Pressed(cursor=await pressing, keys=len(pressed))
    cursor, after = await pressed_on_screen(session, pressing, request.timeout_ms / 1000)
    return Pressed(cursor=cursor, keys=len(pressed), screen=after)


def _pressed(request: Keys) -> list[Chord]:
    once = [one for word in request.keys for one in chords(word)]
    if len(once) > _MOST_TYPED or len(once) * request.repeat > _MOST_PRESSED:
        raise BadRequest(
            f"{len(once)} keys, {request.repeat} times; at most {_MOST_TYPED} keys and "
            f"{_MOST_PRESSED} in all: type or paste longer text",
            field="keys",
        )
    return once * request.repeat


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
                    help="for example: ctrl-c up f5 alt-x shift-tab enter a text:hello",
                ),
                duration("delay_ms", "--delay", note=": pause between two keys"),
                part(
                    "screen",
                    "-s",
                    "--screen",
                    into="screen",
                    action="store_true",
                    help="wait until the screen has settled; print the rows whose text changed, "
                    "all of them if every row did",
                ),
                duration("timeout_ms", default="3s", note=": for the screen to settle"),
            ),
            finish=print_pressed,
            examples=(
                "agent-pty keys work ctrl-c",
                "agent-pty keys vim escape : w q enter",
                "agent-pty keys menu down down --screen",
            ),
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

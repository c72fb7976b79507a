"""Command lines of `agent-pty`: what is derived from a request, and how words are parsed."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from agent_pty.core.command import NAME, Argument, Command, Fields, Part, part, program
from agent_pty.ops.op import Mutation, Op, Request
from agent_pty.words.arguments import described, fields_of, parts_of
from agent_pty.words.parser import Printed, Subcommand, parse, parser

EXAMPLES = ("agent-pty paint work red", "agent-pty paint work blue --coats 3")


class Paint(Mutation, frozen=True, kw_only=True):
    """Paint a session.

    It takes as many coats as it takes.
    """

    id: Annotated[str, Meta(description="session to paint")]
    colour: Annotated[str, Meta(description="which colour")]
    coats: Annotated[int, Meta(description="how many coats", ge=1)] = 1
    width: Annotated[int | None, Meta(description="width of the brush")] = None
    brush_name: Annotated[str | None, Meta(description="which brush")] = None
    dry: Annotated[bool, Meta(description="wait until it is dry")] = True
    two_sided: Annotated[bool, Meta(description="paint the back too")] = False
    finish: Annotated[Literal["matt", "gloss"], Meta(description="the surface")] = "matt"
    place: Annotated[list[str], Meta(description="where")] = msgspec.field(default_factory=list)
    secret: str = ""


class Required(Request, frozen=True, kw_only=True):
    """Ask for everything."""

    count: int
    side: Literal["left", "right"]
    extra: dict[str, str] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Call:
    """As much of a call as the filling of fields needs."""

    options: argparse.Namespace


def unanswered(_context: object, _request: object) -> None:
    """Answer requests, of which there are none."""
    raise AssertionError


def op_of(request: type[Request]) -> Op:
    """Return an op for a request."""
    return Op(name="paint", answer="painted", request=request, where="session", handler=unanswered)


def subcommand(
    *parts: Part, request: type[Request] = Paint, hidden: Sequence[str] = ()
) -> Subcommand:
    """Return a subcommand of an op, with the derived arguments."""
    command = Command(parts=parts, examples=EXAMPLES, hidden=frozenset(hidden))
    return Subcommand(
        name="paint",
        summary=request.__doc__ or "",
        command=command,
        parts=parts_of(op_of(request), command),
        op="paint",
    )


def own(*parts: Part) -> Subcommand:
    """Return a subcommand without an op, so without derived arguments."""
    command = Command(parts=parts, examples=EXAMPLES)
    return Subcommand(name="own", summary="Do something.", command=command, parts=parts)


def parsed(one: Subcommand, *words: str) -> argparse.Namespace:
    """Parse the words of a subcommand."""
    return parse(parser(one), words)


def fields(one: Subcommand, *words: str) -> Fields:
    """Return the fields of the request that a command line makes, without those that are None."""
    call = Call(options=parsed(one, *words))
    found = asyncio.run(fields_of(one.parts, call))
    return {name: value for name, value in found.items() if value is not None}


def wrong(one: Subcommand, *words: str) -> str:
    """Return what is said about a wrong command line."""
    with pytest.raises(Printed) as caught:
        parsed(one, *words)
    assert caught.value.status == 2
    assert str(caught.value) == caught.value.text
    return caught.value.text


def arguments(one: Subcommand) -> dict[str, Argument]:
    """Return the arguments of a subcommand by their first name."""
    return {given.names[0]: given for part in one.parts for given in part.arguments}


PAINT = subcommand(NAME)


# -- derived arguments


def test_every_field_that_no_part_fills_has_an_argument() -> None:
    """
    Fields of the parts come first; the others get options, and required ones a place.
    """
    assert list(arguments(PAINT)) == [
        "name",
        "--key",
        "colour",
        "--coats",
        "--width",
        "--brush-name",
        "--no-dry",
        "--two-sided",
        "--finish",
        "--place",
        "--secret",
    ]


def test_hidden_fields_have_no_argument() -> None:
    """
    A field that a command hides is not on its command line.
    """
    one = subcommand(NAME, hidden=["secret", "key"])

    assert not {"--secret", "--key"} & set(arguments(one))
    assert "unrecognized arguments: --secret" in wrong(one, "work", "red", "--secret", "x")


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {}),
        (["--coats", "3"], {"coats": 3}),
        (["--coats=-3"], {"coats": -3}),
        (["--width", "7"], {"width": 7}),
        (["--brush-name", "old one"], {"brush_name": "old one"}),
        (["--no-dry"], {"dry": False}),
        (["--two-sided"], {"two_sided": True}),
        (["--finish", "gloss"], {"finish": "gloss"}),
        (["--place", "wall"], {"place": ["wall"]}),
        (["--place", "wall", "--place", "door"], {"place": ["wall", "door"]}),
        (["--secret", ""], {"secret": ""}),
        (["--key", "k1"], {"key": "k1"}),
        (["--coats", "1", "--coats", "2"], {"coats": 2}),
    ],
)
def test_an_option_of_each_type_fills_its_field(words: list[str], given: Fields) -> None:
    """
    The value has the type of the field; what the command line does not say is left out.
    """
    assert fields(PAINT, "work", "red", *words) == {"id": "work", "colour": "red", **given}


def test_required_fields_are_given_in_their_order() -> None:
    """
    A required number and a required choice are read as such.
    """
    one = subcommand(request=Required)

    assert fields(one, "3", "left") == {"count": 3, "side": "left"}
    assert "invalid int value: 'three'" in wrong(one, "three", "left")
    assert "invalid choice: 'up'" in wrong(one, "3", "up")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("colour", "which colour"),
        ("--coats", "how many coats (default: 1)"),
        ("--width", "width of the brush"),
        ("--finish", "the surface (default: matt)"),
        ("--place", "where"),
        ("--no-dry", "do not wait until it is dry"),
        ("--two-sided", "paint the back too"),
        ("--key", "idempotency key: the same again does nothing"),
    ],
)
def test_the_help_of_an_option_is_the_description_of_its_field(name: str, shown: str) -> None:
    """
    The description is in the request type; a default that says something is added.
    """
    assert arguments(PAINT)[name].options["help"] == shown


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("colour", ("text", "which colour")),
        ("coats", ("number", "how many coats")),
        ("width", ("number", "width of the brush")),
        ("dry", ("true or false", "wait until it is dry")),
        ("finish", ('`"gloss"` or `"matt"`', "the surface")),
        ("place", ("list", "where")),
        ("key", ("text", "idempotency key: the same again does nothing")),
        ("secret", ("text", "")),
    ],
)
def test_a_field_is_described_in_words(name: str, words: tuple[str, str]) -> None:
    """
    The reference names the type of a field and its description.
    """
    (field,) = [one for one in msgspec.structs.fields(Paint) if one.name == name]

    assert described(field) == words


def test_a_field_that_is_an_object_is_described_as_one() -> None:
    """
    The reference calls a dictionary an object.
    """
    (field,) = [one for one in msgspec.structs.fields(Required) if one.name == "extra"]

    assert described(field) == ("object", "")


def test_fields_are_filled_by_all_parts_in_turn() -> None:
    """
    A part without a filler gives nothing, and a later part may change an earlier field.
    """

    async def first(_call: Any) -> Fields:
        return {"id": "first", "text": "x"}

    async def second(_call: Any) -> Fields:
        return {"id": "second"}

    parts = [
        Part(arguments=(), fill=first),
        Part(arguments=()),
        Part(arguments=(), fill=second),
    ]

    filled = asyncio.run(fields_of(parts, Call(options=argparse.Namespace())))

    assert filled == {"id": "second", "text": "x"}


# -- the order of words


@pytest.mark.parametrize(
    "words",
    [
        ["work", "red", "--coats", "3", "--json"],
        ["--coats", "3", "--json", "work", "red"],
        ["work", "--coats", "3", "red", "--json"],
        ["--json", "work", "--coats=3", "red"],
    ],
)
def test_options_may_stand_between_arguments(words: list[str]) -> None:
    """
    The meaning of a command line does not depend on where its options stand.
    """
    options = parsed(PAINT, *words)

    assert (options.name, options.colour, options.coats, options.json) == ("work", "red", 3, True)


@pytest.mark.parametrize(
    ("words", "argv"),
    [
        (["--", "ls", "-l"], ["ls", "-l"]),
        (["--", "ls", "--json", "-h"], ["ls", "--json", "-h"]),
        (["--", "git", "log", "--", "-x"], ["git", "log", "--", "-x"]),
        (["--", "sh", "-c", "-c", "x"], ["sh", "-c", "-c", "x"]),
        (["--", "--"], ["--"]),
        (["--", "-"], ["-"]),
        (["--", ""], [""]),
        (["--"], []),
        (["ls", "--", "-l"], ["ls", "-l"]),
        ([], []),
    ],
)
def test_words_after_two_dashes_are_no_options(words: list[str], argv: list[str]) -> None:
    """
    What follows the first `--` is taken as it is, whatever it looks like.
    """
    one = own(program(required=False))

    options = parsed(one, "--socket", "/s", *words)

    assert options.argv == argv
    assert (options.json, options.socket) == (False, "/s")


def test_a_single_argument_may_stand_after_two_dashes() -> None:
    """
    A text that begins with a dash is given after `--`, and the other options before it.
    """
    options = parsed(PAINT, "work", "--no-dry", "--", "--json")

    assert (options.name, options.colour, options.dry, options.json) == (
        "work",
        "--json",
        False,
        False,
    )


WORDS = st.lists(st.sampled_from(["-", "--", "-x", "--json", "a", "", "-1", "--socket=x", "-h"]))


@given(before=st.lists(st.sampled_from(["a", "b"])), after=WORDS)
def test_any_words_may_follow_two_dashes(before: list[str], after: list[str]) -> None:
    """
    The words before and after the first `--` are the program, in their order.
    """
    one = own(program(required=False))

    options = parsed(one, *before, "--", *after)

    assert options.argv == before + after
    assert (options.json, options.socket) == (False, None)


def test_a_parser_can_be_used_again() -> None:
    """
    A list that one command line filled is empty for the next one.
    """
    one = own(part("env", "--env", action="append", default=[]))
    made = parser(one)

    first = parse(made, ["--env", "A=1", "--env", "B=2"])
    second = parse(made, ["--env", "C=3"])
    third = parse(made, [])

    assert [first.env, second.env, third.env] == [["A=1", "B=2"], ["C=3"], []]


# -- wrong usage and help


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "the following arguments are required: name, "),
        (["work"], "the following arguments are required: "),
        (["work", "red", "blue"], "unrecognized arguments: blue"),
        (["work", "red", "--nope"], "unrecognized arguments: --nope"),
        (["work", "red", "--coat", "3"], "unrecognized arguments: --coat 3"),
        (["work", "red", "--coats", "many"], "argument --coats: invalid int value: 'many'"),
        (["work", "red", "--coats", "1.5"], "argument --coats: invalid int value: '1.5'"),
        (["work", "red", "--coats"], "argument --coats: expected one argument"),
        (["work", "red", "--finish", "wet"], "argument --finish: invalid choice: 'wet'"),
        (["work", "red", "--no-dry=1"], "argument --no-dry: ignored explicit argument '1'"),
        (["work", "red", "--dry"], "unrecognized arguments: --dry"),
    ],
)
def test_wrong_usage_is_printed_with_status_2(words: list[str], reason: str) -> None:
    """
    The usage comes first, then the name of the command and what is wrong.
    """
    text = wrong(PAINT, *words)

    assert text.startswith("usage: agent-pty paint ")
    assert f"\nagent-pty paint: error: {reason}" in text
    assert text.endswith("\n")


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["work", "-h", "--coats", "many"]])
def test_help_is_printed_with_status_0(words: list[str]) -> None:
    """
    Help has the summary, every option and the examples; a mistake after it does not matter.
    """
    with pytest.raises(Printed) as caught:
        parsed(PAINT, *words)

    text = caught.value.text
    assert caught.value.status == 0
    assert "Paint a session." in text
    assert "It takes as many coats as it takes." in text
    assert all(name in text for name in (*arguments(PAINT), "--json", "--socket"))
    assert all(f"\n  {line}\n" in text for line in EXAMPLES)


def test_help_fits_a_terminal_of_80_columns() -> None:
    """
    A long summary is broken into lines that fit.
    """
    one = Subcommand(
        name="own",
        summary="word " * 60 + "\nsecond paragraph",
        command=Command(examples=EXAMPLES),
        parts=(),
    )

    with pytest.raises(Printed) as caught:
        parsed(one, "-h")

    lines = caught.value.text.splitlines()
    assert max(len(line) for line in lines) <= 78
    assert "second paragraph" in lines


@pytest.mark.parametrize(
    "build", [lambda: PAINT, lambda: own(program(required=True))], ids=["of an op", "of the client"]
)
def test_every_command_prints_json_and_takes_a_socket(build: Callable[[], Subcommand]) -> None:
    """
    Both options are there without being asked for, and are not set by default.
    """
    without = parsed(build(), "a", "b")
    with_both = parsed(build(), "a", "b", "--json", "--socket", "/tmp/s")

    assert (without.json, without.socket) == (False, None)
    assert (with_both.json, with_both.socket) == (True, "/tmp/s")

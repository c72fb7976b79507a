import errno
import json
import os
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta, Struct

from agent_pty import ops
from agent_pty.errors import AgentPtyError, BadRequest, Busy, SessionEnded, UnknownSession
from agent_pty.ops.op import (
    Mutation,
    Op,
    Request,
    decode,
    decode_head,
    failure,
    replayed,
    success,
)


class Paint(Mutation, frozen=True, kw_only=True):
    """Paint a fence."""

    id: str
    coats: Annotated[int, Meta(ge=1)] = 1
    colours: list[str] | None = None


class Painted(Struct, frozen=True, kw_only=True):
    """How it went."""

    area: int


class Ask(Request, frozen=True, kw_only=True):
    """Ask something."""


async def handler(_context: object, _request: object) -> None:
    """Do nothing."""


PAINT = Op(name="paint", answer="painted", request=Paint, where="session", handler=handler)
ASK = Op(name="ask", answer="asked", request=Ask, where="daemon", handler=handler)


def test_an_answer_has_the_contracts_shape() -> None:
    """
    Three keys in this order, and the content in an object with its type.
    """
    answer = success(PAINT, Painted(area=3))

    assert answer == b'{"ok":true,"data":{"type":"painted","data":{"area":3}},"error":null}'


def test_an_answer_without_content_has_no_inner_data() -> None:
    """
    Types without content are only a type.
    """
    assert success(PAINT, None) == b'{"ok":true,"data":{"type":"painted"},"error":null}'


@pytest.mark.parametrize("content", [[], {}, 0, "", False])
def test_empty_content_is_content(content: Any) -> None:
    """
    An empty list of sessions is something else than no answer.
    """
    assert json.loads(success(PAINT, content))["data"] == {"type": "painted", "data": content}


def test_a_failure_has_the_contracts_shape() -> None:
    """
    The same three keys, then a code and facts for programs.
    """
    assert failure(UnknownSession("x")) == (
        b'{"ok":false,"data":null,"error":"unknown session x",'
        b'"code":"unknown_session","details":{"id":"x"}}'
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadRequest("b"), "bad_request"),
        (Busy("b"), "busy"),
        (SessionEnded("b"), "exited"),
        (AgentPtyError("b"), "error"),
    ],
)
def test_each_error_has_its_code(error: AgentPtyError, code: str) -> None:
    """
    Programs go by the code, never by the words.
    """
    assert json.loads(failure(error))["code"] == code


def test_a_mistake_of_ours_tells_nothing() -> None:
    """
    What we did not raise on purpose stays in the log: it may contain anything.
    """
    answer = json.loads(failure(RuntimeError("the password is hunter2")))

    assert answer["code"] == "internal"
    assert "hunter2" not in json.dumps(answer)


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.ENOSPC, "disk_full"), (errno.EDQUOT, "disk_full"), (errno.EMFILE, "busy")],
)
def test_trial_03_what_has_run_out_is_named(
    number: int, code: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    A full disk is no mistake of ours: the caller is told, and the log is not filled with it.
    """
    answer = json.loads(failure(OSError(number, os.strerror(number))))

    assert answer["code"] == code
    assert os.strerror(number) in answer["error"]
    assert capfd.readouterr().err == ""


def test_a_replayed_answer_says_so_last() -> None:
    """
    The envelope is the first one's, with one key more.
    """
    assert replayed(success(PAINT, Painted(area=3))) == (
        b'{"ok":true,"data":{"type":"painted","data":{"area":3}},"error":null,"replayed":true}'
    )
    assert json.loads(replayed(failure(Busy("b"))))["replayed"] is True


def test_routing_reads_four_fields() -> None:
    """
    Whatever else is in a request is not its business.
    """
    head = decode_head(b'{"op":"send","id":"x","key":"k","v":1,"text":[1,{"a":null}]}')

    assert (head.op, head.id, head.key, head.v) == ("send", "x", "k", 1)
    assert decode_head(b' {"op":"list"}\r').id is None


# Python 3.14 reads as deep as the stack allows.
DEPTH = 1_000_000
DEEP = b"[" * DEPTH
BAD_HEADS = {
    "nothing": b"",
    "no json": b"hello",
    "half": b'{"op":"li',
    "two": b'{"op":"list"}{"op":"list"}',
    "list": b'["op","list"]',
    "null": b"null",
    "no op": b'{"id":"x"}',
    "op of another type": b'{"op":7}',
    "op null": b'{"op":null}',
    "id of another type": b'{"op":"x","id":5}',
    "not a number": b'{"op":"x","v":NaN}',
    "infinity": b'{"op":"x","extra":Infinity}',
    "byte order mark": b'\xef\xbb\xbf{"op":"list"}',
    "utf-16": '{"op":"list"}'.encode("utf-16"),
    "invalid utf-8": b'{"op":"\xff"}',
    "half a surrogate": b'{"op":"\\ud800"}',
    "control character": b'{"op":"a\nb"}',
    "single quotes": b"{'op':'list'}",
    "comment": b'{"op":"list"} // x',
    "deep": DEEP,
    "deep inside": b'{"op":"x","extra":' + DEEP + b"]" * DEPTH + b"}",
    "deep objects": b'{"op":"x","extra":' + b'{"a":' * DEPTH + b"1" + b"}" * (DEPTH + 1),
}


@pytest.mark.parametrize("payload", BAD_HEADS.values(), ids=BAD_HEADS)
def test_what_is_no_request_is_a_bad_request(payload: bytes) -> None:
    """
    One line says what is wrong; nothing of our insides is in it.
    """
    with pytest.raises(BadRequest) as caught:
        decode_head(payload)

    answer = json.loads(failure(caught.value))
    assert answer["code"] == "bad_request"
    assert answer["error"].startswith("invalid request: ")
    assert "Traceback" not in answer["error"]
    assert "agent_pty" not in answer["error"]
    assert "\n" not in answer["error"]
    assert len(answer["error"]) < 300


BAD_REQUESTS = {
    "missing field": (b'{"op":"paint"}', "missing required field `id`"),
    "wrong type": (b'{"op":"paint","id":7}', "Expected `str`, got `int`"),
    "true is no number": (b'{"op":"paint","id":"x","coats":true}', "Expected `int`"),
    "half a number": (b'{"op":"paint","id":"x","coats":1.5}', "Expected `int`"),
    "a number in quotes": (b'{"op":"paint","id":"x","coats":"1"}', "Expected `int`"),
    "out of range": (b'{"op":"paint","id":"x","coats":0}', ">= 1"),
    "huge": (b'{"op":"paint","id":"x","coats":1e999}', "out of range"),
    "inside a list": (b'{"op":"paint","id":"x","colours":["a",1]}', "$.colours[1]"),
    "null": (b'{"op":"paint","id":null}', "got `null`"),
}


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_a_wrong_field_is_named(name: str) -> None:
    """
    The message says which field and what was expected; the details name the op.
    """
    payload, reason = BAD_REQUESTS[name]

    with pytest.raises(BadRequest) as caught:
        decode(PAINT, payload)

    assert reason in str(caught.value)
    assert caught.value.details == {"op": "paint"}


def test_unknown_fields_are_ignored() -> None:
    """
    A client of a later version is understood as far as possible.
    """
    request = decode(PAINT, b'{"op":"paint","id":"x","brush":{"size":5},"coats":2}')

    assert request == Paint(id="x", coats=2)


def test_only_mutations_take_a_key() -> None:
    """
    Who asks may ask again; who changes something may say that it is the same change.
    """
    assert (PAINT.mutates, ASK.mutates) == (True, False)
    request = decode(PAINT, b'{"op":"paint","id":"x","key":"k"}')
    assert isinstance(request, Mutation)
    assert request.key == "k"


@pytest.mark.parametrize("op", ops.TABLE.values(), ids=ops.TABLE)
def test_every_op_explains_itself(op: Op) -> None:
    """
    The docstring is the help text and each field has a description, since nothing else has.
    """
    assert op.request.__doc__
    assert op.request.__doc__.strip().endswith(".")
    schema = msgspec.json.schema(op.request)["$defs"][op.request.__name__]
    silent = [
        name
        for name, field in schema["properties"].items()
        if name != "key" and "description" not in json.dumps(field)
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("scren", "unknown op 'scren': perhaps screen"),
        ("LIST", "unknown op 'LIST': perhaps list"),
        ("x" * 1000, f"unknown op '{'x' * 64}': docs/reference.md describes all of them"),
    ],
)
def test_an_unknown_op_is_told_what_may_have_been_meant(name: str, said: str) -> None:
    """
    The message stays short and cuts what was given; the details have every op.
    """
    with pytest.raises(AgentPtyError) as caught:
        ops.find(name)

    assert caught.value.code == "unknown_op"
    assert str(caught.value).startswith(said)
    assert caught.value.details == {"op": name[:64], "known": sorted(ops.TABLE)}

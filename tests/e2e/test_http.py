"""HTTP: who may ask, what is answered, and what a hostile or a careless client can do."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator

import pytest

from agent_pty.ops.op import LARGEST_REQUEST
from support.agent import Agent
from support.http import Http, as_another_user, serving

_LIST = b'{"op":"list"}'


@pytest.fixture(scope="module")
def http(shared: Agent) -> Iterator[Http]:
    """A server that the tests of this file share."""
    with serving(shared) as server:
        yield server


def _head(*lines: str) -> bytes:
    return "\r\n".join(["POST /request HTTP/1.1", *lines, "", ""]).encode()


# -- what the contract says


def test_the_curl_line_of_the_seed_works_verbatim(shared: Agent, http: Http) -> None:
    """
    `curl -d` of a request object, without any header of ours, answers with the envelope.
    """
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    shared.new("codex-1")

    ran = subprocess.run(
        ["curl", "-sS", f"{http.url}/request", "-d", '{"op":"screen","id":"codex-1"}'],
        capture_output=True,
        timeout=60,
        check=True,
    )

    answer = json.loads(ran.stdout)
    assert answer["ok"] is True
    assert answer["data"]["type"] == "screen"
    assert answer["data"]["data"]["rows"] == 24


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (_LIST, 200, None),
        (b"{", 400, "bad_request"),
        (b"", 400, "bad_request"),
        (b'{"op":"nope"}', 400, "unknown_op"),
        (b'{"op":"screen"}', 400, "bad_request"),
        (b'{"op":"screen","id":"nobody"}', 409, "unknown_session"),
        (b'{"op":"shutdown"}', 409, "not_offered"),
        (b'{"op":"serve_http"}', 409, "not_offered"),
        (b'{"op":"words","program":"k","argv":[]}', 409, "not_offered"),
    ],
)
def test_the_status_follows_from_the_code(
    http: Http, body: bytes, status: int, code: str | None
) -> None:
    """
    200 for what was done, 400 for what cannot be read, 409 for what could not be done.
    """
    answer = http.send(body=body)

    assert (answer.status, answer.code) == (status, code)
    assert list(answer.envelope)[:3] == ["ok", "data", "error"]
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("path", ["/", "/ops", "/openapi.json"])
def test_the_surface_describes_itself(http: Http, path: str) -> None:
    """
    A page for people, a list and an OpenAPI document for programs.
    """
    answer = http.send(path)

    assert answer.status == 200
    if path != "/":
        assert "screen" in answer.body.decode()
        assert "shutdown" not in answer.body.decode()


# -- who may ask


def test_net_01_a_stranger_needs_the_token(http: Http) -> None:
    """
    Another user is refused with 401 and told which file has the token; only its owner can read it.
    """
    if os.getuid() != 0:
        pytest.skip("only root can act as another user")

    answer = as_another_user(http.url)

    assert (answer.status, answer.code) == (401, "unauthorized")
    assert http.token_file in answer.envelope["error"]
    assert stat.S_IMODE(os.stat(http.token_file).st_mode) == 0o600


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_net_02_pages_of_other_sites_are_refused(http: Http, headers: dict[str, str]) -> None:
    """
    A request that a page of another site may have caused is refused; with the token it is not.
    """
    assert http.ask("list", headers).status == 403
    assert http.ask("list", {**headers, **http.token}).status == 200


def test_a_second_origin_does_not_hide_the_first(http: Http) -> None:
    """
    A header that is there twice is not trusted, whichever of the two is ours.
    """
    origins = [f"Origin: {http.url}", "Origin: https://evil.example"]
    for lines in (origins, origins[::-1]):
        asked = _head(f"Host: {http.host}", *lines, "Content-Length: 13") + _LIST
        assert b" 403 " in http.raw(asked).partition(b"\r\n")[0]


@pytest.mark.parametrize("host", ["evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""])
def test_net_03_a_name_that_is_not_ours_is_refused(http: Http, host: str) -> None:
    """
    A page that made its own name resolve to this machine sends that name as `Host`.
    """
    sent = {"Host": host.format(port=http.address[1])}

    assert http.ask("list", sent).status == 421
    assert http.ask("list", {**sent, **http.token}).status == 200


def test_two_hosts_are_refused(http: Http) -> None:
    """
    A request with two `Host` headers has no name that could be checked.
    """
    lines = [f"Host: {http.host}", "Host: evil.example", "Content-Length: 13", "Connection: close"]

    status = http.raw(_head(*lines) + _LIST).partition(b"\r\n")[0]

    assert status.split()[1] in {b"400", b"421"}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_net_04_no_content_type_is_demanded_of_the_same_user(http: Http, kind: str) -> None:
    """
    `curl -d` sends a form's type and is served; a page that does the same is refused by its origin.
    """
    sent = {"Content-Type": kind}

    assert http.ask("list", sent).status == 200
    assert http.ask("list", {**sent, "Origin": "https://evil.example"}).status == 403


def test_net_05_a_preflight_gets_no_permission(http: Http) -> None:
    """
    There is no CORS: no answer allows another origin anything.
    """
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for headers in (asked, {}, http.token):
        answer = http.send(method="OPTIONS", headers=headers)
        assert answer.status in {403, 404}
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        (method, path)
        for method in ("GET", "HEAD", "TRACE", "PUT", "DELETE", "PATCH")
        for path in ("/request", "/request/", "/watch", "/ops", "/nothing")
        if (method, path) not in {("GET", "/watch"), ("GET", "/ops")}  # these are served
    ],
)
def test_net_06_other_methods_and_paths_are_not_served(http: Http, method: str, path: str) -> None:
    """
    What is not offered answers 404 at once and does nothing; a HEAD opens no stream.
    """
    answer = http.send(path, method=method)

    assert answer.status == 404


def test_only_one_path_takes_requests(http: Http) -> None:
    """
    A slash too many or a query is another path, as in the contract; nobody is redirected.
    """
    for path in ("/request/", "/request?x=1", "/REQUEST"):
        assert http.send(path, _LIST).status == 404


def test_an_unknown_method_is_refused(http: Http) -> None:
    """
    What is no HTTP method is answered with an envelope, and the connection is closed.
    """
    answer = http.raw(b"BREW /request HTTP/1.1\r\nHost: x\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "bad_request"


@pytest.mark.parametrize("addr", ["0.0.0.0:0", "[::]:0", "10.0.0.1:0", "example.org:0"])
def test_net_07_no_address_beyond_this_machine_unless_asked_for(shared: Agent, addr: str) -> None:
    """
    An address that other machines can reach is refused with the way to allow it.
    """
    for command in (["serve-http", "--addr"], ["serve", "--http"]):
        ran = shared.cli(*command, addr)
        assert ran.returncode == 1
        assert "--allow-remote" in ran.stderr


def test_beyond_loopback_the_token_is_always_needed(shared: Agent) -> None:
    """
    With --allow-remote, who comes by an address of another network must show the token.
    """
    with serving(shared, "--addr", "0.0.0.0:0", "--allow-remote") as everywhere:
        assert everywhere.ask("list", {"Host": everywhere.host}).status == 200
        assert everywhere.ask("list", {"Authorization": "Bearer wrong"}).status == 401


def test_a_wrong_token_is_refused_even_of_the_same_user(http: Http) -> None:
    """
    Whoever shows a token must show the right one.
    """
    right = http.token["Authorization"]
    for wrong in ("Bearer", "Bearer ", "Bearer x", right[:-1], right + "x", "Basic eDp4", "ä"):
        asked = {"Authorization": wrong.encode().decode("latin-1")}
        answer = http.ask("list", asked)
        assert (answer.status, answer.code) == (401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"


# -- too much, and nonsense


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: 10000000000"],
        ["Content-Length: " + "9" * 100],
        ["Content-Length: -1"],
        ["Content-Length: 2", "Content-Length: 13"],
        ["Content-Length: 13", "Transfer-Encoding: chunked"],
        ["Content-Length: ²"],
    ],
)
def test_net_08_lengths_that_lie_are_refused(http: Http, lines: list[str]) -> None:
    """
    A length that is too large or contradicts itself is refused without waiting for the body.
    """
    answer = http.raw(_head(f"Host: {http.host}", *lines))

    assert re.match(rb"HTTP/1.1 4(00|13) ", answer)
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] in {"bad_request", "too_large"}


@pytest.mark.parametrize("encoding", ["length", "chunked"])
def test_a_body_that_is_too_large_is_refused(http: Http, encoding: str) -> None:
    """
    A client that sends everything before it reads gets the reason, not a broken pipe.
    """
    size = LARGEST_REQUEST + 1
    body, line = b" " * size, f"Content-Length: {size}"
    if encoding == "chunked":
        body, line = b"%x\r\n%s\r\n0\r\n\r\n" % (size, body), "Transfer-Encoding: chunked"

    answer = http.raw(_head(f"Host: {http.host}", line) + body)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "too_large"


def test_headers_without_end_are_refused(http: Http) -> None:
    """
    A stranger cannot fill the memory by headers: they are bounded before anybody is known.
    """
    for line in (b"X: " + b"x" * 4_000_000, b"X: y\r\n" * 500_000):
        answer = http.raw(b"POST /request HTTP/1.1\r\n" + line)
        assert answer.startswith(b"HTTP/1.1 431 ") or answer == b""


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"op":' * 100_000,
        b'{"op":"new","rows":' + b"1" * 5_000_000 + b"}",
        b'{"op":"new","rows":NaN}',
        b'\xef\xbb\xbf{"op":"nope"}',
        b'{"op":"\xff"}',
        b'{"op":"send","id":"x","text":"a\nb"}',
        b'{"op":"nope\x00"}',
        b'{"op":"list","op":"nope"}',
        b'["op"]',
        b"null",
    ],
)
def test_net_11_nonsense_is_a_bad_request(http: Http, body: bytes) -> None:
    """
    Whatever the body is, the answer is an error with a code, and the next request is served.
    """
    answer = http.send(body=body)

    assert answer.status == 400
    assert answer.code in {"bad_request", "unknown_op"}
    assert http.ask("list").status == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"op":"nope"}', 400),
        (b'{"op":"send","id":"x"}', 409),
        (b'{"op":"new","rows":"many"}', 400),
        (b'{"op":"list","more":1}', 200),
    ],
)
def test_net_12_mistakes_have_a_stable_code(http: Http, body: bytes, status: int) -> None:
    """
    An unknown op, a missing field and a wrong type have codes; an unknown field is ignored.
    """
    answer = http.send(body=body)

    assert answer.status == status
    assert b"Traceback" not in answer.body


@pytest.mark.parametrize("since", ["x", "-1", "%C2%B2", "9" * 400])
def test_a_number_that_is_none_is_a_bad_request(shared: Agent, http: Http, since: str) -> None:
    """
    `since` of /watch is judged like that of the op; no text makes us fail.
    """
    shared.ask("new", id=f"number-{len(since)}", repo="/tmp", argv=["cat"])

    answer = http.send(f"/watch?id=number-{len(since)}&since={since}")

    assert (answer.status, answer.code) == (400, "bad_request")


def test_a_client_that_leaves_interrupts_its_cell(shared: Agent, http: Http) -> None:
    """
    What a client that hung up has waited for is ended, and nothing of it is in the log.
    """
    shared.new("left")
    log = shared.home / "daemon.log"
    before = log.read_text()
    asked = {"op": "run", "id": "left", "code": "echo up; sleep 600", "timeout_ms": 600_000}
    body = json.dumps(asked).encode()

    with http.connect() as sock:
        sock.sendall(_head(f"Host: {http.host}", f"Content-Length: {len(body)}") + body)
        shared.ask("wait", id="left", until="up", timeout_ms=30_000)

    shared.ask("wait", id="left", until="prompt", timeout_ms=30_000)
    assert "Traceback" not in log.read_text().removeprefix(before)

"""Redaction of a stream: borders, colours, keys of many lines, cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_pty.core.redaction.key_block import headless_keys
from agent_pty.core.redaction.redactor import LONGEST_LINE, Redactor, redacted

SECRET = "hunter2-FAKE-pw"
GITHUB = "ghp_FakeFakeFakeFakeFakeFakeFakeFakeFake"
KEY = """-----BEGIN RSA PRIVATE KEY-----
MIIFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKEFAKE
FAKEFAKEFAKEFAKE+FAKE/FAKE==
-----END RSA PRIVATE KEY-----
"""


def streamed(text: bytes, size: int) -> bytes:
    """Redact a text that comes in pieces of one size."""
    redactor = Redactor()
    pieces = [redactor.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return b"".join([*pieces, redactor.close()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TOKEN=abc", "TOKEN=[REDACTED]"),
        ("DB_PASSWORD=abc;ls", "DB_PASSWORD=[REDACTED];ls"),
        ("use sk-" + "a" * 20, "use sk-[REDACTED]"),
        (GITHUB, "gh_[REDACTED]"),
        ("AKIAFAKEFAKEFAKEFAKE", "AKIA[REDACTED]"),
    ],
)
def test_the_four_shapes_of_the_seed_keep_their_markers(text: str, expected: str) -> None:
    """
    What reads the evidence of the original finds the same words in ours.
    """
    assert redacted(text) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"glpat-{'a' * 20}", "gitlab_token"),
        (f"curl -u bob:{SECRET} https://x.invalid", "flag"),
        (f"machine x.invalid login bob password {SECRET}", "login"),
        (f'{{"client_secret": "{SECRET}"}}', "field"),
        (f"<password>{SECRET}</password>", "field"),
        (f"https://bob:{SECRET}@x.invalid/", "url_password"),
        (f"X-Api-Key: {SECRET}", "field"),
        (f"Enter passphrase for key /k: {SECRET}", "prompt"),
        (f"echo {SECRET} | sudo -S ls", "flag"),
        (f"the password is {SECRET}", "field"),
        (f"Cookie: sessionid={SECRET}; theme=dark", "cookie"),
        (f"set -gx API_TOKEN {SECRET}", "assignment"),
    ],
)
def test_a_marker_names_the_kind(text: str, kind: str) -> None:
    """
    A reader learns what was taken out, and no more.
    """
    result = redacted(text)

    assert SECRET not in result
    assert f"[REDACTED:{kind}]" in result


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens=4096",
        "Password must have 8 characters",
        "[sudo] password for bob: ",
        "PASS=3 FAIL=0",
        "PWD=/home/bob",
        "token: Optional[Token] = None",
        "password = getpass.getpass()",
        "const token = await getToken();",
        "f(secret=nonce)",
        'Authorization: Bearer "$TOKEN"',
        "arn:aws:secretsmanager:us-east-1:123456789012:secret:db-AbCdEf",
        "scp -P 2222 a b:c",
        "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
        "kubectl get secrets",
        "SyntaxError: Unexpected token '<' in JSON",
    ],
)
def test_what_only_speaks_of_secrets_stays(text: str) -> None:
    """
    Words about secrets, variables, counts and types are no secrets.
    """
    assert redacted(text) == text


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_red_04_a_secret_that_comes_in_pieces(size: int) -> None:
    """
    Wherever the reads of a terminal end, the result is the same.
    """
    text = f"start\n\x1b[31mTOKEN={SECRET}\x1b[0m\n{GITHUB}\r\nend".encode()

    assert streamed(text, size) == streamed(text, len(text))
    assert SECRET.encode() not in streamed(text, size)


@pytest.mark.parametrize("size", [1, 30, 1000])
@pytest.mark.parametrize("prefix", ["", "  ", "+", "12: "])
def test_red_07_a_private_key_that_comes_in_pieces(size: int, prefix: str) -> None:
    """
    No line of a private key is left, also when it is indented, numbered or part of a diff.
    """
    text = "".join(prefix + line for line in KEY.splitlines(keepends=True)) + "after\n"

    result = streamed(text.encode(), size).decode()

    assert "FAKE" not in result
    assert result.endswith("after\n")
    assert "BEGIN RSA PRIVATE KEY" in result


def test_a_private_key_that_is_cut_off_hides_only_its_own_lines() -> None:
    """
    What follows a key without an end is text again.
    """
    result = redacted("\n".join(KEY.splitlines()[:2]) + "\n$ ls -la\ntotal 3 files\n")

    assert "FAKE" not in result
    assert result.endswith("$ ls -la\ntotal 3 files\n")


def test_colours_inside_a_secret_stay() -> None:
    """
    The terminal is coloured as before; only what is readable of the secret is gone.
    """
    assert (
        redacted(f"a {GITHUB[:12]}\x1b[1m{GITHUB[12:]}\x1b[0m b")
        == "a gh_[REDACTED]\x1b[1m\x1b[0m b"
    )


@pytest.mark.parametrize(
    "text",
    [
        f"pass\x1b[0mword={SECRET}",
        f"password\u202e={SECRET}",
        f"TOK\u200bEN={SECRET}",
        f"\x1b]0;PASSWORD={SECRET}\x07",
        f"\x1b]8;;https://bob:{SECRET}@x.invalid/\x1b\\link\x1b]8;;\x1b\\",
        f"\x1b]52;c;{SECRET}\x07",
    ],
)
def test_what_hides_a_name_or_a_secret_does_not_help(text: str) -> None:
    """
    Colours, characters that nobody sees, titles, links and the clipboard hide nothing.
    """
    assert SECRET not in redacted(text)


def test_a_token_that_the_end_of_a_line_cut() -> None:
    """
    The rest on the next line goes with it; a line of text after it does not.
    """
    key = "sk-" + "A" * 24
    assert redacted(f"{key}\r\n{'B' * 24}\nnext line\n") == (
        "sk-[REDACTED]\r\n[REDACTED:sk_key]\nnext line\n"
    )


def test_known_values_go_whatever_they_look_like() -> None:
    """
    A value of the session's environment is a secret by where it comes from.
    """
    assert redacted("say swordfish twice: swordfish", known=["swordfish", "a"]) == (
        "say [REDACTED:known_value] twice: [REDACTED:known_value]"
    )


def test_secrets_are_counted_by_kind() -> None:
    """
    How many were found is known, per kind.
    """
    redactor = Redactor()
    redactor.feed(f"TOKEN={SECRET}\n{GITHUB} {GITHUB}\n".encode())

    assert dict(redactor.counts) == {"assignment": 1, "github_token": 2}


def test_a_line_is_held_back_until_it_ends() -> None:
    """
    A secret that is typed slowly is one secret; what is left at the end comes with the end.
    """
    redactor = Redactor()
    assert redactor.feed(b"TOKEN=hun") == b""
    assert redactor.feed(b"ter2\nnext") == b"TOKEN=[REDACTED]\n"
    assert redactor.close() == b"next"


def test_a_line_without_an_end_is_held_back_in_part() -> None:
    """
    Memory is bounded, and a secret at the border of two parts is not cut.
    """
    redactor = Redactor()
    filler = b"x y " * (LONGEST_LINE // 4)
    text = filler + f"TOKEN={SECRET} ".encode() + filler
    shown = b"".join(redactor.feed(text[at : at + 1000]) for at in range(0, len(text), 1000))

    assert len(shown) > LONGEST_LINE
    assert SECRET.encode() not in shown + redactor.close()


def test_a_line_of_nothing_but_secrets_is_left_out() -> None:
    """
    What would cost too much is not shown at all, and says so.
    """
    assert redacted("TOKEN=a1 " * 1000) == "[REDACTED:too_many]"


@given(st.binary(max_size=400), st.integers(1, 50))
def test_no_input_breaks_it(data: bytes, size: int) -> None:
    """
    Any bytes, in any pieces: no exception, nothing is invented, and lines stay lines.
    """
    result = streamed(data, size)

    assert result.count(b"\n") == data.count(b"\n")
    if b"REDACTED" not in result:
        assert result == data


@given(
    st.lists(
        st.sampled_from(["TOKEN=", "a1", " ", "\n", "\x1b[1m", GITHUB, "key: ", '"']), max_size=30
    )
)
def test_what_is_redacted_stays_as_it_is(pieces: list[str]) -> None:
    """
    A second time finds nothing that the first time has left.
    """
    once = redacted("".join(pieces))

    assert GITHUB not in once
    assert redacted(once).count("[REDACTED") >= once.count("[REDACTED")


def test_red_10_a_known_value_of_several_lines_goes_line_by_line() -> None:
    """
    A line is all that is ever looked at.
    """
    redactor = Redactor([b"alpha-bravo-1177\ncharlie-delta-2288\nx"])
    clean = redactor.feed(b"a alpha-bravo-1177\r\ncharlie-delta-2288\r\nx x\r\n")

    assert b"1177" not in clean
    assert b"2288" not in clean
    assert clean.endswith(b"x x\r\n")


KEY_LINES = ["MIIEpAIBAAKCAQEA" + "q7Zx" * 12] * 8


def test_red_07_a_pager_that_draws_its_prompt_does_not_end_a_key() -> None:
    """
    It stands between two lines of the key, and is overwritten by the second.
    """
    redactor = Redactor()
    page = "".join(f"{line}\r\n" for line in KEY_LINES[:4])
    rest = "".join(f"{line}\r\n" for line in KEY_LINES[4:])
    text = (
        f"-----BEGIN PRIVATE KEY-----\r\n{page}:\r\x1b[K{rest}-----END PRIVATE KEY-----\r\n$ ls\r\n"
    )

    clean = redactor.feed(text.encode()) + redactor.close()

    assert b"q7Zx" not in clean
    assert clean.endswith(b"$ ls\r\n")


def test_the_middle_of_a_key_is_found_in_an_excerpt() -> None:
    """
    Without its beginning and its end; a certificate shows what it is.
    """
    middle = "\n".join(["some text", *KEY_LINES, ":"]).encode()
    certificate = "\n".join(["-----BEGIN CERTIFICATE-----", *KEY_LINES, ":"]).encode()

    ((start, end),) = headless_keys(middle)

    assert b"q7Zx" not in middle[:start] + middle[end:]
    assert headless_keys(certificate) == []
    assert headless_keys(b"\n".join([b"x" * 63] * 9)) == []

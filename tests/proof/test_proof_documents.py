"""Markdown and HTML of a proof: whatever the record has, it is text there and nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from agent_pty.core.evidence import event as events
from agent_pty.proof.markdown import code, fenced
from agent_pty.proof.page_files import PageFiles, page_files
from support.proof import ProvedSession

# What a program, a file name or a branch may try.
HOSTILE = (
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(2)">',
    "</pre></textarea></title></style><b>bold</b>",
    "&lt;i&gt; &amp;",
    '\x1b]8;;javascript:alert(3)\x07link\x1b]8;;\x07 " onmouseover="alert(4)',
    "![img](http://192.0.2.1/x.png) [a](javascript:alert(5)) | pipe | `tick` ``` fence",
    "```\n# a heading\n<script>alert(6)</script>\n````",
    "\u202egnp.exe\u200b",
)
TAGS_OF_OURS = {
    *("html", "head", "meta", "title", "style", "body", "script", "div", "nav", "a", "small"),
    *("input", "button", "main", "header", "h1", "h2", "h3", "p", "code", "span", "strong"),
    *("section", "b", "ul", "li", "article", "pre", "details", "summary", "footer", "br"),
    *("table", "tr", "td", "th"),
}


class Tags(HTMLParser):
    """Every tag of a page with its attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._raw = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.found.append((tag, dict(attrs)))
        self._raw += tag in {"script", "style"}

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a script."""
        self._raw -= tag in {"script", "style"}

    def handle_data(self, data: str) -> None:
        """Note text that is shown."""
        if not self._raw:
            self.text += data


@pytest.fixture
def session(tmp_path: Path) -> ProvedSession:
    """A session in which everything is hostile."""
    session = ProvedSession(tmp_path, start=False)
    session.note(events.Exec(argv=["sh", HOSTILE[0]], cwd=HOSTILE[1]))
    for text in HOSTILE:
        session.typed(text)
        session.ran(text, 1, output=text, status=text)
        session.note(events.Lost(diagnosis=text))
        name = text.replace("\n", " ").replace('"', "'")
        session.tree(f" M {name}\n", diff=f"diff --git a/x b/x\n+{text}\n", head=text)
        session.note(
            events.PolicyDenied(
                command=text,
                rule=text,
                span=None,
                reason=text,
                policy_hash=text,
                gate="line",
            )
        )
    session.note(
        events.Observation(
            screen_text="\n".join(HOSTILE),
            stdout_tail="",
            stderr_tail="",
            exit_status=None,
            files_changed=None,
            git_snapshot=None,
            process_snapshot=None,
            matched="",
            cursor=0,
        )
    )
    session.prove("never:x")
    return session


def test_htm_01_no_tag_comes_from_data(session: ProvedSession) -> None:
    """
    HTM-01: scripts, handlers and closing tags in the record are inert text of the page.
    """
    page = Tags(session.text("html"))

    assert {tag for tag, _ in page.found} <= TAGS_OF_OURS
    handlers = [name for _, given in page.found for name in given if name.startswith("on")]
    assert handlers == []
    for text in HOSTILE[:4]:
        assert text in page.text
    scripts = [given for tag, given in page.found if tag == "script"]
    assert all(given.get("type") or not given for given in scripts)


def test_htm_02_no_link_comes_from_data(session: ProvedSession) -> None:
    """
    HTM-02: a hyperlink of the terminal is no link; the page links to its own places only.
    """
    page = Tags(session.text("html"))

    places = [given.get("href") for _, given in page.found if "href" in given]
    assert all(re.fullmatch(r"#[a-z0-9]+", place or "") for place in places)
    assert all("src" not in given for _, given in page.found)
    assert "\\x1b]8;;javascript:alert(3)" in page.text


def test_htm_03_the_policy_permits_our_own_and_nothing_else(session: ProvedSession) -> None:
    """
    HTM-03: the policy of the page is pinned here, and its hashes are those of what is inlined.
    """
    page = session.text("html")
    inlined = {
        name: re.findall(rf"<{name}>(.*?)</{name}>", page, re.DOTALL)
        for name in ("script", "style")
    }
    hashes = {name: " ".join(map(_hash, found)) for name, found in inlined.items()}
    wasm = " 'wasm-unsafe-eval'" if page_files().has_player else ""

    policy = next(
        given["content"]
        for tag, given in Tags(page).found
        if tag == "meta" and given.get("http-equiv") == "Content-Security-Policy"
    )

    assert policy == (
        f"default-src 'none'; script-src {hashes['script']}{wasm}; style-src {hashes['style']}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def test_what_hides_is_written_out(session: ProvedSession) -> None:
    """
    Characters that turn text around, or that nobody sees, are shown as escapes.
    """
    for ending in ("html", "md"):
        text = session.text(ending)
        assert "\u202e" not in text
        assert "\\u202egnp.exe\\u200b" in text


def test_htm_04_markdown_has_no_markup_from_data(session: ProvedSession) -> None:
    """
    HTM-04: outside of fences and code spans there is no tag, no link, no image and no table.
    """
    outside = _outside_of_code(session.text("md"))

    assert "<" not in outside
    assert "](" not in outside
    assert "![" not in outside
    assert "|" not in outside
    headings = [line for line in outside.split("\n") if line.startswith("#")]
    assert "# a heading" not in headings


def _outside_of_code(text: str) -> str:
    """Return Markdown without its fences and code spans, found as CommonMark finds them."""
    kept, fence = [], ""
    for line in text.split("\n"):
        ticks = re.match(r" {0,3}(`{3,})", line)
        if fence:
            if ticks and len(ticks[1]) >= len(fence) and not line.strip(" `"):
                fence = ""
        elif ticks and "`" not in line[ticks.end() :]:
            fence = ticks[1]
        else:
            kept.append(re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", line))
    assert not fence, "a fence is not closed"
    return "\n".join(kept)


@pytest.mark.parametrize("run", [0, 1, 2, 3, 7])
def test_htm_04_fences_are_longer_than_any_run_in_the_data(run: int) -> None:
    """
    HTM-04: whatever number of backticks the data has, the fence and the span have more.
    """
    text = f"a {'`' * run} b"

    assert fenced(text, "text").startswith("`" * max(3, run + 1) + "text\n")
    assert re.match(r"`+", code(text))[0] == "`" * (run + 1)  # type: ignore[index]


def test_without_the_player_the_page_says_so(
    session: ProvedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    An installation without npm's player makes the whole page, and says how to get the player.
    """
    with_player = page_files()
    without = PageFiles(
        styles=with_player.styles[-1:], scripts=with_player.scripts[-1:], has_player=False
    )
    monkeypatch.setattr("agent_pty.proof.html.page_files", lambda: without)

    session.prove()
    page = session.text("html")

    assert "No player: the player is not part of this installation" in page
    assert "sh scripts/player" in page
    assert "wasm-unsafe-eval" not in page
    assert "AsciinemaPlayer.create" in page  # our own script, which then does nothing
    assert "Log integrity: verified" in page


def test_htm_06_a_page_that_must_escape_everything_stays_small(tmp_path: Path) -> None:
    """
    HTM-06: hundreds of cells of characters that become five times as long: less than 5 MB.
    """
    session = ProvedSession(tmp_path)
    session.tree(" M a\n", diff="diff --git a/a b/a\n" + "+&&&&&&&\n" * 7000)
    for _ in range(400):
        session.ran("&" * 4000, 1, output="&" * 2000)
        session.typed("&" * 500)

    found = session.prove()

    assert found.omitted["cells"].count
    assert len(session.text("html")) < 5_000_000
    assert len(session.text("json")) < 2_000_000
    assert len(session.text("md")) < 2_000_000

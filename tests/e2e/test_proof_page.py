"""The page of a proof in a real browser: nothing executes, nothing is fetched, the player plays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_pty.proof.page_files import page_files
from support.agent import Agent
from support.browser import Page, browsing

LONG = 100_000
BASH = ["/bin/bash", "--norc", "--noprofile"]
# Printed by programs, so that they are in output, screen and recording as they are.
HOSTILE = r"""printf '%s\n' '<script>document.title="owned"</script>' '</textarea></pre></script>' \
'<img src=x onerror="document.title=1">'
printf '\033]8;;javascript:document.title=2\033\\click me\033]8;;\033\\\n'
printf '\033]8;;http://192.0.2.1/\" onmouseover=\"document.title=3\033\\and me\033]8;;\033\\\n'
"""
FLOOD = "seq -f 'line %.0f of ten megabytes' 1 400000"

needs_player = pytest.mark.skipif(
    not page_files().has_player, reason="the player is not built in: sh scripts/player"
)


@pytest.fixture(scope="module")
def page(shared: Agent) -> Iterator[Page]:
    """The proof of a session that printed whatever could hurt, opened in a browser."""
    shared.ask("new", id="hostile", repo="/tmp", argv=BASH)
    shared.ask("run", id="hostile", code="echo first-$((1+1))")
    shared.ask("run", id="hostile", code=HOSTILE)
    shared.ask("run", id="hostile", code=FLOOD, timeout_ms=LONG)
    shared.ask("run", id="hostile", code="sleep 0.1; echo last-$((1+2)); false")
    path = shared.ask("proof", id="hostile", claims=["never:rm_rf"])["html_path"]
    assert Path(path).stat().st_size < 5_000_000
    with browsing() as found:
        found.size(width=1280, height=1000)
        found.open(path)
        found.until("document.documentElement.dataset.player === 'ready'")
        yield found


@needs_player
def test_htm_01_nothing_of_the_terminal_executes(page: Page) -> None:
    """
    HTM-01: tags that the session printed are text; the title is ours; no dialog opened.
    """
    assert page.value("document.title") == "agent-pty proof: hostile"
    assert page.value("document.querySelectorAll('img, iframe, textarea, object').length") == 0
    assert page.value("document.querySelector('[onerror], [onmouseover]')") is None
    shown = page.value("document.getElementById('commands').textContent")
    assert '<script>document.title="owned"</script>' in shown
    assert page.dialogs == []
    assert page.complaints == []


@needs_player
def test_htm_02_hyperlinks_of_the_terminal_are_no_links(page: Page) -> None:
    """
    HTM-02: every link of the page, also in the player, leads to a place of the page itself.
    """
    links = page.value("[...document.querySelectorAll('a')].map(one => one.getAttribute('href'))")

    assert links
    assert [one for one in links if one is not None and not one.startswith("#")] == []


@needs_player
def test_htm_03_nothing_is_fetched(page: Page) -> None:
    """
    HTM-03: the browser asked for the file, and for nothing else; the policy refuses the rest.
    """
    refused = page.value(
        "new Promise(done => { const seen = [];"
        " document.addEventListener('securitypolicyviolation', one => {"
        "   seen.push(one.effectiveDirective); if (seen.length === 3) done(seen.sort()); });"
        " fetch('http://192.0.2.1/').catch(() => 0);"
        " new Image().src = 'http://192.0.2.1/x.png';"
        " const added = document.createElement('script');"
        " added.textContent = 'document.title = 9'; document.body.append(added); })"
    )

    assert refused == ["connect-src", "img-src", "script-src-elem"]
    assert page.value("document.title") == "agent-pty proof: hostile"
    assert page.requests[0].startswith("file:")
    assert [one for one in page.requests[1:] if "192.0.2.1" not in one] == []
    page.complaints.clear()


@needs_player
def test_the_player_plays(page: Page) -> None:
    """
    Pressed, it goes on, and shows what the terminal showed.
    """
    page.value("agentPtyPlayer.seek(0)")
    page.value("agentPtyPlayer.play()")

    page.until("agentPtyPlayer.getCurrentTime() > 0.05")
    page.value("agentPtyPlayer.pause()")
    assert page.value("agentPtyPlayer.getDuration()") > 0
    page.value("agentPtyPlayer.seek('100%')")
    page.until("document.getElementById('player').textContent.includes('last-3')")


@needs_player
def test_clicking_a_command_seeks_to_it(page: Page) -> None:
    """
    The last command's button leads near the end of the recording, the first one's to its beginning.
    """
    page.value("agentPtyPlayer.seek(0)")
    buttons = "[...document.querySelectorAll('#commands button[data-marker]')]"

    page.value(f"{buttons}.at(-1).click()")
    page.until("agentPtyPlayer.getCurrentTime() > agentPtyPlayer.getDuration() / 2")
    page.value("agentPtyPlayer.pause()")
    assert page.value("document.querySelectorAll('.step.here').length") == 1

    page.value(f"{buttons}[0].click()")
    page.until("agentPtyPlayer.getCurrentTime() < agentPtyPlayer.getDuration() / 2")
    page.value("agentPtyPlayer.pause()")


def test_search_hides_what_does_not_match(page: Page) -> None:
    """
    Typed words leave the rows that have all of them, and say how many.
    """
    search = "document.getElementById('search')"
    typed = f"{search}.dispatchEvent(new Event('input'))"
    shown = "[...document.querySelectorAll('#commands .step')].filter(one => !one.hidden).length"

    page.value(f"{search}.value = 'ten megabytes'; {typed}")
    few, told = page.value(shown), page.value("document.getElementById('found').textContent")
    page.value(f"{search}.value = ''; {typed}")

    assert few == 1
    assert told.endswith(" found")
    assert page.value(shown) == 4


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_phones_and_desks_in_both_colours(page: Page, width: int, scheme: str) -> None:
    """
    Nothing is wider than the window; the colours follow the reader's preference, and the button.
    """
    page.colours(scheme)
    page.size(width=width, height=844)
    colour = "getComputedStyle(document.body).backgroundColor"

    preferred = page.value(colour)
    page.value("document.getElementById('theme').click()")
    other = page.value(colour)
    page.value("delete document.documentElement.dataset.theme")

    assert page.value("document.documentElement.scrollWidth") <= width
    assert (preferred == "rgb(15, 18, 23)") is (scheme == "dark")
    assert (other == "rgb(15, 18, 23)") is (scheme == "light")


def test_it_prints_without_the_player(page: Page) -> None:
    """
    On paper there is no bar and no player, and what is folded is open.
    """
    page.command("Emulation.setEmulatedMedia", media="print")
    hidden = page.value(
        "[...document.querySelectorAll('.bar, .stage')]"
        ".every(one => getComputedStyle(one).display === 'none')"
    )
    page.value("dispatchEvent(new Event('beforeprint'))")
    page.command("Emulation.setEmulatedMedia", media="")

    assert hidden
    assert page.value("[...document.querySelectorAll('details')].every(one => one.open)")

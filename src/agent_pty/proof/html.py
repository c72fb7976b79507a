"""A proof as one HTML page that needs no network, and in which nothing of the record can execute.

Rules of this file: text of the record is a text node or an escaped attribute (`html_element`); the
only scripts and styles are those of `page_files`, and the page's own policy names their hashes.
"""

from __future__ import annotations

import base64
import hashlib

from agent_pty.proof import html_sections as sections
from agent_pty.proof.html_content import HtmlProof
from agent_pty.proof.html_element import Html, element, joined, raw_element
from agent_pty.proof.html_steps import steps_section, timeline_section
from agent_pty.proof.html_summary import summary
from agent_pty.proof.page_files import HOW_TO_GET_PLAYER, PageFiles, page_files

_LINKS = (
    ("Commands", "commands"),
    ("Files", "files"),
    ("Risks", "risks"),
    ("Policy", "policy"),
    ("Timeline", "timeline"),
    ("Integrity", "integrity"),
)


def html_page(proof: HtmlProof) -> str:
    """Return the whole page."""
    files, bundle = page_files(), proof.bundle
    title = f"agent-pty proof: {bundle.session_id}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=content_policy(files)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        *(raw_element("style", one) for one in files.styles),
    )
    body = element(
        "body",
        _bar(),
        element("main", *_content(proof, files, title)),
        _cast(proof, files),
        *(raw_element("script", one) for one in files.scripts),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def content_policy(files: PageFiles) -> str:
    """Return what the browser may do: run and apply exactly our own, and fetch nothing.

    The player's terminal is WebAssembly, which is compiled from bytes that its script has.
    """
    scripts = " ".join(_hash(one) for one in files.scripts)
    styles = " ".join(_hash(one) for one in files.styles)
    wasm = " 'wasm-unsafe-eval'" if files.has_player else ""
    return (
        f"default-src 'none'; script-src {scripts}{wasm}; style-src {styles}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _bar() -> Html:
    links = [element("a", name, href=f"#{where}") for name, where in _LINKS]
    search = element(
        "input", type="search", id="search", placeholder="Search", aria_label="Search this proof"
    )
    return element(
        "div",
        element(
            "div",
            element("nav", *links, aria_label="Parts of this proof"),
            element("small", id="found", role="status"),
            search,
            element("button", "Theme", id="theme", type="button", title="light or dark"),
        ),
        class_="bar",
    )


def _content(proof: HtmlProof, files: PageFiles, title: str) -> list[Html]:
    bundle = proof.bundle
    return [
        summary(bundle, title),
        *([sections.claims(bundle)] if bundle.claims else []),
        sections.risks(bundle),
        element("div", steps_section(bundle, proof), _stage(proof, files), class_="work"),
        sections.files(bundle),
        sections.policy(bundle),
        sections.people(bundle),
        sections.screen(bundle),
        timeline_section(bundle, proof.moments),
        sections.integrity(bundle),
        sections.footer(bundle),
    ]


def _stage(proof: HtmlProof, files: PageFiles) -> Html:
    title = element("h2", "Recording")
    if not files.has_player or proof.cast.data is None:
        why = proof.cast.problem if files.has_player else HOW_TO_GET_PLAYER
        note = element("div", f"No player: {why}", class_="missing")
        return element("section", title, note, class_="stage", id="recording")
    player = element("div", id="player")
    hint = element("p", "Press the time of a command to see it happen.", class_="muted")
    problem = f"The recording is {proof.cast.problem}." if proof.cast.problem else ""
    note = element("p", problem, class_="muted")
    return element("section", title, player, hint, note, class_="stage", id="recording")


def _cast(proof: HtmlProof, files: PageFiles) -> Html:
    """Return the recording as data: a script of a type that no browser executes."""
    if not files.has_player or proof.cast.data is None:
        return joined()
    kind = "application/x-asciicast+gzip;base64"
    return raw_element("script", proof.cast.data, type=kind, id="cast")

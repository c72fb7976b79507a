"""`watch` and `attach` as iterators, also across the death of a daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from agent_pty import AsyncClient, Client
from agent_pty.api.following import Following
from agent_pty.api.results import Event
from agent_pty.errors import DaemonUnreachable, UnknownSession
from support.agent import Agent, ended, slay


def test_events_come_as_they_happen(client: Client) -> None:
    """
    None is missed after the stream was opened; each has its kind, its session and its facts.
    """
    with client.new("bash", id="events") as shell, shell.watch(events=["cell", "exited"]) as events:
        cell = shell.run("true")
        shell.send("exit 4")

        fired, done, exited = next(events), next(events), next(events)

    assert [fired.event, done.event, exited.event] == ["cell", "cell", "exited"]
    assert (done.id, done.instance) == ("events", shell.instance)
    assert done.facts["cell_id"] == cell.cell_id
    assert exited.facts["exit_code"] == 4
    assert fired.seq is not None
    assert done.seq is not None
    assert fired.seq < done.seq


def test_an_event_can_be_waited_for_in_vain(client: Client) -> None:
    """
    After the time limit there is none; a closed stream ends.
    """
    with client.new("bash", id="quiet") as shell:
        events = shell.watch(events=["bell"])

        assert events.next(timeout=0) is None
        events.close()
        assert list(events) == []


def test_a_stream_that_is_refused_raises(client: Client) -> None:
    """
    As any other request does.
    """
    with pytest.raises(UnknownSession):
        client.watch(id="nobody")
    with pytest.raises(UnknownSession):
        client.session("nobody").attach()


def test_events_go_on_after_the_death_of_a_daemon(agent: Agent) -> None:
    """
    Of one session, none is missed: the next daemon is asked for what came after the last one seen.
    """
    agent.new("work")
    with Client(home=agent.home, start=False) as client:
        shell = client.session("work")
        with shell.watch(events=["notify"]) as events:
            shell.notify("first")
            first = next(events)
            slay(agent.pid_of("daemon"))
            shell.notify("second")
            second = next(events)

    assert [first.facts["message"], second.facts["message"]] == ["first", "second"]


def test_what_may_be_missing_is_reported(agent: Agent) -> None:
    """
    The events of all sessions cannot be asked for again: an event says that some may be missing.
    """
    agent.new("work")
    with Client(home=agent.home, start=False) as client, client.watch(events=["notify"]) as events:
        slay(agent.pid_of("daemon"))

        missed = next(events)
        client.session("work").notify("after")
        after = next(events)

    assert missed == Event(event="lagged", facts={"missed": None})
    assert after.facts["message"] == "after"


def test_a_watcher_learns_that_the_daemon_was_stopped(agent: Agent) -> None:
    """
    By an exception: a loop that just ended would look like success.
    """
    agent.new("work")
    with Client(home=agent.home) as client, client.watch() as events:
        pid = agent.pid_of("daemon")
        agent.cli("stop")
        ended(pid)

        with pytest.raises(DaemonUnreachable):
            list(events)


def test_a_renamed_session_is_followed_by_its_new_name() -> None:
    """
    The next daemon knows no other.
    """
    following = Following({"id": "old", "since": None})

    following.feed(b'{"event":"renamed","id":"old","name_now":"new","seq":3}')

    assert following.lost() is None
    assert following.fields == {"id": "new", "since": 3}


def test_attached_a_program_sees_and_types(client: Client) -> None:
    """
    Bytes both ways, until the session ends.
    """
    with client.new("bash --norc", id="live") as shell, shell.attach() as live:
        live.send(b"echo seen-$((1 + 1)); exit\r")

        assert b"seen-2" in b"".join(live)
        assert live.lost == 0


def shown(chunks: Iterable[bytes], wanted: bytes) -> bool:
    """Read until *wanted* was seen."""
    seen = b""
    for data in chunks:
        seen += data
        if wanted in seen:
            return True
    return False


def test_an_attachment_goes_on_after_the_death_of_a_daemon(agent: Agent) -> None:
    """
    It is attached again, and the screen is painted again.
    """
    agent.new("work")
    with (
        Client(home=agent.home, start=False) as client,
        client.session("work").attach() as live,
    ):
        seen = iter(live)
        next(seen)
        slay(agent.pid_of("daemon"))
        client.session("work").send("echo over-$((1 + 1))")

        assert shown(seen, b"over-2")


def test_both_streams_work_in_an_event_loop(client: Client) -> None:
    """
    The same, awaited.
    """

    async def story() -> tuple[str, bytes]:
        async with (
            AsyncClient(socket=client.socket) as found,
            await found.new("bash --norc", id="loop") as shell,
            await shell.watch(events=["notify"]) as events,
            await shell.attach() as live,
        ):
            await shell.notify("hello")
            event = await anext(events)
            await live.send("echo seen-$((1 + 1)); exit\r")
            return event.facts["message"], b"".join([data async for data in live])

    message, seen = asyncio.run(story())

    assert message == "hello"
    assert b"seen-2" in seen


def test_both_streams_go_on_in_an_event_loop(agent: Agent) -> None:
    """
    After the death of a daemon, without the caller's help.
    """
    agent.new("work")

    async def story() -> list[str]:
        async with AsyncClient(home=agent.home, start=False) as client:
            shell = client.session("work")
            async with await shell.watch(events=["notify"]) as events, await shell.attach() as live:
                await shell.notify("first")
                heard = [(await anext(events)).facts["message"]]
                await asyncio.to_thread(slay, agent.pid_of("daemon"))
                await shell.notify("second")
                heard.append((await anext(events)).facts["message"])
                await shell.send("echo over-$((1 + 1))")
                seen = b""
                async for data in live:
                    seen += data
                    if b"over-2" in seen:
                        return heard
                return ["the attachment ended"]

    assert asyncio.run(story()) == ["first", "second"]


def test_a_watcher_in_an_event_loop_learns_of_a_stop(agent: Agent) -> None:
    """
    By the same exception; an attachment ends with its session.
    """
    agent.new("work")

    async def story() -> None:
        async with AsyncClient(home=agent.home) as client:
            events = await client.watch()
            live = await client.session("work").attach()
            pid = agent.pid_of("daemon")
            await asyncio.to_thread(agent.cli, "stop")
            await asyncio.to_thread(ended, pid)
            assert [data async for data in live]
            with pytest.raises(DaemonUnreachable):
                _ = [event async for event in events]

    asyncio.run(story())

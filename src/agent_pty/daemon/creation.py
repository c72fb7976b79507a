"""How a session begins: a program is started and its terminal given to a host."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import secrets
from collections.abc import Callable, Mapping

import msgspec

from agent_pty.client.shell import default_shell
from agent_pty.core.environment import NO_PAGER, of_program
from agent_pty.core.layout import expanded
from agent_pty.daemon.ending import Ender
from agent_pty.daemon.host_link import HostLink
from agent_pty.daemon.keeper_client import KeeperClient
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.errors import AgentPtyError, BadRequest
from agent_pty.host.message import AwaitOpened, Forget
from agent_pty.integration import integrate
from agent_pty.integration.injected import Injected
from agent_pty.keeper.link import KeeperError
from agent_pty.keeper.message import Hand, Spawn
from agent_pty.ops.model import SessionInfo, Spec, Wanted
from agent_pty.process import tree


class Creator:
    """Starts sessions; if any step fails, nothing of it is left.

    *variables* says what a program needs beside its environment to find this daemon.
    """

    def __init__(
        self,
        keeper: KeeperClient,
        pool: Pool,
        registry: Registry,
        ender: Ender,
        *,
        variables: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda _env: {},
    ) -> None:
        self._keeper = keeper
        self._pool = pool
        self._registry = registry
        self._ender = ender
        self._variables = variables

    async def create(self, wanted: Wanted) -> SessionInfo:
        """Start a program in a new session, unless the same request has done so before."""
        made = self._registry.made_by(wanted.key)
        if made is not None:
            return self._registry.info(made)
        name = self._registry.reserve(wanted.name, prefix=wanted.prefix)
        try:
            argv = [wanted.argv[0] or default_shell(), *wanted.argv[1:]]
            nonce, cwd = secrets.token_hex(8), _directory(wanted)
            env = _environment(wanted, cwd)
            program, injected = integrate(argv, env, nonce, wanted=wanted.marks)
            spec = _spec(wanted, name=name, argv=argv, cwd=cwd, nonce=nonce, program=program)
            self._registry.expect(spec.instance)
            try:
                record = await self._start(spec, injected, cwd)
            finally:
                early = self._registry.expected(spec.instance)
        finally:
            self._registry.unreserve(name)
        self._registry.add(record)
        if early is not None:
            self._registry.ended(spec.instance, early)
            self._ender.forget_oldest()
        return self._registry.info(record)

    async def _start(self, spec: Spec, injected: Injected, cwd: str) -> Record:
        host = await self._host_for(spec)
        marks = {"AGENT_PTY_SESSION": spec.name, tree.INSTANCE_VARIABLE: spec.instance}
        spawn = Spawn(
            instance=spec.instance,
            spec=msgspec.to_builtins(spec),
            argv=injected.argv,
            cwd=cwd,
            env={**injected.env, **self._variables(injected.env), **marks},
            whole=True,
            secret=injected.secret,
            rows=spec.rows,
            cols=spec.cols,
        )
        try:
            started = await self._keeper.spawn(spawn)
        except AgentPtyError:
            await self._pool.dismiss(host.name)
            raise
        record = Record(spec, pid=started.pid, birth=started.birth)
        try:
            await self.hand(record, host)
        except (AgentPtyError, KeeperError):
            await self._undo(record, host)
            raise
        return record

    async def _host_for(self, spec: Spec) -> HostLink:
        if spec.isolate:
            return await self._pool.private()
        return await self._pool.choose(self._registry.load)

    async def hand(self, record: Record, host: HostLink) -> None:
        """Give a session's terminal to a host and wait until it reads it."""
        record.assign(host.name)
        spec = msgspec.to_builtins(record.spec)
        await self._keeper.ask(Hand(instance=record.instance, host=host.name, spec=spec))
        record.update(await host.control(AwaitOpened(instance=record.instance)))
        record.settle()

    async def _undo(self, record: Record, host: HostLink) -> None:
        await self._ender.end_tree(record)
        with contextlib.suppress(AgentPtyError):
            await host.control(Forget(instance=record.instance))
        await self._ender.release(record.instance)
        await self._pool.dismiss(host.name)


def _spec(
    wanted: Wanted, *, name: str, argv: list[str], cwd: str, nonce: str, program: str | None
) -> Spec:
    """Return what is remembered of a session; it is text, so other bytes are replaced there."""
    return Spec(
        instance=secrets.token_hex(8),
        name=name,
        argv=[_text(word) for word in argv],
        workspace=_text(cwd),
        env_names=sorted(_text(variable) for variable in wanted.env),
        rows=wanted.rows,
        cols=wanted.cols,
        started_at=_now(),
        title=_text(wanted.title) if wanted.title is not None else None,
        isolate=wanted.isolate,
        nonce=nonce,
        program=program,
        frame=wanted.frame,
        key=wanted.key,
    )


def _text(value: str) -> str:
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _environment(wanted: Wanted, cwd: str) -> dict[str, str]:
    """Return the environment of the program; what the caller adds overrides all else."""
    pagers = {} if wanted.pager else NO_PAGER
    return {**of_program(wanted.environment, os.environ, cwd=cwd), **pagers, **wanted.env}


def _directory(wanted: Wanted) -> str:
    home = os.environ if wanted.environment is None else wanted.environment
    path = expanded(wanted.cwd, home)
    if not path.startswith("/"):
        raise BadRequest(f"repo {wanted.cwd!r} is not an absolute path", field="repo")
    return path


def _now() -> str:
    now = dt.datetime.now(dt.UTC)
    return now.isoformat(timespec="microseconds").replace("+00:00", "Z")

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
from agent_pty.core.guard_mode import GuardMode, stricter
from agent_pty.core.layout import Layout, expanded
from agent_pty.core.redaction.argv import redacted_argv
from agent_pty.core.redaction.redactor import redacted
from agent_pty.core.redaction.secret_name import is_secret_name
from agent_pty.daemon.ending import Ender
from agent_pty.daemon.host_link import HostLink
from agent_pty.daemon.keeper_client import KeeperClient
from agent_pty.daemon.pool import Pool
from agent_pty.daemon.record import Record
from agent_pty.daemon.registry import Registry
from agent_pty.daemon.tmux_panes import TmuxPanes
from agent_pty.errors import AgentPtyError, BadRequest, GuardUnavailable
from agent_pty.host.message import AwaitOpened, Forget
from agent_pty.integration import integrate
from agent_pty.integration.dialect import dialect
from agent_pty.integration.injected import Injected
from agent_pty.keeper.link import KeeperError
from agent_pty.keeper.message import Hand, Spawn
from agent_pty.ops.model import SessionInfo, Spec, Wanted
from agent_pty.process import tree

# Raises if the policy is against starting a program in a directory.
Judge = Callable[[Wanted, list[str], str], None]


class Creator:
    """Starts sessions; if any step fails, nothing of it is left. *judge* may refuse a program.

    *idle_stop* is after how many seconds without use a session is ended if its request does not
    say; 0: never. *guard* returns which execs the policy wants judged at least.
    """

    def __init__(
        self,
        layout: Layout,
        keeper: KeeperClient,
        pool: Pool,
        registry: Registry,
        ender: Ender,
        *,
        judge: Judge,
        panes: TmuxPanes,
        idle_stop: float = 0.0,
        guard: Callable[[], GuardMode | None] = lambda: None,
    ) -> None:
        self._layout = layout
        self._keeper = keeper
        self._pool = pool
        self._registry = registry
        self._ender = ender
        self._judge = judge
        self._idle_stop = idle_stop
        self._guard = guard
        self._panes = panes

    async def create(self, wanted: Wanted) -> SessionInfo:
        """Start a program in a new session, unless the same request has done so before."""
        made = self._registry.made_by(wanted.key)
        if made is not None:
            return self._registry.info(made)
        name = self._registry.reserve(wanted.name, prefix=wanted.prefix)
        try:
            argv = [wanted.argv[0] or default_shell(), *wanted.argv[1:]]
            nonce, cwd = secrets.token_hex(8), _directory(wanted)
            self._judge(wanted, argv, cwd)
            env = _environment(wanted, cwd)
            program, injected = integrate(argv, env, nonce, wanted=wanted.marks)
            spec = _spec(wanted, name=name, argv=argv, cwd=cwd, nonce=nonce, program=program)
            spec = self._with_index_facts(spec, wanted, env)
            self._registry.expect(spec.instance)
            try:
                record = await self._start(wanted, spec, injected, cwd)
            finally:
                early = self._registry.expected(spec.instance)
        finally:
            self._registry.unreserve(name)
        self._registry.add(record)
        if early is not None:
            self._registry.ended(spec.instance, early)
            self._ender.forget_oldest()
        return self._registry.info(record)

    def _with_index_facts(self, spec: Spec, wanted: Wanted, env: Mapping[str, str]) -> Spec:
        """Add what may be shown of it in files: only now are the values of its secrets known."""
        secrets = [value for name, value in env.items() if is_secret_name(name)]
        title = None if spec.title is None else redacted(spec.title, secrets)
        idle_stop = self._idle_stop if wanted.idle_stop is None else wanted.idle_stop
        return msgspec.structs.replace(
            spec,
            shown_argv=redacted_argv(spec.argv, secrets),
            shown_title=title,
            idle_stop=idle_stop,
            guard=stricter(wanted.guard, self._guard()),
        )

    async def _start(self, wanted: Wanted, spec: Spec, injected: Injected, cwd: str) -> Record:
        host = await self._host_for(spec)
        marks = {"AGENT_PTY_SESSION": spec.name, tree.INSTANCE_VARIABLE: spec.instance}
        spawn = Spawn(
            instance=spec.instance,
            spec=msgspec.to_builtins(spec),
            argv=injected.argv,
            cwd=cwd,
            env={**injected.env, **self._layout.variables_for(injected.env), **marks},
            whole=True,
            secret=self._secret(spec, injected),
            rows=spec.rows,
            cols=spec.cols,
            guard=spec.guard is not None,
        )
        try:
            record, guarded = await self._started(wanted, spec, spawn)
        except AgentPtyError:
            await self._pool.dismiss(host.name)
            raise
        try:
            _check_guarded(spec, guarded=guarded)
            await self.hand(record, host)
        except (AgentPtyError, KeeperError):
            await self._undo(record, host)
            raise
        return record

    def _secret(self, spec: Spec, injected: Injected) -> str | None:
        """Return what the program reads from its descriptor 3."""
        if injected.secret is None or not dialect(spec.program).answers:
            return injected.secret
        return f"{injected.secret}\n{self._layout.exports(spec.instance)}"

    async def _started(self, wanted: Wanted, spec: Spec, spawn: Spawn) -> tuple[Record, bool]:
        """Start a program; also return whether its execs are judged."""
        if wanted.backend == "tmux":
            if spec.guard is not None:
                raise GuardUnavailable(
                    "the policy has execs judged, which cannot be done in tmux: use --backend pty"
                )
            return await self._panes.start(wanted, spec, spawn), False
        started = await self._keeper.spawn(spawn)
        spec = msgspec.structs.replace(spec, no_new_privs=started.no_new_privs)
        return Record(spec, pid=started.pid, birth=started.birth), started.guard

    async def give_to_host(self, record: Record) -> None:
        """Give a session that the keeper holds to some host; if that fails, release it."""
        host = await self._host_for(record.spec)
        try:
            await self.hand(record, host)
        except (AgentPtyError, KeeperError):
            await self._ender.release(record.instance)
            raise

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


def _check_guarded(spec: Spec, *, guarded: bool) -> None:
    if spec.guard is not None and not guarded:
        raise GuardUnavailable(
            "the keeper is of an earlier build, which has no guard: agent-pty restart --keep"
        )


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
        started_at=time_now(),
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


def time_now() -> str:
    """Return the present time as a session's beginning has it."""
    now = dt.datetime.now(dt.UTC)
    return now.isoformat(timespec="microseconds").replace("+00:00", "Z")

"""Ten tasks of an agent, done through `k`, the six tools, agent-tty and plain tmux."""

from __future__ import annotations

from bench.tasks import (
    build,
    editors,
    fix_test,
    full_screen,
    large_log,
    mistakes,
    parallel,
    prompts,
    repls,
    servers,
)

TASKS = (
    fix_test.TASK,
    editors.TASK,
    servers.TASK,
    prompts.TASK,
    repls.TASK,
    build.TASK,
    large_log.TASK,
    full_screen.TASK,
    parallel.TASK,
    mistakes.TASK,
)

"""Commands inside of other commands: what runs is judged, what is only data is not.

The lines are data for a pure function. Nothing here is ever given to a shell.
"""

from __future__ import annotations

import io
import json

import pytest

from agent_pty.cli.main import main
from agent_pty.core.policy.shell_scope import Scope
from agent_pty.core.policy.verdict import judged

OPTIONS: list[str] = [
    """python3 -c"import os; os.system('rm -rf build')" """,
    """python3 -Bc "import os; os.system('rm -rf build')" """,
    """python3 -X dev -c "import os; os.system('rm -rf build')" """,
    """python3 -W ignore -c "import os; os.system('rm -rf build')" """,
    """python3 --check-hash-based-pycs always -c "import os; os.system('rm -rf build')" """,
    """perl -e'system("rm -rf build")'""",
    """perl -I lib -e 'system("rm -rf build")'""",
    """perl -Mstrict -we 'system("rm -rf build")'""",
    """perl -e 1 -e 'system("rm -rf build")'""",
    """ruby -r json -e 'system("rm -rf build")'""",
    """node -r x -e 'require("child_process").execSync("rm -rf build")'""",
    """node --require x --eval='require("child_process").execSync("rm -rf build")'""",
    """php -d a=b -r 'system("rm -rf build");'""",
    "bash -oc pipefail 'rm -rf build'",
    "bash -co pipefail 'rm -rf build'",
    "bash -c -o pipefail -- 'rm -rf build'",
    "env -vS 'rm -rf build'",
    "env -iS 'rm -rf build'",
    "env -iS'rm -rf build'",
    "env -u A --split-string 'rm -rf' build",
    "script -c'rm -rf build'",
    "script -qc'rm -rf build' /dev/null",
    "su -c'rm -rf build'",
    "su root -lc 'rm -rf build'",
    "sed --expression='1e rm -rf build' x",
    "sed -e'e rm -rf build' x",
]
FAMILIES: list[str] = [
    "find . ! -name keep -delete",
    "find . -not -name keep -delete",
    "find . -name '*' -delete",
    "find . -delete -name x",
    "git -c remote.o.mirror=1 push o",
    "git -c remote.o.mirror=yes push o",
    "git -c remote.o.mirror=on push o",
    "git -c remote.o.mirror=TRUE push o",
    "git -c remote.o.mirror push o",
    "git config remote.o.mirror yes; git push o",
    "git remote add --mirror=push o url; git push o",
    "git clean -n -f --no-dry-run -d",
    "git push -n --no-dry-run -f",
    "kubectl delete --dry-run=client --dry-run=none pod x",
    "kubectl --as-uid 1 delete pod x",
    "kubectl --username u delete pod x",
    "kubectl --not-known-yet u delete pod x",
    "terragrunt --working-dir x apply",
    "terragrunt run --working-dir x -- apply",
    "vault --not-known-yet x write a b=c",
    "gh --not-known-yet x pr merge 1",
    "git --attr-source HEAD push -f",
    "git --attr-source HEAD clean -fd",
    "docker run hashicorp/terraform:1.5 apply",
    "docker run --rm -v x:/y reg.example:5000/hashicorp/terraform:1.5 apply",
    "docker run bitnami/kubectl@sha256:abc delete pod x",
]
TEXT_VALUES: list[str] = [
    "csh -c 'rm -rf build'",
    "tcsh -fc 'rm -rf build'",
    "pwsh -NoProfile -Command 'rm -rf build'",
    "pwsh -c rm -rf build",
    "nu -c 'rm -rf build'",
    "nu --commands 'rm -rf build'",
    "fish --command='rm -rf build'",
    "fish --command 'rm -rf build'",
    "fish -c'rm -rf build'",
    "sg docker -c 'rm -rf build'",
    "sg docker 'rm -rf build'",
    "hyperfine 'rm -rf build'",
    "hyperfine --prepare 'rm -rf build' ls",
    "ansible all -m shell -a 'rm -rf build'",
    "vagrant ssh -c 'rm -rf build'",
    "gcloud compute ssh vm --command 'rm -rf build'",
    "gcloud compute ssh vm --command='cd x; rm -rf build'",
    "echo '* * * * * rm -rf build' | crontab -",
    "echo '@daily cd x && rm -rf build' | crontab",
    "ssh -o ProxyCommand='rm -rf build' host",
    "ssh -oProxyCommand='rm -rf build' host",
    "ssh -o 'LocalCommand rm -rf build' host",
    "split --filter='rm -rf build' x",
    r"psql -c '\! rm -rf build'",
    r"psql db -c'\! rm -rf build'",
    r"psql <<< '\! rm -rf build'",
    "npm exec -- rm -rf build",
    "npm exec -c 'rm -rf build'",
    "yarn exec rm -rf build",
    "pnpm exec -- git push -f",
    "pnpm dlx rm -rf build",
    "npx -c 'rm -rf build'",
    "no-such-tool --run 'rm -rf build'",
    "no-such-tool --run='git push -f'",
    "no-such-tool 'sudo rm -rf build'",
    "no-such-tool 'bash -c \"rm -rf build\"'",
]
FOREACH: list[str] = [
    "git submodule foreach rm -rf build",
    "git submodule foreach --recursive rm -rf build",
    "git submodule foreach git push -f",
    "git submodule --quiet foreach 'rm -rf build'",
    "tmux new-window rm -rf build",
    "tmux new-window -n a -- rm -rf build",
    "parallel -j 4 rm -rf ::: a b",
]
READ: list[str] = [
    "echo 'rm -rf build' | su",
    "echo 'rm -rf build' | su - bob",
    "sudo -s <<< 'rm -rf build'",
    "sudo -i <<< 'rm -rf build'",
    "sudo -u bob -i <<< 'rm -rf build'",
    "sudo su <<< 'rm -rf build'",
    "ssh host <<< 'rm -rf build'",
    "ssh host bash <<< 'rm -rf build'",
    "ssh -T host << 'END'\ncd x\nrm -rf build\nEND\n",
    "ssh host < script.sh",
    "curl x | ssh host",
    "echo 'rm -rf build' | bash /proc/self/fd/0",
    "echo 'rm -rf build' | bash /dev/fd/0",
    """echo "import os; os.system('rm -rf build')" | python3 /dev/stdin""",
    """echo "import os; os.system('rm -rf build')" | python3 - x""",
    """python3 <(echo "import os; os.system('rm -rf build')")""",
    "python3 <(curl x)",
    """awk -f <(echo 'BEGIN { system("rm -rf build") }')""",
    "bash --rcfile <(echo rm -rf build)",
    "bash --init-file <(echo rm -rf build) -i",
    "sed -f <(echo '1e rm -rf build') x",
]
CALLS: list[str] = [
    """python3 -c "__import__('os').system('rm -rf build')" """,
    """python3 -c "import os; getattr(os, 'sys' + 'tem')('rm -rf build')" """,
    """python3 -c "import os; getattr(os, 'system')('rm -rf build')" """,
    """python3 -c "import os; f = os.system; f('rm -rf build')" """,
    """python3 -c "from os import system; system('rm -rf build')" """,
    """python3 -c "from os import system as s; s('rm -rf build')" """,
    """python3 -c "import os as o; o.system('rm -rf build')" """,
    """python3 -c "import subprocess as s; s.run(['rm', '-rf', 'build'])" """,
    """python3 -c "exec('import os; os.system(\\'rm -rf build\\')')" """,
    """perl -e 'system "rm -rf build"'""",
    """perl -e 'system qw(rm -rf build)'""",
    """perl -e 'exec "rm -rf build"'""",
    """perl -e '`rm -rf build`'""",
    """perl -e 'print qx(rm -rf build)'""",
    """ruby -e 'puts %x(rm -rf build)'""",
    """ruby -e 'system "rm", "-rf", "build"'""",
    """ruby -e 'Kernel.send(:system, "rm -rf build")'""",
    """perl -e 'open(F, "rm -rf build |")'""",
    """perl -e 'open my $f, "-|", "rm -rf build"'""",
    """perl -e '/"/; system("rm -rf build"); /"/'""",
    """ruby -e 'cmd = "rm -rf build"; system cmd'""",
    """php -r '$f = "system"; $f("rm -rf build");'""",
    """php -r 'call_user_func("exec", "rm -rf build");'""",
    """perl -e 'eval "system(q(rm -rf build))"'""",
    """python3 -c "import os as o; f = o.system; f('rm -rf build')" """,
    """python3 -c "list(map(__import__('os').system, ['rm -rf build']))" """,
    """python3 -c "import os; os.__dict__['sys' 'tem']('rm -rf build')" """,
    """perl -e 'exec qw(rm -rf build)'""",
    """node -e 'const {exec: e} = require("node:child_process"); e("rm -rf build")'""",
    """node -e 'const c = "rm -rf build"; import("child_process").then(m => m.exec(c))'""",
    """ruby -e '%w[rm -rf build].then { |a| exec(*a) }'""",
    """lua -e 'os.execute("rm -rf build")'""",
    """osascript -e 'do shell script "rm -rf build"'""",
    "python3 <<'END'\n# don't\nimport os\nos.system('rm -rf build')\nEND\n",
    "python3 <<'END'\nx = '''it's'''\nimport os\nos.system('rm -rf build')\nEND\n",
    """node -e 'require("child_process")["ex" + "ec"]("rm -rf build")'""",
    """python3 -c "f'{__import__(\\"os\\").system(\\"rm -rf build\\")}'" """,
    """ruby -e 'puts "#{system("rm -rf build")}"'""",
]
_MANY = ", ".join(f"'{number}'" for number in range(80))
CUT: list[str] = [
    f"""python3 -c "import os; x = [{_MANY}]; os.system('rm -rf build')" """,
    f"""python3 -c "import os; x = [{_MANY[:144]}]; os.system('r' + 'm -rf build')" """,
]

HARMLESS: list[str] = [
    "sudo echo rm -rf build",
    "env echo rm -rf build",
    "env A=1 echo rm -rf build",
    "time echo rm -rf build",
    "nohup echo rm -rf build",
    "timeout 5 echo rm -rf build",
    r"find . -exec echo rm -rf {} \;",
    "ls | xargs echo rm -rf",
    "ssh host echo rm -rf build",
    ": rm -rf build",
    "true rm -rf build",
    "false rm -rf build",
    "poetry run echo rm -rf build",
    "find . -name '*.pyc' -delete",
    "find . -type f ! -name keep -name '*.o' -delete",
    "git -c remote.o.mirror=false push o",
    "git clean -f -d -n",
    "git push -f --dry-run",
    "kubectl delete --dry-run=client pod x",
    "kubectl --as-uid 1 get pod delete",
    "terraform -chdir=x plan",
    "terragrunt --working-dir x plan",
    "git --attr-source HEAD push",
    "docker run hashicorp/terraform:1.5 plan",
    "docker build -t hashicorp/terraform:1.5 .",
    "git remote add --mirror=fetch o url; git push o",
    "csh -c 'ls'",
    "npm exec -- eslint src",
    "npm run build",
    "git submodule foreach git pull",
    "git submodule update --init --recursive",
    "ssh host",
    "ssh host uptime < /dev/null",
    "echo 1 | crontab -l",
    "psql -c 'select 1'",
    "ansible all -a 'uptime'",
    "python3 - <<'END'\nEND\n",
    "python3 - <<< ''",
    "ls | python3 -m json.tool",
    "cat x | python3 tool.py",
    "cat x | python3 -m http.server 80",
    """python3 -c "print('os.system is bad: rm -rf build')" """,
    """python3 -c "print('subprocess')" """,
    """python3 -c "print('run exec(x) or system(y): git push --force')" """,
    """python3 -c "import torch; m = torch.nn.Linear(1, 2); m.eval(); print('rm -rf x')" """,
    """ruby -e 'puts "a system (rm -rf build) is bad"'""",
    """node -e 'console.log("use child_process to rm -rf build")'""",
    """python3 -c "import os; print(getattr(os, 'name'))" """,
    "perl -ne 'print if /system/'",
    """python3 -c "import platform; print(platform.system())" """,
    'python3 -c "m.eval()"',
    """python3 -c "import re; print(re.compile('x').pattern)" """,
    "hyperfine 'sleep 1'",
    "no-such-tool --message 'git log is long'",
]


def _of_all(*lists: list[str]) -> list[str]:
    return [row for rows in lists for row in rows]


@pytest.mark.parametrize("line", _of_all(OPTIONS, FAMILIES, TEXT_VALUES, FOREACH, READ, CALLS, CUT))
def test_what_another_command_runs_needs_an_approval(line: str) -> None:
    """
    However a program is told what to run, that is what is judged.
    """
    assert judged(line, Scope()).action == "require_approval"


@pytest.mark.parametrize("line", HARMLESS)
def test_what_is_only_data_needs_no_approval(line: str) -> None:
    """
    Words that no program runs are not judged, whatever they say.
    """
    assert judged(line, Scope()).action == "allow"


def test_rows_are_judged_as_sessions_judge_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Sessions have no history expansion, so an exclamation mark in a row is only text.
    """
    row = json.dumps({"command": 'git commit -m "feat!: x"'})
    monkeypatch.setattr("sys.stdin", io.StringIO(row + "\n"))

    main(["policy", "check", "--jsonl"])

    assert json.loads(capsys.readouterr().out)["action"] == "allow"

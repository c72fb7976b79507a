"""Secrets on command lines of programs whose flags do not say so: `redis-cli -a`, `mysql -p`."""

from __future__ import annotations

from collections.abc import Iterator

from agent_pty.core.redaction.found import Found
from agent_pty.core.redaction.pattern import compiled
from agent_pty.core.redaction.secret_name import is_no_secret

_VALUE = r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"';|]+)"""
_B = r"[ \t]+"
# Programs, and what stands right before the secret.
_FLAGS = (
    ("sshpass", r"-p[ \t]*"),
    ("docker|podman|buildah|skopeo|helm|oras|nerdctl", r"login\b.*[ \t]-p[ \t=]*"),
    ("mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump", r"-p"),
    ("mongo|mongosh|mongodump|mongorestore|az|cqlsh|influx|hydra", rf"-p{_B}"),
    ("redis-cli|redis-benchmark|valkey-cli", rf"-a{_B}"),
    ("sqlcmd|bcp|tsql|zip|unzip|zipcloak|mosquitto_pub|mosquitto_sub", r"-P[ \t]*"),
    ("7z|7za|7zr", r"-p"),
    ("ldapsearch|ldapmodify|ldapadd|ldapdelete|ldappasswd|ldapwhoami", rf"-w{_B}"),
    ("smbclient", r"-U[ \t]*[^\s%]+%"),
    ("htpasswd", rf"-[a-zA-Z]*b[a-zA-Z]*{_B}(?:\S+{_B})?\S+{_B}"),
    ("rabbitmqctl", rf"(?:add_user|change_password){_B}\S+{_B}"),
    ("mosquitto_passwd", rf"-b{_B}\S+{_B}\S+{_B}"),
    ("vault", rf"login{_B}(?:-[\w=-]+{_B})*"),
    ("useradd|usermod", rf"(?:-p|--password){_B}"),
    ("cryptsetup", r"<<<[ \t]*"),
    (
        "curl|wget|http|https|xh|lftp",
        r"(?:-u|--user|--proxy-user|-U|-a|--auth)[ \t=]*[\"']?[^\s:\"'@/-][^\s:\"'@/]*:",
    ),
)
# Secrets that other programs read.
_PIPED = (
    rf"\becho{_B}(?:-n{_B})?{_VALUE}[ \t]*\|[ \t]*(?:\S+{_B})*?sudo{_B}(?:\S+{_B})*?-S",
    rf"\bprintf{_B}(?:[\"']%s(?:\\n)?[\"']{_B})?{_VALUE}[ \t]*\|[ \t]*sudo{_B}-S",
    rf"\becho{_B}[\"']?[\w.-]+:([^\s\"'|]+)[\"']?[ \t]*\|[ \t]*(?:sudo{_B})?chpasswd",
    rf"[ \t]-pass(?:in|out)?{_B}pass:{_VALUE}",
)
# The last group of each is the secret.
_FORMS = tuple(
    compiled(one)
    for one in (
        *(rf"\b(?:{programs})\b(?:.*)?[ \t]{flag}{_VALUE}" for programs, flag in _FLAGS),
        *_PIPED,
    )
)
# Only lines that name one of the programs are looked at more closely.
PROGRAMS = (
    rf"\b(?:{'|'.join(programs for programs, _ in _FLAGS)})[ \t]"
    r"|-pass(?:in|out)?[ \t]+pass:|\bsudo\b.*-S|chpasswd"
)
_NAMED = compiled(PROGRAMS)


def command_line_secrets(text: bytes) -> Iterator[Found]:
    """Yield what programs take as a secret by a flag that has another meaning elsewhere."""
    for form in _FORMS if _NAMED.search(text) else ():
        for match in form.finditer(text):
            start, end = match.span(match.re.groups)
            value = text[start:end].decode(errors="replace")
            if not value.startswith("-") and not is_no_secret(value):
                yield Found(start, end, "flag")

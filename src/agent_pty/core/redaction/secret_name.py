"""Which names promise a secret, and which values are none although they have such a name.

The words are matched as whole words: `DB_PASS` is one, `PASSAGE` and `compass` are not.
"""

from __future__ import annotations

import functools
import itertools
import re

# A word that ends like this, in any spelling: `PGPASSWORD`, `accessToken`, `my_secret`.
_ENDINGS = (
    *("token", "secret", "password", "passwd", "passphrase", "passcode", "apikey", "secretkey"),
    *("accesskey", "privatekey", "credential", "credentials", "secrets", "passwords"),
    *("sshpass", "userpass", "dbpass", "storepass", "keypass", "authkey", "passwort"),
)
# The same if the name ends with it: `DB_PASS`, but not `gcloud-auth-plugin`.
_LAST_WORDS = frozenset({"pass", "pwd", "psk", "pw", "auth"})
# `key` alone is a name of many things; after one of these it is a secret.
OF_KEYS = frozenset(
    """
    access account admin aes api app auth client consumer crypto deploy encrypt encryption fernet
    hmac jwt license master pgp private secret service session shared sign signing ssh storage
    subscription symmetric webhook
    """.split()  # noqa: SIM905  a paragraph reads better
)
# What a name with such a word is about when it ends with one of these: not the secret itself.
_ABOUT = frozenset(
    """
    age alg algorithm arn asm at attempts bucket budget c changed check class cls count cpp created
    dir directory enabled endpoint env exists expiration expired expires expiry field fields file
    files format h header helper hint host id ids in index input js json label len length limit
    location manager max md min mode model name namespace needed path pattern per policy port
    prefix prompt provider py rate ref regex region required reset rotation rules service set size
    stdin store strength suffix timeout ts ttl txt type updated uri url usage used user username
    valid validation validator var variable verified version yaml yml
    """.split()  # noqa: SIM905
)
_NEGATING = frozenset(
    {"no", "ask", "without", "skip", "disable", "prompt", "hide", "show", "forgot"}
)
# Ends like something that is no secret, but is one.
_IN_SPITE = (("secret", "id"), ("access", "key", "id"))
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether what stands under this name is a secret.

    >>> [is_secret_name(one) for one in ("DB_PASS", "PASSAGE", "secretAccessKey", "TOKEN_URL")]
    [True, False, True, False]
    """
    parts = tuple(part.lower() for part in _PARTS.findall(name[-120:]))
    if not parts or parts[0] in _NEGATING:
        return False
    if any(parts[-len(ends) :] == ends for ends in _IN_SPITE):
        return True
    if parts[-1] in _ABOUT or (parts[-1].isdigit() and parts[-2:-1] and parts[-2] in _ABOUT):
        return False
    last = [part for part in parts if not part.isdigit()][-1:]
    if any(part.endswith(_ENDINGS) for part in parts) or _LAST_WORDS.intersection(last):
        return True
    pairs = itertools.pairwise(parts)
    return any(one in OF_KEYS and two in {"key", "keys"} for one, two in pairs)


# Said of a secret, in place of one.
_SAID = frozenset(
    """
    a accepted an and any are argument authentication based be been but by cannot changed check
    correct denied do does email empty enter entered error exceeded exists expired failed false
    field file flag for found from generated given has have hidden if in incorrect info input
    invalid is isn it leaked length like manager matched may mismatch missing must needs new nil
    no none not null number of ok on one only optional option or parameter prompt provided refresh
    rejected required reset response revoked secret server set should something somewhere sent
    stored str string success that the this to too true undefined unknown unset updated usage use
    used valid value values via wants was were when which will with wrong yes you your
    """.split()  # noqa: SIM905
)
_NOTHING = frozenset({"none", "null", "nil", "undefined", "true", "false"})
_PLACEHOLDER = re.compile(
    r"""
    \$\{.*\}? | \$\(.*\)? | \$[A-Z_][A-Z0-9_]* | \$env:\w+ | \{\{.* | \{\w*\} | \{%.*
    | <[^<>]*>? | %\(\w+\)s | %\w+% | %[sdr@v] | @@?\w+@@?
    | (?:your|my|insert|enter|replace)[-_ ].* | .*[-_ ]here | change[-_]?me
    | [*\u2022.\-_#?xX]{3,} | \[?(?:REDACTED|hidden|masked|filtered).*
    | (?:os|process|self|this|config|settings|args|opts|options|params|request|ctx|env|ENV|secrets
        |vars|var|local|data|module|context|inputs|steps|github|lookup|getenv)[.(\[].*
    | [A-Za-z_][\w.]*\(.*
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(r"[0-9][0-9.,_:/%-]*[a-zA-Z%]{0,3}")
_LETTER_AND_SIGN = re.compile(r"(?=.*[A-Za-z])(?=.*[^A-Za-z\s]).+")
_CAPITALS = re.compile(r"[A-Z_-]+")


def is_no_secret(value: str, name: str = "", *, spoken: bool = True) -> bool:
    """Whether a value only stands for one: a variable, a placeholder, stars.

    *spoken* is whether it may also be a word about a secret: not after a plain `=`.
    """
    bare = value.strip().strip("\"'`").rstrip(",.;:)]}!").strip()
    if not any(map(str.isalnum, bare)) or _PLACEHOLDER.fullmatch(bare):
        return True
    if bare.lower() in (_SAID if spoken else _NOTHING):
        return True
    if bare.startswith("$") and is_secret_name(bare[1:]):
        return True
    if _CAPITALS.fullmatch(bare) and (is_secret_name(bare) or len(bare) == 1):
        return True  # `--password PASSWORD`, `--token T`
    # How many tokens, and when they expire.
    return "token" in name.lower() and bool(_NUMBER.fullmatch(bare))


def is_telling(value: str) -> bool:
    """Whether a value looks like a secret by itself: letters, and something that is no letter.

    Asked where a name alone promises little: `pass: 12`, `auth: enabled`, `secret:latest`.
    """
    return _LETTER_AND_SIGN.fullmatch(value) is not None and not value.startswith(("/", "~", "."))

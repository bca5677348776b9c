"""Secrets known by the words beside them: passwords and keys after their name, in headers and in URLs."""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator

from holdfast.safety.secret_patterns import Span
from holdfast.safety.secret_values import (
    Relation,
    is_code,
    is_mixed,
    is_placeholder,
    is_plain_password,
    is_quoted_password,
    is_random,
    is_words,
)

# A value beside "key", "token" or "secret" gets the kind of the service that is named just before it.
SERVICES = (
    ("aws", "aws-secret-key"),
    ("cloudflare", "cloudflare-token"),
    ("heroku", "heroku-key"),
    ("twilio", "twilio-key"),
    ("vercel", "vercel-token"),
    ("azure", "azure-key"),
    ("datadog", "datadog-key"),
    ("algolia", "algolia-key"),
    ("okta", "okta-token"),
    ("auth0", "auth0-secret"),
    ("fastly", "fastly-token"),
    ("cohere", "cohere-key"),
    ("mistral", "mistral-key"),
    ("deepgram", "deepgram-key"),
    ("wandb", "wandb-key"),
    ("pagerduty", "pagerduty-key"),
    ("snyk", "snyk-token"),
    ("codecov", "codecov-token"),
    ("zendesk", "zendesk-token"),
    ("netlify", "netlify-token"),
)
_URL_LOGIN = re.compile(r"://([^\s/?#@:\"'<>`]{0,128}+):([^\s/\"'<>`]{1,256})@[A-Za-z0-9\[]")
_SAMPLE_USERS = frozenset(("user", "username", "usr", "login", "name", "myuser", "foo", "someone", "u"))
_SAMPLE_PASSWORDS = frozenset(("password", "pass", "passwd", "pwd", "secret", "mypassword", "bar", "p", "pw"))


def url_passwords(text: str) -> Iterator[Span]:
    for login in _URL_LOGIN.finditer(text):
        password = login[2]
        is_sample = login[1].lower() in _SAMPLE_USERS and password.lower() in _SAMPLE_PASSWORDS
        if not is_sample and not is_placeholder(password):
            yield Span(*login.span(2), 2, "url-password")


_AUTHORIZATION = re.compile(
    r"authorization\\?[\"'`]?[ \t]{0,3}[:=][ \t]{0,3}\\?[\"'`]?(?:[a-z][a-z\-]{2,11}[ \t]{1,3})?"
    r"([^\s\"'`,;<>\\]{8,4096}+)"
)
_BEARER = re.compile(r"bearer(?<![a-z]bearer)[ \t]{1,3}([a-z0-9._~+/\-]{16,4096}+={0,2})")
_BASIC = re.compile(r"basic(?<![a-z]basic)[ \t]{1,3}([a-z0-9+/]{8,2048}+={0,2})")


def headers(text: str, lowered: str) -> Iterator[Span]:
    if "authorization" in lowered:
        for match in _AUTHORIZATION.finditer(lowered):
            value = text[match.start(1) : match.end(1)].rstrip(".")
            if not is_placeholder(value) and not is_code(value) and is_mixed(value):
                yield Span(match.start(1), match.start(1) + len(value), 3, "authorization")
    if "bearer" in lowered:
        for match in _BEARER.finditer(lowered):
            value = text[match.start(1) : match.end(1)].rstrip(".")
            if is_mixed(value) and not is_placeholder(value) and not is_words(value):
                yield Span(match.start(1), match.start(1) + len(value), 3, "authorization")
    if "basic" in lowered:
        for match in _BASIC.finditer(lowered):
            if _is_login(text[match.start(1) : match.end(1)]):
                yield Span(*match.span(1), 3, "authorization")


def _is_login(value: str) -> bool:
    try:
        return ":" in b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except ValueError:
        return False


_PASSWORD_WORDS = (
    "pass",
    "pwd",
    "pw",
    "kennwort",
    "contrase",
    "mot de passe",
    "パスワード",
    "密码",
    "密碼",
    "비밀번호",
)
_KEY_OWNERS = (
    *("api", "access", "private", "signing", "encryption", "master", "account", "auth", "service", "license"),
    *("subscription", "shared", "app", "application", "deploy", "webhook", "session", "storage"),
)
_KEY_TAIL = r"s?(?:[_\- ]?(?:access[_\- ]?)?key)?(?:[_\-]base)?"
# Each choice starts with a letter of its own: that is what lets the search skip to the next one quickly.
_KEY_CHOICES = (
    *(
        "password(?<!1password)s?",
        "passwd",
        "passphrase",
        "passcode",
        "passwort",
        "kennwort",
        "contrase[ñn]a",
    ),
    *("mot de passe", "パスワード", "密码", "密碼", "비밀번호", "pwd(?![a-z])"),
    *("pass(?![a-z])(?<![a-z]pass)", "pw(?![a-z0-9])(?<![a-z0-9]pw)"),
    *("pin(?![a-z])(?<![a-z]pin)(?: code| number)?", f"secret{_KEY_TAIL}", f"token{_KEY_TAIL}"),
    *(rf"{owner}[_\- ]?(?:access[_\- ]?)?key" for owner in _KEY_OWNERS),
    *("credentials?", "creds", "auth(?![a-z])(?<![a-z]auth)"),
)
_KEY_SUFFIX = r"(?:[_\-]?(?:value|string|production|prod|dev|test|live|staging|\d{1,4}))?"


def _by_first_letter(choices: Iterable[str]) -> str:
    """Returns an alternation grouped by first letter, which has fewer branches to try."""
    rests: dict[str, list[str]] = {}
    for choice in choices:
        rests.setdefault(choice[0], []).append(choice[1:])
    return "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in rests.items())


_KEY = re.compile(f"({_by_first_letter(_KEY_CHOICES)}){_KEY_SUFFIX}")
_ASSIGNS = re.compile(
    r"\\?[\"'`]?\]?\*{0,2}[ \t]{0,4}(?:=>|:=|={1,3}|[:：])\*{0,2}[ \t]{0,4}(\r?\n[ \t]{0,8})?"
)
_TAGGED = re.compile(r">[^<>\s]{3,128}+</")
_SETS = re.compile(
    r"\s(?:(?:has been|have been|was|is|got) )?(?:changed|set|reset|updated|rotated) to\s{1,2}"
)
_STATES = re.compile(
    r"(?:\s{1,2}(?:for|of|to|on|at|in|from|für|von|zum|vom)\s[^\n.:;=!?\"'`,]{1,40}?)?"
    r"(?:\s{1,2}(?:is|was|are|equals|ist|lautet|war|es|est)"
    r"(?:\s(?:now|still|just|currently|always|set to|changed to|jetzt))?\s{0,2}[:=]?\s{1,2}"
    r"|\s{0,2}(?:は|是|为|為)\s{0,2}|\s{0,2}[:=]\s{1,2})"
)
_SET_BEFORE = re.compile(r"(?:chang|set|updat|rotat|switch)\w{0,4}\b[^.\n]{0,24}$")
_FLAG_BEFORE = re.compile(r"--?[a-z0-9\-]{0,24}$")
_QUERY_BEFORE = re.compile(r"[?&][a-z0-9_.\-]{0,30}$")
_MARKER_BEFORE = re.compile(r"\[redacted:[a-z0-9\-]{0,36}$")
_BESIDE = re.compile(r"[ \t]{1,2}(?:\|[ \t]{1,2})?")
_VALUE = re.compile(
    r"\\\"(?P<escaped>[^\"\\\n]{1,4096}+)\\\"|\"(?P<double>(?:[^\"\\\n]|\\.){1,4096})\""
    r"|'(?P<single>(?:[^'\\\n]|\\.){1,4096})'|`(?P<tick>[^`\n]{1,4096}+)`|“(?P<curly>[^”\n]{1,128}+)”"
    r"|(?P<plain>[^\s\"'`<>;,\u3000-\uffff]++|[^\s\"'`<>;,、。」）]++)"
)
# A value without spaces can hold key words with values of their own. To keep time linear, such a chain may read
# _CHAIN_START characters, and then _CHAIN_RATE for each one it advances.
_CHAIN_START = 8192
_CHAIN_RATE = 4
# The start of a value is enough to classify it.
_JUDGED = 128


_AFTER_LAST = re.compile(r"\S{0,256}+\s{0,4}\S{0,256}+")
_CROWD = 100
_CROWDED = 20
"""With more key words than _CROWD, one per _CROWDED characters, all of the text counts as one secret."""
_SHORTEST = 2
"""Characters of the shortest key word."""


def keyed(text: str, lowered: str) -> Iterator[Span]:
    if len(text) > _SHORTEST * _CROWD and (crowd := _crowd(text, lowered)):
        yield crowd
        return
    chain = reach = characters_read = 0
    for key in _KEY.finditer(lowered):
        if key.start() >= reach:
            chain, characters_read = key.start(), 0
        is_exhausted = characters_read > _CHAIN_START + _CHAIN_RATE * (key.start() - chain)
        if is_exhausted or not (link := _link(key, lowered)):
            continue
        relation, at = link
        if not (match := _VALUE.match(text, at)):
            continue
        reach = max(reach, match.end())
        characters_read += len(match[0])
        start, end = _extent(match, key, text, lowered)
        if _is_secret(key[1], text[start : min(end, start + _JUDGED)], relation, match, text[end : end + 24]):
            yield Span(start, end, 4, _kind(key, lowered))


def _crowd(text: str, lowered: str) -> Span | None:
    """Returns one span from the first key word to the value of the last, if there are too many of them."""
    count = start = end = 0
    for last in _KEY.finditer(lowered):
        start = start if count else last.start()
        end, count = last.end(), count + 1
    if count <= _CROWD or count * _CROWDED <= len(text):
        return None
    after = _AFTER_LAST.match(text, end)
    return Span(start, after.end() if after else end, 4, "secret")


def _link(key: re.Match[str], lowered: str) -> tuple[Relation, int] | None:
    """Returns the relation of a value to its key word, and the start of the value."""
    at = key.end()
    if lowered.startswith("]", at) and _MARKER_BEFORE.search(lowered[max(0, key.start() - 48) : key.start()]):
        return None  # a mark of our own
    if link := _ASSIGNS.match(lowered, at):
        return ("beside" if link[1] else "assigned"), link.end()
    if _TAGGED.match(lowered, at):
        return "assigned", at + 1
    if link := _SETS.match(lowered, at):
        return "beside", link.end()
    if link := _STATES.match(lowered, at):
        return "stated", link.end()
    if not (link := _BESIDE.match(lowered, at)):
        return None
    before = lowered[max(0, key.start() - 32) : key.start()]
    if lowered.startswith(" to ", at) and _SET_BEFORE.search(before):
        return "beside", at + 4
    is_full_word = len(key[1]) > 4 and key[1].startswith(_PASSWORD_WORDS)
    if is_full_word or _FLAG_BEFORE.search(before):
        return "beside", link.end()
    return None


_SURELY_A_KEY = 32
"""From this length on, a value that begins like a key and is assigned to a key is one, even if it holds words."""
_CALL = re.compile(r"[A-Za-z_.]{0,64}+[(\[{]")
_CUT = re.compile(r"[\\)\]}](?:(?<=\\)[nrt]|(?<=[)\]}])(?=[.\s)\]},;]|$))")


def _extent(match: re.Match[str], key: re.Match[str], text: str, lowered: str) -> tuple[int, int]:
    """Returns the start and end of a value, without the punctuation that closes its sentence or bracket."""
    start, end = match.span(match.lastgroup or 0)
    if match["plain"]:
        value = match["plain"]
        if "&" in value and _QUERY_BEFORE.search(lowered[max(0, key.start() - 32) : key.start()]):
            value = value.split("&", 1)[0]
        if not _CALL.match(value):
            value = _CUT.split(value, maxsplit=1)[0]
        end = start + len(value.rstrip(".:?)]}*|"))
    marker = text.find("[redacted:", start, end)
    return start, end if marker < 0 else marker


def _kind(key: re.Match[str], lowered: str) -> str:
    if key[1].startswith(_PASSWORD_WORDS) or key[1].startswith("pin"):
        return "password"
    before = lowered[max(0, key.start() - 32) : key.end()]
    return next((kind for service, kind in SERVICES if service in before), "secret")


def _is_secret(word: str, value: str, relation: Relation, match: re.Match[str], after: str) -> bool:
    if len(value) < 3 or is_placeholder(value):
        return False
    is_plain = match.lastgroup == "plain"
    if word.startswith("pin"):
        return relation != "beside" and value.isdigit() and 4 <= len(value) <= (4 if "code" in word else 8)
    if word.startswith(_PASSWORD_WORDS):
        if word in ("passwords", "pass") and value.isalpha():
            return False
        if is_plain:
            is_tight = match.string[match.start() - 1] == "="
            return is_plain_password(value, relation, is_tight, after)
        return is_quoted_password(value, relation)
    if len(value) < (16 if relation == "stated" or word in ("auth", "tokens", "secrets") else 8):
        return False
    if relation == "assigned" and value.startswith("sk-") and len(value) >= _SURELY_A_KEY:
        return True
    return is_random(value) and not (is_plain and is_code(value))

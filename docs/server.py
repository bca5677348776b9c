"""The tables of the server: its routes, why it refuses a token, what it bounds, and what it says when it starts."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast import __version__
from holdfast.entrypoints import plain_json
from holdfast.entrypoints.http import authenticate, claims, client, messages, protocol, server, tokens
from holdfast.entrypoints.http.claims import Reason
from holdfast.entrypoints.http.routes import ROUTES
from holdfast.vocabularies import arguments

REASONS = {
    Reason.MISSING: "No `Authorization` header. Send `Authorization: Bearer TOKEN`.",
    Reason.SCHEME: "Another scheme than Bearer, or the header twice.",
    Reason.TOO_LONG: f"The token is longer than {tokens.MAX_TOKEN_BYTES:,} bytes. Give it fewer claims.",
    Reason.MALFORMED: "Not three base64url segments of JSON objects, a name twice, nested too deep, NaN. Often a "
    "token that was cut when it was copied.",
    Reason.HEADER: "The token's header offers a key of its own (`jku`, `x5u`, `jwk`, `x5c`) or an extension (`crit`, "
    "`b64`).",
    Reason.ALGORITHM: "`alg` is not taken here, or is not that of the key: `none`, HS384, RS256 without "
    "`HOLDFAST_JWKS_URL`.",
    Reason.UNKNOWN_KEY: "The issuer publishes no key of that `kid`; or the token names none and there are several.",
    Reason.SIGNATURE: "Signed with another key. A local token: made in another data directory, or before the secret "
    "changed.",
    Reason.EXPIRED: "`exp` has passed. Get a new one.",
    Reason.NOT_YET: "`nbf` or `iat` is in the future. Compare the clocks.",
    Reason.ISSUER: "`iss` is not `HOLDFAST_JWT_ISSUER`; in a foreign token: missing, or with a `|` in it.",
    Reason.AUDIENCE: "`aud` is not `HOLDFAST_JWT_AUDIENCE` and does not hold it.",
    Reason.SUBJECT: "`sub` is missing, blank, too long or not printable.",
    Reason.CLAIMS: "`exp` is missing, or a claim has the wrong type or a value that cannot be.",
}


def routes_table() -> Iterator[str]:
    yield "| | route | fields | answers | |"
    yield "|---|---|---|---|---|"
    by_id = {(route.method, route.path) for route in ROUTES}
    for route in ROUTES:
        fields = ", ".join(
            f"**`{field.name}`**" if field.missing is not None else f"`{field.name}`"
            for field in route.in_query
        )
        answers = f"`{route.call.answer.name}`"
        if route.purge is not None:
            answers += f", purged `{route.purge.answer.name}`"
        twin = (route.method, route.path.replace("entry", "entries/{id}", 1))
        same = route.path.startswith("entry") and twin in by_id
        sentence = "The same, by `key` and `space` or by `id`." if same else _cell(route.call.sentence)
        yield f"| {route.method} | `{_cell(route.path)}` | {fields} | {answers} | {sentence} |"


def reasons_table() -> Iterator[str]:
    yield "| reason | what it means |"
    yield "|---|---|"
    for reason in Reason:
        yield f"| `{reason}` | {_cell(REASONS[reason])} |"


def limits_table() -> Iterator[str]:
    """What is bounded by a constant; what is bounded by a setting stands in the table of settings."""
    yield "| what | bound | past it |"
    yield "|---|---|---|"
    yield f"| nesting of a body | {plain_json.DEPTH} levels | 400 `invalid_json` |"
    yield f"| values in a body | {plain_json.MOST_VALUES:,} | 413 `too_large` |"
    yield f"| items of one list or table, such as the rows of a batch | {arguments.MOST_ITEMS:,} | 413 `too_large` |"
    yield f"| a pause in the middle of a body | {messages.SECONDS:g} s | 400 `invalid_field` |"
    yield f"| until the head of a request is there | {protocol.HEAD_SECONDS:g} s | the connection is closed |"
    yield f"| the head of a request | {protocol.HEAD_BYTES:,} bytes | 413 `too_large` |"
    yield f"| a token | {tokens.MAX_TOKEN_BYTES:,} bytes | 401 `too_long` |"
    yield f"| clocks that differ, for `nbf` and `iat` | {claims.LEEWAY_SECONDS} s | 401 `not_yet` |"
    yield f"| a token that was verified is known for | {authenticate.KNOWN_FOR // 1_000_000} s | it is verified again |"
    yield f"| an answer is compressed from | {messages.GZIP_BYTES:,} bytes | |"
    yield f"| draining at the end | {server.DRAIN_SECONDS} s | what is still open is cut |"
    yield f"| `Client`: a request | {client.TIMEOUT:g} s | `Unavailable` after the last try |"
    yield f"| `Client`: tries after the first | {client.RETRIES} | the last error |"
    yield f"| `Client`: connections | {client.CONNECTIONS} | the next call waits |"


def welcome() -> Iterator[str]:
    yield "```text"
    yield "$ make run"
    yield server.WELCOME.format(
        version=__version__,
        url="http://127.0.0.1:7077",
        data="~/.local/share/holdfast/holdfast.db",
        you="user:local",
        connect=".venv/bin/holdfast connect claude-code   (or claude-desktop, cursor, vscode, gemini)",
        command=".venv/bin/holdfast",
    ).rstrip()
    yield "```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

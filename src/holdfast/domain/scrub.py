"""Secrets in text: found by the shape of a provider's token, or by the words beside them, and replaced span by span.

Pure, and linear on any input: each pattern is anchored where a token or a key word starts and takes a bounded number of
characters. When in doubt a value beside "password" goes, and a value beside "token" stays.
"""

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """The text without its secrets, and how many of each kind were in it, by kind."""

    text: str
    found: tuple[tuple[str, int], ...] = ()

    @property
    def count(self) -> int:
        return sum(number for _, number in self.found)


class _Span(NamedTuple):
    start: int
    end: int
    rank: int  # of two that overlap, the lower one gives the kind
    kind: str


class _Shape(NamedTuple):
    kind: str
    prefixes: str  # one or more, separated by spaces; the first two characters choose the rows to try
    body: str


_B62 = "[A-Za-z0-9]"
_B64U = r"[A-Za-z0-9_\-]"
_HEX = "[0-9a-f]"
_UUID = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_END = "(?![A-Za-z0-9])"

SHAPES = (
    _Shape("1password-secret-key", "A3-", r"[A-Z0-9]{6}-[A-Z0-9\-]{20,40}+"),
    _Shape("1password-service-token", "ops_eyJ", r"[A-Za-z0-9+/=_\-]{80,4096}+"),
    _Shape("adobe-secret", "p8e-", rf"{_B62}{{32}}{_END}"),
    _Shape("age-secret-key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,70}+"),
    _Shape("airtable-token", "pat", rf"{_B62}{{14}}\.{_HEX}{{64}}"),
    _Shape("alibaba-key-id", "LTAI", rf"{_B62}{{16,24}}+{_END}"),
    _Shape("anthropic-key", "sk-ant-", rf"{_B64U}{{24,200}}+"),
    _Shape("apify-token", "apify_api_", rf"{_B62}{{30,50}}+"),
    _Shape("artifactory-key", "AKCp", rf"{_B62}{{60,80}}+"),
    _Shape("atlassian-token", "ATATT3 ATCTT3 ATSTT3", r"[A-Za-z0-9_\-=]{60,250}+"),
    _Shape("aws-bedrock-key", "ABSK", r"[A-Za-z0-9+/]{100,200}+={0,2}"),
    _Shape("aws-key-id", "AKIA ASIA ABIA ACCA", rf"[A-Z0-9]{{16}}{_END}"),
    _Shape("bitbucket-password", "ATBB", rf"{_B62}{{32}}{_END}"),
    _Shape("brevo-key", "xkeysib- xsmtpsib-", rf"{_HEX}{{64}}-{_B62}{{16}}"),
    _Shape("buildkite-token", "bkua_ bkct_", rf"{_HEX}{{40}}"),
    _Shape("cerebras-key", "csk-", rf"{_B62}{{40,60}}+"),
    _Shape("circleci-token", "CCIPAT_ CCIPRJ_", rf"{_B62}{{16,40}}_{_HEX}{{40}}"),
    _Shape("clojars-token", "CLOJARS_", rf"{_B62}{{60}}"),
    _Shape("cloudflare-origin-key", "v1.0-", rf"{_HEX}{{24}}-{_HEX}{{100,200}}+"),
    _Shape("contentful-token", "CFPAT-", rf"{_B64U}{{43}}"),
    _Shape("crates-token", "cio", rf"{_B62}{{32}}{_END}"),
    _Shape("databricks-token", "dapi", rf"{_HEX}{{32}}(?:-\d)?{_END}"),
    _Shape("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"{_HEX}{{64}}"),
    _Shape(
        "discord-token",
        "MD MT Mj Mz ND NT Nj Nz OD OT Oj Oz",
        rf"{_B64U}{{21,26}}\.{_B64U}{{6}}\.{_B64U}{{27,45}}+",
    ),
    _Shape("docker-token", "dckr_pat_ dckr_oat_", rf"{_B64U}{{20,64}}+"),
    _Shape("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9_\-.]{40,64}+"),
    _Shape("dropbox-token", "sl. sl.u.", rf"{_B64U}{{100,2048}}+"),
    _Shape("duffel-token", "duffel_test_ duffel_live_", rf"{_B64U}{{43}}"),
    _Shape("dynatrace-token", "dt0c01. dt0s01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _Shape("easypost-key", "EZAK EZTK", rf"{_B62}{{54}}"),
    _Shape("elevenlabs-key", "sk_", rf"{_HEX}{{48}}{_END}"),
    _Shape("facebook-token", "EAA", rf"{_B62}{{80,400}}+"),
    _Shape("figma-token", "figd_ figo_ figu_ figor_ figur_ figoh_", rf"{_B64U}{{38,64}}+"),
    _Shape("firecrawl-key", "fc-", rf"{_HEX}{{32}}{_END}"),
    _Shape("fireworks-key", "fw_", rf"{_B62}{{22,32}}+{_END}"),
    _Shape("flutterwave-key", "FLWSECK_TEST- FLWSECK-", r"[A-Za-z0-9\-]{12,64}+"),
    _Shape("fly-token", "fo1_ fm1a_ fm1r_ fm2_", r"[A-Za-z0-9+/=_\-]{40,4096}+"),
    _Shape("frameio-token", "fio-u-", rf"{_B64U}{{64}}"),
    _Shape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_B62}{{36,251}}+"),
    _Shape("github-fine-grained-token", "github_pat_", r"[A-Za-z0-9_]{60,120}+"),
    _Shape(
        "gitlab-token",
        "glpat- gldt- glft- glsoat- glrt- glrtr- glcbt- glptt- glagent- gloas- glimt- glffct- glwt-",
        r"[A-Za-z0-9_\-.]{20,320}+",
    ),
    _Shape("gitlab-runner-token", "GR1348941", rf"{_B64U}{{20,40}}+"),
    _Shape("google-api-key", "AIza", rf"{_B64U}{{35}}{_END}"),
    _Shape("google-oauth-secret", "GOCSPX-", rf"{_B64U}{{28}}"),
    _Shape("google-access-token", "ya29. ya29.c. ya29.d.", rf"{_B64U}{{20,2048}}+"),
    _Shape("google-refresh-token", "1//0", rf"{_B64U}{{40,200}}+"),
    _Shape("grafana-token", "glsa_", rf"{_B62}{{32}}_[0-9A-Fa-f]{{8}}"),
    _Shape("grafana-cloud-token", "glc_", r"[A-Za-z0-9+/=]{32,400}+"),
    _Shape("groq-key", "gsk_", rf"{_B62}{{40,64}}+"),
    _Shape("harness-token", "pat. sat.", rf"{_B64U}{{22}}\.{_HEX}{{24}}\.{_B62}{{20}}"),
    _Shape("heroku-key", "HRKU-", rf"{_B64U}{{36,80}}+"),
    _Shape("huggingface-token", "hf_ api_org_", rf"{_B62}{{30,40}}+"),
    _Shape("infracost-key", "ico-", rf"{_B62}{{32}}{_END}"),
    _Shape("jina-key", "jina_", rf"{_B64U}{{40,80}}+"),
    _Shape("jwt", "eyJ", rf"{_B64U}{{8,4096}}+\.{_B64U}{{8,8192}}+(?:\.{_B64U}{{0,2048}}+){{1,3}}"),
    _Shape("langfuse-key", "sk-lf-", _UUID),
    _Shape("langsmith-key", "lsv2_pt_ lsv2_sk_", r"[0-9a-f_]{32,64}+"),
    _Shape("linear-key", "lin_api_ lin_oauth_ lin_wh_", rf"{_B62}{{32,80}}+"),
    _Shape("mailgun-key", "key-", rf"{_HEX}{{32}}{_END}"),
    _Shape("mapbox-secret-token", "sk.eyJ", rf"{_B64U}{{20,300}}+\.{_B64U}{{16,64}}+"),
    _Shape("neon-key", "napi_", rf"{_B62}{{50,80}}+"),
    _Shape("netlify-token", "nfp_ nfc_ nfo_ nfu_", rf"{_B62}{{36,44}}+"),
    _Shape("new-relic-key", "NRAK- NRAL- NRII- NRIQ-", rf"{_B64U}{{27,40}}+"),
    _Shape("new-relic-key", "NRJS-", rf"{_HEX}{{19}}"),
    _Shape("notion-token", "ntn_ secret_", rf"{_B62}{{40,60}}+"),
    _Shape("npm-token", "npm_", rf"{_B62}{{36}}{_END}"),
    _Shape("nuget-key", "oy2", rf"[a-z0-9]{{43}}{_END}"),
    _Shape("nvidia-key", "nvapi-", rf"{_B64U}{{48,100}}+"),
    _Shape("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"{_B64U}{{20,250}}+"),
    _Shape("openai-key", "sk-", rf"{_B62}{{20,250}}+{_END}"),
    _Shape("openrouter-key", "sk-or-v1-", rf"{_HEX}{{64}}"),
    _Shape("open-vsx-token", "ovsxat_ ovsxp_", rf"{_B64U}{{32,64}}+"),
    _Shape("perplexity-key", "pplx-", rf"{_B62}{{40,64}}+"),
    _Shape("pinecone-key", "pcsk_", rf"{_B62}{{4,10}}_{_B62}{{50,80}}+"),
    _Shape("plaid-token", "access-sandbox- access-development- access-production-", _UUID),
    _Shape("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[A-Za-z0-9_\-.]{32,64}+"),
    _Shape("posthog-key", "phx_ phs_", rf"{_B62}{{40,64}}+"),
    _Shape("postman-key", "PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    _Shape("prefect-key", "pnu_ pnb_", rf"{_B62}{{36}}"),
    _Shape("pulumi-token", "pul-", rf"{_HEX}{{40}}"),
    _Shape("pypi-token", "pypi-Ag", rf"{_B64U}{{50,1000}}+"),
    _Shape("razorpay-key", "rzp_live_ rzp_test_", rf"{_B62}{{14,24}}+"),
    _Shape("readme-key", "rdme_", r"[a-z0-9]{60,80}+"),
    _Shape("render-key", "rnd_", rf"{_B62}{{24,40}}+"),
    _Shape("replicate-token", "r8_", rf"{_B62}{{37}}"),
    _Shape("resend-key", "re_", rf"{_B62}{{8}}_{_B62}{{20,30}}+"),
    _Shape("rubygems-key", "rubygems_", rf"{_HEX}{{48}}"),
    _Shape("sendgrid-key", "SG.", rf"{_B64U}{{16,32}}+\.{_B64U}{{32,64}}+"),
    _Shape("sentry-token", "sntrys_", r"[A-Za-z0-9+/=_\-]{60,400}+"),
    _Shape("sentry-user-token", "sntryu_", rf"{_HEX}{{64}}"),
    _Shape("shippo-token", "shippo_live_ shippo_test_", rf"{_HEX}{{40}}"),
    _Shape("shopify-token", "shpat_ shpca_ shppa_ shpss_ shpua_", "[0-9A-Fa-f]{32,64}+"),
    _Shape(
        "slack-token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxo- xoxc- xoxd-", r"[A-Za-z0-9%\-]{10,250}+"
    ),
    _Shape("slack-token", "xoxe.xoxb- xoxe.xoxp-", r"[A-Za-z0-9\-]{10,250}+"),
    _Shape("slack-app-token", "xapp-", r"\d-[A-Za-z0-9\-]{20,200}+"),
    _Shape("sonarqube-token", "squ_ sqp_ sqa_", rf"{_HEX}{{40}}"),
    _Shape("sourcegraph-token", "sgp_", r"[0-9a-f_]{40,80}+"),
    _Shape("square-token", "sq0atp- sq0csp- sq0idp-", rf"{_B64U}{{22,64}}+"),
    _Shape("square-access-token", "EAAA", rf"{_B64U}{{60}}{_END}"),
    _Shape("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ sk_org_live_", rf"{_B62}{{10,250}}+"),
    _Shape("stripe-webhook-secret", "whsec_", r"[A-Za-z0-9+/]{24,100}+={0,2}"),
    _Shape("supabase-token", "sbp_", rf"{_HEX}{{40}}"),
    _Shape("supabase-secret-key", "sb_secret_", rf"{_B64U}{{24,64}}+"),
    _Shape("tailscale-key", "tskey-", r"[a-z]{3,10}-[A-Za-z0-9\-]{16,80}+"),
    _Shape("tavily-key", "tvly-", rf"{_B64U}{{24,64}}+"),
    _Shape("together-key", "tgp_v1_", rf"{_B64U}{{40,64}}+"),
    _Shape("trello-token", "ATTA", rf"{_HEX}{{64,80}}+"),
    _Shape("twilio-key", "SK AC", rf"{_HEX}{{32}}{_END}"),
    _Shape("typeform-token", "tfp_", r"[A-Za-z0-9_\-.]{40,80}+"),
    _Shape("vault-token", "hvs. hvb. hvr.", rf"{_B64U}{{24,300}}+"),
    _Shape("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", rf"{_B62}{{24,80}}+"),
    _Shape("vercel-blob-token", "vercel_blob_rw_", r"[A-Za-z0-9_]{30,80}+"),
    _Shape("voyage-key", "pa-", rf"{_B64U}{{43}}{_END}"),
    _Shape("xai-key", "xai-", rf"{_B62}{{60,100}}+"),
)

# Told by what stands inside or before them; the group is the secret, else all of it. Where the mark is enough, nothing
# is asked of the character before: of tokens glued together each would wait for the one before it to go.
MARKED = (
    (
        "azure-ad-secret",
        "Q~",
        r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.\-]{31,34}+",
    ),
    ("azure-storage-key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{40,100}+={0,2})"),
    ("azure-shared-access-key", "SharedAccessKey=", r"SharedAccessKey=([A-Za-z0-9+/]{40,100}+={0,2})"),
    ("azure-sas-signature", "sig=", r"(?<=[?&;])sig=([A-Za-z0-9%+/]{40,120}+={0,2})"),
    ("discord-webhook", "/api/webhooks/", rf"/api/webhooks/\d{{16,20}}/({_B64U}{{50,80}}+)"),
    ("mailchimp-key", "-us", rf"{_EDGE}{_HEX}{{32}}-us\d{{1,2}}{_END}"),
    ("new-relic-license-key", "NRAL", rf"{_EDGE}{_HEX}{{36}}NRAL{_END}"),
    (
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/[a-z]{6,12}/([A-Z0-9/]{10,40}/[A-Za-z0-9]{16,40}+)",
    ),
    ("teams-webhook", ".webhook.office.com/", r"\.webhook\.office\.com/webhookb2/([\w@\-/]{60,250}+)"),
    ("telegram-bot-token", ":AA", rf"\d{{8,10}}:AA{_B64U}{{32,34}}+"),
    ("terraform-token", ".atlasv1.", rf"{_B62}{{14}}\.atlasv1\.{_B64U}{{60,70}}+"),
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


def scrub(text: str, *, cards: bool = False) -> Scrubbed:
    """Replaces each secret by `[redacted:<kind>]` and nothing else. Scrubbing the result again changes nothing."""
    found: dict[str, int] = {}
    for _ in range(_PASSES):
        spans = _spans(text, cards)
        if not spans:
            break
        parts: list[str] = []
        at = 0
        for span in _merged(spans):
            parts += (text[at : span.start], f"[redacted:{span.kind}]")
            at = span.end
            found[span.kind] = found.get(span.kind, 0) + 1
        text = "".join((*parts, text[at:]))
    return Scrubbed(text, tuple(sorted(found.items())))


# A replaced neighbour can free the edge of a second secret, hence another look. Of 60,000 random mixtures of secrets
# one in two hundred needed two, none three; the same ones repeated without a space between them can need a few more.
_PASSES = 8

_LONG_RUN = re.compile(r"[!-~]{16,}+")
_STEMS = (
    *("pass", "secret", "token", "key", "pw", "cred", "auth", "bearer", "basic"),
    *("pin", "kennwort", "contrase"),
)
_FAR_STEMS = ("パスワード", "密码", "密碼", "비밀번호")


def _spans(text: str, cards: bool) -> list[_Span]:
    spans: list[_Span] = []
    if _LONG_RUN.search(text):
        spans += _tokens(text)
        spans += _marked(text)
        if "-----BEGIN" in text:
            spans += _private_keys(text)
    if "://" in text:
        spans += _url_passwords(text)
    lowered = _lowered(text)
    for stem in _STEMS if lowered.isascii() else _STEMS + _FAR_STEMS:
        if stem in lowered:
            spans += _headers(text, lowered)
            spans += _keyed(text, lowered)
            break
    if cards:
        spans += _cards(text)
    return spans


def _merged(spans: list[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            best = min(last, span, key=lambda one: one.rank)
            merged[-1] = _Span(last.start, max(last.end, span.end), best.rank, best.kind)
        else:
            merged.append(span)
    return merged


def _lowered(text: str) -> str:
    """Lower case with every character at its place: İ alone would become two."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(character.lower() if character.isascii() else character for character in text)


def _by_head() -> Mapping[str, tuple[tuple[str, _Shape], ...]]:
    """The rows to try for the first two characters of a token."""
    rows: dict[str, tuple[tuple[str, _Shape], ...]] = {}
    for row in SHAPES:
        for prefix in row.prefixes.split():
            rows[prefix[:2]] = (*rows.get(prefix[:2], ()), (prefix, row))
    return MappingProxyType(rows)


_ROWS = _by_head()
# Where a token can start: not inside a word, but after an escaped line end or a percent escape.
_START = re.compile(r"[A-Za-z0-9](?:(?<![A-Za-z0-9_\-].)|(?<=\\[nrt].)|(?<=%[0-9A-Fa-f]{2}.))(?=[!-~]{15})")
_REST = re.compile(r"[A-Za-z0-9_\-]*+")
_YOURS = re.compile(r"your[_\-]?(?:api|key|token|secret|own|[a-z]{2,10}[_\-])")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled at first use: all at once would cost every start of the program some milliseconds."""
    return re.compile(pattern)


def _tokens(text: str) -> Iterator[_Span]:
    done = 0
    for run in _LONG_RUN.finditer(text):
        for start in _START.finditer(text, *run.span()):
            at = start.start()
            if at >= done and (token := _token_at(text, at)):
                done = token.end
                yield token


def _token_at(text: str, at: int) -> _Span | None:
    for prefix, row in _ROWS.get(text[at : at + 2], ()):
        if not text.startswith(prefix, at):
            continue
        body = _compiled(row.body).match(text, at + len(prefix))
        if body and not _is_made_up(body[0]):
            # A token longer than known goes to its end, rather than leave a part of it.
            rest = _REST.match(text, body.end())
            end = max(at + len(prefix) + len(body[0].rstrip(".")), rest.end() if rest and rest[0] else 0)
            return _Span(at, end, 1, row.kind)
    return None


def _marked(text: str) -> Iterator[_Span]:
    for kind, mark, pattern in MARKED:
        if mark in text:
            for match in _compiled(pattern).finditer(text):
                if not _is_made_up(match[match.re.groups]):
                    yield _Span(*match.span(match.re.groups), 1, kind)


def _is_made_up(body: str) -> bool:
    """An example in a manual, not a token: xxxx…, your-key-here, words without a digit."""
    if len(body) > 256:
        return False
    lowered = body.lower()
    if len(set(body)) < 6 or "example" in lowered or "xxxxx" in lowered or _YOURS.search(lowered):
        return True
    return body == lowered and not _DIGIT.search(body)


_KEY_GAP = r"(?:\\[nrt]|[\s\"'+,>|]){%s}+"
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_HEADER = re.compile(_KEY_GAP % "1,16" + r"[A-Za-z\-]{4,24}+: [^\n\\]{1,120}+")
_KEY_LINE = re.compile(_KEY_GAP % "0,64" + r"([A-Za-z0-9+/=]{1,4096}+)")
_KEY_LAST_LINE = re.compile(r"\s{0,8}(?:-----END|$|\n)|\\n")
_KEY_END = re.compile(_KEY_GAP % "0,64" + r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


def _private_keys(text: str) -> Iterator[_Span]:
    """From BEGIN over the lines of the key to its END, if there is one. The words alone, without a key, stay."""
    done = 0
    for begin in _KEY_BEGIN.finditer(text):
        if begin.start() < done:
            continue
        body = begin.end()
        for _ in range(8):
            if not (header := _KEY_HEADER.match(text, body)):
                break
            body = header.end()
        at = body
        while line := _KEY_LINE.match(text, at):
            is_last = at > body and _KEY_LAST_LINE.match(text, line.end())
            if len(line[1]) < 16 and not is_last:
                break
            at = line.end()
        if at > body:
            end = _KEY_END.match(text, at)
            done = end.end() if end else at
            yield _Span(begin.start(), done, 0, "private-key")


_URL_LOGIN = re.compile(r"://([^\s/?#@:\"'<>`]{0,128}+):([^\s/\"'<>`]{1,256})@[A-Za-z0-9\[]")
_SAMPLE_USERS = frozenset(("user", "username", "usr", "login", "name", "myuser", "foo", "someone", "u"))
_SAMPLE_PASSWORDS = frozenset(("password", "pass", "passwd", "pwd", "secret", "mypassword", "bar", "p", "pw"))


def _url_passwords(text: str) -> Iterator[_Span]:
    for login in _URL_LOGIN.finditer(text):
        password = login[2]
        is_sample = login[1].lower() in _SAMPLE_USERS and password.lower() in _SAMPLE_PASSWORDS
        if not is_sample and not _is_placeholder(password):
            yield _Span(*login.span(2), 2, "url-password")


_AUTHORIZATION = re.compile(
    r"authorization\\?[\"'`]?[ \t]{0,3}[:=][ \t]{0,3}\\?[\"'`]?(?:[a-z][a-z\-]{2,11}[ \t]{1,3})?"
    r"([^\s\"'`,;<>\\]{8,4096}+)"
)
_BEARER = re.compile(r"bearer(?<![a-z]bearer)[ \t]{1,3}([a-z0-9._~+/\-]{16,4096}+={0,2})")
_BASIC = re.compile(r"basic(?<![a-z]basic)[ \t]{1,3}([a-z0-9+/]{8,2048}+={0,2})")


def _headers(text: str, lowered: str) -> Iterator[_Span]:
    if "authorization" in lowered:
        for match in _AUTHORIZATION.finditer(lowered):
            value = text[match.start(1) : match.end(1)].rstrip(".")
            if not _is_placeholder(value) and not _is_code(value) and _is_mixed(value):
                yield _Span(match.start(1), match.start(1) + len(value), 3, "authorization")
    if "bearer" in lowered:
        for match in _BEARER.finditer(lowered):
            value = text[match.start(1) : match.end(1)].rstrip(".")
            if _is_mixed(value) and not _is_placeholder(value) and not _is_words(value):
                yield _Span(match.start(1), match.start(1) + len(value), 3, "authorization")
    if "basic" in lowered:
        for match in _BASIC.finditer(lowered):
            if _is_login(text[match.start(1) : match.end(1)]):
                yield _Span(*match.span(1), 3, "authorization")


def _is_login(value: str) -> bool:
    try:
        return ":" in b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except ValueError:
        return False


_How = Literal["assigned", "said", "beside"]

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
_KEY = re.compile(f"({'|'.join(_KEY_CHOICES)}){_KEY_SUFFIX}")
_ASSIGNS = re.compile(
    r"\\?[\"'`]?\]?\*{0,2}[ \t]{0,4}(?:=>|:=|={1,3}|[:：])\*{0,2}[ \t]{0,4}(\r?\n[ \t]{0,8})?"
)
_TAGGED = re.compile(r">[^<>\s]{3,128}+</")
_SETS = re.compile(
    r"\s(?:(?:has been|have been|was|is|got) )?(?:changed|set|reset|updated|rotated) to\s{1,2}"
)
_SAYS = re.compile(
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
    r"\\\"(?P<escaped>[^\"\\\n]{1,4096}+)\\\"|\"(?P<double>(?:[^\"\\\n]|\\.){1,4096}+)\""
    r"|'(?P<single>(?:[^'\\\n]|\\.){1,4096}+)'|`(?P<tick>[^`\n]{1,4096}+)`|“(?P<curly>[^”\n]{1,128}+)”"
    r"|(?P<plain>[^\s\"'`<>;,\u3000-\uffff]++|[^\s\"'`<>;,、。」）]++)"
)
# A value without spaces can hold key words with values of their own. So that time stays linear, such a chain may look
# at this much to begin with, and then at so many characters for each one it advances.
_CHAIN_START = 8192
_CHAIN_RATE = 4
# The start of a value is enough to tell what it is.
_JUDGED = 128


def _keyed(text: str, lowered: str) -> Iterator[_Span]:
    chain = reach = looked_at = 0
    for key in _KEY.finditer(lowered):
        if key.start() >= reach:
            chain, looked_at = key.start(), 0
        is_exhausted = looked_at > _CHAIN_START + _CHAIN_RATE * (key.start() - chain)
        if is_exhausted or not (link := _link(key, lowered)):
            continue
        how, at = link
        if not (match := _VALUE.match(text, at)):
            continue
        reach = max(reach, match.end())
        looked_at += len(match[0])
        start, end = _extent(match, key, text, lowered)
        if _is_secret(key[1], text[start : min(end, start + _JUDGED)], how, match, text[end : end + 24]):
            yield _Span(start, end, 4, _kind(key, lowered))


def _link(key: re.Match[str], lowered: str) -> tuple[_How, int] | None:
    """How a value is tied to its key word, and where it starts."""
    at = key.end()
    if lowered.startswith("]", at) and _MARKER_BEFORE.search(lowered[max(0, key.start() - 48) : key.start()]):
        return None  # the kind in a mark of our own
    if link := _ASSIGNS.match(lowered, at):
        return ("beside" if link[1] else "assigned"), link.end()
    if _TAGGED.match(lowered, at):
        return "assigned", at + 1
    if link := _SETS.match(lowered, at):
        return "beside", link.end()
    if link := _SAYS.match(lowered, at):
        return "said", link.end()
    if not (link := _BESIDE.match(lowered, at)):
        return None
    before = lowered[max(0, key.start() - 32) : key.start()]
    if lowered.startswith(" to ", at) and _SET_BEFORE.search(before):
        return "beside", at + 4
    is_full_word = len(key[1]) > 4 and key[1].startswith(_PASSWORD_WORDS)
    if is_full_word or _FLAG_BEFORE.search(before):
        return "beside", link.end()
    return None


_CALL = re.compile(r"[A-Za-z_.]{0,64}+[(\[{]")
_CUT = re.compile(r"[\\)\]}](?:(?<=\\)[nrt]|(?<=[)\]}])(?=[.\s)\]},;]|$))")


def _extent(match: re.Match[str], key: re.Match[str], text: str, lowered: str) -> tuple[int, int]:
    """From where to where a value goes, without what closes the sentence or the bracket around it."""
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


def _is_secret(word: str, value: str, how: _How, match: re.Match[str], after: str) -> bool:
    if len(value) < 3 or _is_placeholder(value):
        return False
    is_plain = match.lastgroup == "plain"
    if word.startswith("pin"):
        return how != "beside" and value.isdigit() and 4 <= len(value) <= (4 if "code" in word else 8)
    if word.startswith(_PASSWORD_WORDS):
        if word in ("passwords", "pass") and value.isalpha():
            return False
        if is_plain:
            is_tight = match.string[match.start() - 1] == "="
            return _is_plain_password(value, how, is_tight, after)
        return _is_quoted_password(value, how)
    if len(value) < (16 if how == "said" or word in ("auth", "tokens", "secrets") else 8):
        return False
    return _is_random(value) and not (is_plain and _is_code(value))


def _is_quoted_password(value: str, how: _How) -> bool:
    if _SPACE.search(value):
        return _is_phrase(value)
    if _names_a_secret(value):
        return False
    return how != "beside" or _is_striking(value)


def _is_plain_password(value: str, how: _How, is_tight: bool, after: str) -> bool:
    if _names_a_secret(value) or _is_code(value) or _is_reference(value):
        return False
    if how == "beside":
        return _is_striking(value)
    if value.isalpha():
        return _is_lone_word(value, how, is_tight, after)
    if value.isdigit():
        return len(value) >= 4 and not _UNIT_AFTER.match(after)
    if _LETTER_PARTS.fullmatch(value):
        return value.replace("-", "").isalpha() and (is_tight or value.count("-") > 1)
    if _MEASURE.fullmatch(value) or _ALGORITHM.fullmatch(value) or not _ALNUM.search(value):
        return False
    return len(value) >= 4 or bool(_DIGIT.search(value))


def _is_lone_word(value: str, how: _How, is_tight: bool, after: str) -> bool:
    """One word without a sign or digit: "is sunflower." is a password, "is stored in …" and "is too short" are not."""
    if not (value.islower() or value.istitle() or value.isupper()):
        return True
    if how == "said" and value.lower().endswith(("ed", "ing", "able", "ible", "ive", "ly", "en")):
        return False
    return is_tight or bool(_CLAUSE_END.match(after))


def _is_striking(value: str) -> bool:
    """What can be a password without a sign or a verb before it: `password hunter2`."""
    if len(value) < 6 or not _is_mixed(value) or _is_code(value) or _ALGORITHM.fullmatch(value):
        return False
    return not _SETTING.match(value) and (value.isalnum() or not _is_words(value))


def _is_random(value: str) -> bool:
    """What a key, token or secret looks like: long, and neither words nor a name, path, date or version."""
    if _SPACE.search(value) or _is_reference(value) or _is_words(value) or not _is_mixed(value):
        return False
    if _IDENTIFIER.fullmatch(value) and _NAMES_SECRET.search(value.lower()):
        return False
    return not _MEASURE.fullmatch(value) and not _ALGORITHM.fullmatch(value)


def _is_mixed(value: str) -> bool:
    """Letters with digits or signs, or upper and lower case as no word has them."""
    if not _LETTER.search(value):
        return False
    return bool(_DIGIT.search(value) or _SIGN.search(value)) or len(_HUMP.findall(value)) > 3


def _names_a_secret(value: str) -> bool:
    """A variable or a word about passwords, not one: user_password, required, my-secret."""
    lowered = value.lower()
    return lowered in _NOT_SECRET or bool(not _DIGIT.search(value) and _NAMES_SECRET.search(lowered))


def _is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.match(value)) or value.lower().endswith(("-here", "_here"))


def _is_code(value: str) -> bool:
    return bool(_CODE.match(value))


def _is_reference(value: str) -> bool:
    return bool(_REFERENCE.match(value))


def _is_words(value: str) -> bool:
    """gpt-4o-mini, project-phoenix-2025, oauth2.example.com: words and short numbers, one real word among them."""
    return bool(_WORD_PARTS.fullmatch(value) and _REAL_WORD.search(value))


def _is_phrase(value: str) -> bool:
    """Several words in quotes are a pass phrase unless they read like a sentence about one."""
    words = value.lower().replace(",", " ").replace(".", " ").split()
    return len(words) <= 8 and not any(word in _SENTENCE or _NAMES_SECRET.search(word) for word in words)


_SPACE = re.compile(r"\s")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_ALNUM = re.compile(r"[^\W_]")
_SIGN = re.compile(r"[^\w\-.'/:]")
_HUMP = re.compile("[a-z][A-Z]")
_REAL_WORD = re.compile(r"(?<![A-Za-z])[A-Z]?[a-z]{4,32}(?![A-Za-z])")
_NAMES_SECRET = re.compile("pass|pwd|secret|token|key|cred|kennwort")
_IDENTIFIER = re.compile(r"[A-Za-z_.\-]{1,120}\d{0,3}")
_SETTING = re.compile(r"[a-z_]{2,24}=[\w.\-]{0,128}$")
_LETTER_PARTS = re.compile(r"[A-Za-z]{1,64}+(?:[_.\-/][A-Za-z]{1,64}+){1,16}+")
_WORD_PARTS = re.compile(
    r"(?:[A-Za-z]{1,32}+\d{0,4}+|\d{1,4}+[a-z]{0,2}+)"
    r"(?:[_.\-/+:@](?:[A-Za-z]{1,32}+\d{0,4}+|\d{1,4}+[a-z]{0,2}+)){0,24}+"
)
_MEASURE = re.compile(
    r"[<>~≥]?\d{1,3}(?:\+|%|[a-z]{1,2}|-[A-Za-z]{2,16}|-\d{1,3})|\d{4}-\d\d(?:-\d\d\S{0,24})?"
    r"|v?\d{1,4}(?:\.\d{1,4}){1,3}\S{0,16}"
)
_ALGORITHM = re.compile(
    r"(?:sha|md|aes|bcrypt|scrypt|argon|pbkdf|hmac|rsa|oauth|utf|base|ed|hs|rs|es|ps|tls|v|ntlm|kerberos)[_\-]?\d{1,5}"
    r"(?:\.\d{1,3}|[_\-][A-Za-z0-9]{1,8}|id|[a-z])?|[2-4]fa",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[A-Za-z_][A-Za-z_.]{0,64}+(?:[(\[{]|->|::)|\w{0,16}(?:64|256|512|md5|sha1|2)\w{0,16}\("
    r"|[({\[]{1,2}[A-Za-z_][\w.]{0,60}+[}(\[]|[A-Za-z_]\w{0,40}+(?:\.\w{1,40}+){1,6}+\(|[&*]{1,2}[A-Za-z_]{2,40}$"
    r"|(?:os|self|this|config|cfg|conf|settings|process|env|environ|request|req|args|options|opts|params|ctx|context"
    r"|user|data|props|state|form|body|app|var|vars|local|module|secrets|github|inputs|values|credentials|creds|db"
    r"|session|payload|row|obj|event|input|sys|cls|client|account|response|res|result|model|item)\??\.[A-Za-z_]"
)
_REFERENCE = re.compile(
    r"https?://|arn:|op://|vault:|ref\+|env:|ssm:|file:|keyring:|gs://|s3://|@Microsoft|[A-Za-z]:\\"
    r"|!(?:secret|vault|ref|env|sub|include)|(?:~|\.{1,2})?/(?:[\w.\-]{0,40}/){0,8}[a-z.\-]{2,40}(?:/|$)"
    r"|[A-Z][A-Z0-9]{0,24}+(?:_[A-Z0-9]{1,24}+){1,8}+$"
)
_PLACEHOLDER = re.compile(
    r"[<{\[(]{1,3}[\w .:|\-]{0,60}[>}\])]{0,3}$|\$(?:[{(]|[a-z_]{2,40}$|(?-i:[A-Z][A-Z0-9_]{1,40})$)|#\{|__\w{1,40}__$"
    r"|%[a-z_(]\w{0,40}[%)]|%[sdr]$|my[_\- ][a-z_\- ]{2,40}$|[_\-]?your|change[_\-]?(?:me|it)|example|placeholder"
    r"|insert[_\-]|replace[_\-]|enter[_\-]|dummy|sample|redacted|hidden|masked|censored|removed|foo?bar"
    r"|[x*.•●…#?_\-=~]{2,128}$|(?:todo|tbd|n/a|none|null|nil|undefined|true|false|unset|empty)\W?$|\[redacted:",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"\s{0,4}(?:$|[\n.,;:!?)\]}|\"'`*<>、。」）–—]|- "
    r"|(?:and|but|for|on|in|at|to|from|with|which|so|because|or|when|if|und|aber)\b)"
)
_UNIT_AFTER = re.compile(
    r"\s{0,2}(?:-|to\b)?\s{0,2}\d{0,4}\s?(?:\+|or more|min|max|char|digit|letter|symbol|word|day|hour|minute"
    r"|second|week|month|year|time|attempt|tries|user|account|percent|%|of\b|tokens?\b|zeichen|tage)"
)

_CARD = re.compile(
    r"(?<![\d\-.])(?<!\d )(?:\d{13,19}|\d{4}([ \-])\d{4}\1\d{4}\1\d{4}|\d{4}[ \-]\d{6}[ \-]\d{5})(?![\d\-])"
)
_CARD_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:6011|65|35)\d{12,14}"
)


def _cards(text: str) -> Iterator[_Span]:
    for match in _CARD.finditer(text):
        digits = match[0].replace(" ", "").replace("-", "")
        if _CARD_ISSUERS.fullmatch(digits) and _has_check_digit(digits):
            yield _Span(*match.span(), 1, "card-number")


def _has_check_digit(digits: str) -> bool:
    """The Luhn sum: from the right, every second digit counts double, and its digits are added."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * (2 if place % 2 else 1)
        total += number - 9 if number > 9 else number
    return total % 10 == 0


# What people write after "password:" or "password is" when it is not one.
_NOT_SECRET_WORDS = """
1password a about accepted account active advisable again all also always an and any app are as at auth
authentication auto bad banned based basic because been before being best between bitwarden blank blocked bool
boolean box broken bstr but by bytes cached can cannot case changed changes char characters check clear cleared
column common compared complex compromised confirm confirmation copied correct correcta could created critical
crucial current das dead decrypted default deleted der dialog did die different digest disabled do does due
duplicate each easily easy ein eine either email empty enabled encrypted enforced entered entry error essential even
every exact example exists expired expires expiry exposed fail failed failing fails falsch false fetched field
fields file fine first fixed for forgot forgotten form format four from gelten generated generator get getpass given
global gone good green group guess guessable had handled handling handy hard has hash hashed hashing have he here
hidden hint history hundred i if ignored immer important impossible in inactive incorrect incorrecta input insecure
inside instead int invalid is ist it item its just keepass kept key keychain known label last lastpass later leaked
left length less letter like line link list literal load local locked login long longer looks lost maintained
managed manager mandatory manually masked matched matches max maximum may me memory min minimum mismatch missing
more most moved must my name necesaria necessary needed needs never new nicht nie no noch none normal not note
nothing now null object obligatoire obligatoria obsolete of off ok okay old on once one only optional or other our
out outdated over page param parameter pflicht phrase plain plaintext please policy popup possible private prompt
prompted properly protected protection provided public query quite random rather read ready really recommended
recovery red rejected remembered removed requerida required requirement requirements requires resent reset resets
restricted retrieved revoked richtig right rotate rotated rotation rules safe saved say secret secretstr secure
security see segura self send sensitive sent separate set settings shall shared she short shorter should show shown
sicher similar simple since six so some soon static still stored str strength string strong stronger submit such
supplied support supposed sure switched system taken temporary text than that the their them then there these they
this those three to today token tomorrow too true twice two type typed unavailable unchanged undefined under unique
unknown unlocked unset unsicher until unused up update updated upper use used useless user user-supplied username
using valid validated validation value var varchar vault verification verified verify very via view visible vital
void waiting was we weak well were what when where which while who why will with within without word working works
would wrong yes yesterday yet you your zero
"""
_NOT_SECRET = frozenset(_NOT_SECRET_WORDS.split())
_SENTENCE_WORDS = """
a an and are as at be been before by can cannot characters contain contains could does don't enter field for forgot
from has have here if in incorrect invalid is it least long match matches minimum must my need needs new no not of
on or our please required reset should that the their this to too use used was when will with you your
"""
_SENTENCE = frozenset(_SENTENCE_WORDS.split())

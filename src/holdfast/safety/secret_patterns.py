"""Secrets known by their own shape: provider tokens, private keys, card numbers."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from holdfast.safety.secret_values import DIGIT


class Span(NamedTuple):
    start: int
    end: int
    rank: int  # of overlapping spans, the lower rank gives the kind
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

# Tokens with a mark inside or before them; the group is the secret, else all of the match. Where the mark is enough,
# any character may come before it, so that adjoining tokens are found in one scan.
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

LONG = 16
"""The length of the shortest token."""
LONG_MARKED = 36
"""The length of the shortest marked token."""
_LONG_RUN = re.compile(r"[!-~]{16,}+")


_Rows = tuple[tuple[int, Mapping[str, tuple[_Shape, ...]]], ...]


def _by_head() -> Mapping[str, _Rows]:
    """Returns the rows to try for the first two characters of a token, by prefix length, longest first."""
    heads: dict[str, dict[int, dict[str, tuple[_Shape, ...]]]] = {}
    for row in SHAPES:
        for prefix in row.prefixes.split():
            rows = heads.setdefault(prefix[:2], {}).setdefault(len(prefix), {})
            rows[prefix] = (*rows.get(prefix, ()), row)
    return MappingProxyType({head: tuple(sorted(rows.items(), reverse=True)) for head, rows in heads.items()})


_ROWS = _by_head()


def _heads() -> str:
    """Returns an alternation of the first two characters of all tokens, grouped by the first one."""
    seconds: dict[str, str] = {}
    for head in sorted(_ROWS):
        seconds[head[0]] = seconds.get(head[0], "") + re.escape(head[1])
    return "|".join(f"{first}[{second}]" for first, second in seconds.items())


# A token can start outside a word, or after an escaped line end or a percent escape.
_START = re.compile(
    rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{{2}}))(?={_heads()})(?=[!-~]{{{LONG}}})"
)
_REST = re.compile(r"[A-Za-z0-9_\-]*+")
_YOURS = re.compile(r"your[_\-]?(?:api|key|token|secret|own|[a-z]{2,10}[_\-])")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiles at first use: compiling all of them costs some milliseconds at every start."""
    return re.compile(pattern)


def may_hold_token(words: Iterable[str]) -> bool:
    """Tells that a known token could start in one of these runs without spaces."""
    return any(map(_START.search, words))


def tokens(text: str) -> Iterator[Span]:
    done = 0
    for run in _LONG_RUN.finditer(text):
        for start in _START.finditer(text, *run.span()):
            at = start.start()
            if at >= done and (token := _token_at(text, at)):
                done = token.end
                yield token


def _token_at(text: str, at: int) -> Span | None:
    for length, rows in _ROWS.get(text[at : at + 2], ()):
        for row in rows.get(text[at : at + length], ()):
            if token := _token_of(row, text, at, at + length):
                return token
    return None


def _token_of(row: _Shape, text: str, at: int, after: int) -> Span | None:
    if row.kind in _ALONE and text[at - 1 : at] in _TIES:
        return None
    body = _compiled(row.body).match(text, after)
    if not body or (row.kind not in _NEVER_MADE_UP and _is_made_up(body[0])):
        return None
    # A token longer than known is replaced to its end.
    rest = _REST.match(text, body.end())
    end = max(after + len(body[0].rstrip(".")), rest.end() if rest and rest[0] else 0)
    return Span(at, end, 1, row.kind)


def marked(text: str) -> Iterator[Span]:
    for kind, mark, pattern in MARKED:
        if mark in text:
            for match in _compiled(pattern).finditer(text):
                if not _is_made_up(match[match.re.groups]):
                    yield Span(*match.span(match.re.groups), 1, kind)


_TIES = ("-", "_")
_ALONE = frozenset(
    (
        "crates-token",
        "discord-token",
        "fireworks-key",
        "nuget-key",
        "twilio-key",
        "voyage-key",
        "facebook-token",
    )
)
"""Kinds with short prefixes and loose bodies: after a word, as in `file-pa-…`, they are parts of names. Other kinds are
tokens there, too, as in `backup-ghp_…`."""
_NEVER_MADE_UP = frozenset({"aws-key-id"})
"""Kinds so short, in capitals only, that a real one may hold the word EXAMPLE."""


def _is_made_up(body: str) -> bool:
    """Matches an example in a manual: xxxx…, your-key-here, words without a digit."""
    if len(body) > 256:
        return False
    lowered = body.lower()
    if len(set(body)) < 6 or "example" in lowered or "xxxxx" in lowered or _YOURS.search(lowered):
        return True
    return body == lowered and not DIGIT.search(body)


_KEY_GAP = r"(?:\\[nrt]|[\s\"'+,>|]){%s}"
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_HEADER = re.compile(_KEY_GAP % "1,16" + r"[A-Za-z\-]{4,24}+: [^\n\\]{1,120}+")
_KEY_LINE = re.compile(_KEY_GAP % "0,64" + r"([A-Za-z0-9+/=]{1,4096}+)")
_KEY_LAST_LINE = re.compile(r"\s{0,8}(?:-----END|$|\n)|\\n")
_KEY_END = re.compile(_KEY_GAP % "0,64" + r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


def private_keys(text: str) -> Iterator[Span]:
    """Yields the span from BEGIN to END, or to the last line of the key. BEGIN without a key stays."""
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
            yield Span(begin.start(), done, 0, "private-key")


_CARD = re.compile(
    r"(?<![\d\-.])(?<!\d )(?:\d{13,19}|\d{4}([ \-])\d{4}\1\d{4}\1\d{4}|\d{4}[ \-]\d{6}[ \-]\d{5})(?![\d\-])"
)
_CARD_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:6011|65|35)\d{12,14}"
)


def card_numbers(text: str) -> Iterator[Span]:
    for match in _CARD.finditer(text):
        digits = match[0].replace(" ", "").replace("-", "")
        if _CARD_ISSUERS.fullmatch(digits) and _has_check_digit(digits):
            yield Span(*match.span(), 1, "card-number")


def _has_check_digit(digits: str) -> bool:
    """Checks the Luhn sum: from the right, every second digit counts double, and its digits are added."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * (2 if place % 2 else 1)
        total += number - 9 if number > 9 else number
    return total % 10 == 0

"""What the scrubber takes out, and what it leaves alone. Tokens are built at run time: none is written here."""

import random
import re
import sys
from base64 import b64encode
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.safety import secret_keywords, secret_patterns, secret_values
from holdfast.safety.scrub import scrub
from holdfast.safety.secret_keywords import SERVICES
from holdfast.safety.secret_patterns import MARKED, SHAPES

LOWER = "abcdefghijklmnopqrstuvwxyz"
ALPHABETS = {
    "b62": LOWER + LOWER.upper() + "0123456789",
    "b64u": LOWER + LOWER.upper() + "0123456789_-",
    "b64": LOWER + LOWER.upper() + "0123456789+/",
    "hex": "0123456789abcdef",
    "upper": LOWER.upper() + "0123456789",
    "base32": LOWER.upper() + "234567",
    "lower": LOWER + "0123456789",
    "letters": LOWER + LOWER.upper(),
    "digits": "0123456789",
    "hexes_": "0123456789abcdef0123456789abcdef_",
}
UUID = "{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"

# kind, then how such a token is built. Independent of the patterns: written from the providers' own descriptions.
TOKENS = (
    ("1password-secret-key", "A3-{upper:6}-{upper:6}-{upper:5}-{upper:5}-{upper:5}-{upper:5}"),
    ("1password-service-token", "ops_eyJ{b64:300}"),
    ("adobe-secret", "p8e-{b62:32}"),
    ("age-secret-key", "AGE-SECRET-KEY-1{upper:58}"),
    ("airtable-token", "pat{b62:14}.{hex:64}"),
    ("alibaba-key-id", "LTAI{b62:20}"),
    ("anthropic-key", "sk-ant-api03-{b64u:93}AA"),
    ("anthropic-key", "sk-ant-admin01-{b64u:93}AA"),
    ("apify-token", "apify_api_{b62:36}"),
    ("artifactory-key", "AKCp{b62:69}"),
    ("atlassian-token", "ATATT3{b64u:180}={hex:8}"),
    ("aws-bedrock-key", "ABSK{b64:128}"),
    ("aws-key-id", "AKIA{base32:16}"),
    ("aws-key-id", "ASIA{base32:16}"),
    ("azure-ad-secret", "{b62:3}8Q~{b62:34}"),
    ("bitbucket-password", "ATBB{b62:32}"),
    ("brevo-key", "xkeysib-{hex:64}-{b62:16}"),
    ("buildkite-token", "bkua_{hex:40}"),
    ("cerebras-key", "csk-{lower:48}"),
    ("circleci-token", "CCIPAT_{b62:22}_{hex:40}"),
    ("clojars-token", "CLOJARS_{lower:60}"),
    ("cloudflare-origin-key", "v1.0-{hex:24}-{hex:146}"),
    ("contentful-token", "CFPAT-{b64u:43}"),
    ("crates-token", "cio{b62:32}"),
    ("databricks-token", "dapi{hex:32}"),
    ("digitalocean-token", "dop_v1_{hex:64}"),
    ("digitalocean-token", "doo_v1_{hex:64}"),
    ("discord-token", "MT{b62:22}.{b64u:6}.{b64u:38}"),
    ("discord-token", "Nz{b62:24}.{b64u:6}.{b64u:27}"),
    ("docker-token", "dckr_pat_{b64u:27}"),
    ("doppler-token", "dp.pt.{b62:43}"),
    ("doppler-token", "dp.st.prd.{b62:40}"),
    ("dropbox-token", "sl.{b64u:140}"),
    ("duffel-token", "duffel_live_{b64u:43}"),
    ("dynatrace-token", "dt0c01.{upper:24}.{upper:64}"),
    ("easypost-key", "EZAK{b62:54}"),
    ("elevenlabs-key", "sk_{hex:48}"),
    ("facebook-token", "EAA{b62:180}"),
    ("figma-token", "figd_{b64u:40}"),
    ("firecrawl-key", "fc-{hex:32}"),
    ("fireworks-key", "fw_{b62:24}"),
    ("flutterwave-key", "FLWSECK_TEST-{hex:32}-X"),
    ("fly-token", "fo1_{b64u:43}"),
    ("fly-token", "fm2_{b64:400}"),
    ("frameio-token", "fio-u-{b64u:64}"),
    ("github-token", "ghp_{b62:36}"),
    ("github-token", "gho_{b62:36}"),
    ("github-token", "ghu_{b62:36}"),
    ("github-token", "ghs_{b62:36}"),
    ("github-token", "ghr_{b62:76}"),
    ("github-fine-grained-token", "github_pat_{b62:22}_{b62:59}"),
    ("gitlab-token", "glpat-{b64u:20}"),
    ("gitlab-token", "glrt-{b64u:20}"),
    ("gitlab-token", "gldt-{b64u:20}"),
    ("gitlab-token", "glcbt-{b64u:24}"),
    ("gitlab-runner-token", "GR1348941{b64u:20}"),
    ("google-api-key", "AIza{b64u:35}"),
    ("google-oauth-secret", "GOCSPX-{b64u:28}"),
    ("google-access-token", "ya29.{b64u:160}"),
    ("google-refresh-token", "1//0{b64u:60}"),
    ("grafana-token", "glsa_{b62:32}_{hex:8}"),
    ("grafana-cloud-token", "glc_{b64:100}"),
    ("groq-key", "gsk_{b62:52}"),
    ("harness-token", "pat.{b64u:22}.{hex:24}.{b62:20}"),
    ("heroku-key", "HRKU-" + UUID),
    ("heroku-key", "HRKU-AA{b64u:58}"),
    ("huggingface-token", "hf_{letters:34}"),
    ("infracost-key", "ico-{b62:32}"),
    ("jina-key", "jina_{hex:32}{b62:28}"),
    ("jwt", "eyJ{b64u:33}.eyJ{b64u:80}.{b64u:43}"),
    ("langfuse-key", "sk-lf-" + UUID),
    ("langsmith-key", "lsv2_pt_{hex:32}_{hex:10}"),
    ("linear-key", "lin_api_{b62:40}"),
    ("linear-key", "lin_oauth_{hex:64}"),
    ("mailchimp-key", "{hex:32}-us14"),
    ("mailgun-key", "key-{hex:32}"),
    ("mapbox-secret-token", "sk.eyJ{b62:80}.{b64u:22}"),
    ("neon-key", "napi_{lower:64}"),
    ("netlify-token", "nfp_{b62:36}"),
    ("new-relic-key", "NRAK-{upper:27}"),
    ("new-relic-key", "NRJS-{hex:19}"),
    ("new-relic-license-key", "{hex:36}NRAL"),
    ("notion-token", "secret_{b62:43}"),
    ("notion-token", "ntn_{b62:46}"),
    ("npm-token", "npm_{b62:36}"),
    ("nuget-key", "oy2{lower:43}"),
    ("nvidia-key", "nvapi-{b64u:64}"),
    ("openai-key", "sk-{b62:20}T3BlbkFJ{b62:20}"),
    ("openai-key", "sk-proj-{b64u:74}T3BlbkFJ{b64u:73}"),
    ("openai-key", "sk-svcacct-{b64u:74}"),
    ("openai-key", "sk-{hex:32}"),
    ("openrouter-key", "sk-or-v1-{hex:64}"),
    ("open-vsx-token", "ovsxat_" + UUID),
    ("perplexity-key", "pplx-{b62:48}"),
    ("pinecone-key", "pcsk_{b62:6}_{b62:63}"),
    ("plaid-token", "access-sandbox-" + UUID),
    ("planetscale-token", "pscale_tkn_{b64u:43}"),
    ("posthog-key", "phx_{b62:43}"),
    ("postman-key", "PMAK-{hex:24}-{hex:34}"),
    ("prefect-key", "pnu_{b62:36}"),
    ("pulumi-token", "pul-{hex:40}"),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc{b64u:120}"),
    ("razorpay-key", "rzp_live_{b62:14}"),
    ("readme-key", "rdme_{lower:70}"),
    ("render-key", "rnd_{b62:28}"),
    ("replicate-token", "r8_{b62:37}"),
    ("resend-key", "re_{b62:8}_{b62:24}"),
    ("rubygems-key", "rubygems_{hex:48}"),
    ("sendgrid-key", "SG.{b64u:22}.{b64u:43}"),
    ("sentry-token", "sntrys_eyJ{b64:120}_{b64:43}"),
    ("sentry-user-token", "sntryu_{hex:64}"),
    ("shippo-token", "shippo_live_{hex:40}"),
    ("shopify-token", "shpat_{hex:32}"),
    ("shopify-token", "shpss_{hex:32}"),
    ("slack-token", "xoxb-{digits:12}-{digits:12}-{b62:24}"),
    ("slack-token", "xoxp-{digits:12}-{digits:12}-{digits:12}-{hex:32}"),
    ("slack-token", "xoxe.xoxp-1-{b62:160}"),
    ("slack-app-token", "xapp-1-A{upper:10}-{digits:13}-{hex:64}"),
    ("sonarqube-token", "squ_{hex:40}"),
    ("sourcegraph-token", "sgp_{hex:16}_{hex:40}"),
    ("square-token", "sq0atp-{b64u:22}"),
    ("square-access-token", "EAAA{b64u:60}"),
    ("stripe-key", "sk_live_{b62:24}"),
    ("stripe-key", "rk_live_{b62:99}"),
    ("stripe-key", "sk_test_{b62:24}"),
    ("stripe-webhook-secret", "whsec_{b62:32}"),
    ("supabase-token", "sbp_{hex:40}"),
    ("supabase-secret-key", "sb_secret_{b64u:31}"),
    ("tailscale-key", "tskey-auth-{b62:17}-{b62:32}"),
    ("tavily-key", "tvly-dev-{b62:32}"),
    ("telegram-bot-token", "{digits:10}:AA{b64u:33}"),
    ("terraform-token", "{b62:14}.atlasv1.{b64u:67}"),
    ("together-key", "tgp_v1_{b64u:43}"),
    ("trello-token", "ATTA{hex:72}"),
    ("twilio-key", "SK{hex:32}"),
    ("twilio-key", "AC{hex:32}"),
    ("typeform-token", "tfp_{b64u:44}"),
    ("vault-token", "hvs.{b64u:90}"),
    ("vercel-token", "vcp_{b62:56}"),
    ("vercel-blob-token", "vercel_blob_rw_{b62:16}_{b62:30}"),
    ("voyage-key", "pa-{b64u:43}"),
    ("xai-key", "xai-{b62:80}"),
)

# Of these only the part in braces is the secret; the words before it stay.
LABELLED = (
    ("azure-storage-key", "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=", "{b64:86}=="),
    (
        "azure-shared-access-key",
        "Endpoint=sb://acme.example.net/;SharedAccessKeyName=root;SharedAccessKey=",
        "{b64:43}=",
    ),
    ("azure-sas-signature", "https://acme.example.net/c/b.csv?sv=2022-11-02&sp=r&sig=", "{b62:43}%3D"),
    ("discord-webhook", "https://discord.com/api/webhooks/123456789012345678/", "{b64u:68}"),
    ("slack-webhook", "https://hooks.slack.com/services/", "T{upper:8}/B{upper:10}/{b62:24}"),
    ("teams-webhook", "https://acme.webhook.office.com/webhookb2/", UUID + "@" + UUID + "/{hex:32}/" + UUID),
    ("aws-secret-key", "aws_secret_access_key = ", "{b64:40}"),
    ("aws-secret-key", "AWS_SECRET_ACCESS_KEY=", "{b64:40}"),
    ("cloudflare-token", "CLOUDFLARE_API_TOKEN=", "{b64u:40}"),
    ("cloudflare-token", "the Cloudflare API token is ", "{b62:40}"),
    ("heroku-key", "heroku api key: ", UUID),
    ("twilio-key", "TWILIO_AUTH_TOKEN=", "{hex:32}"),
    ("vercel-token", "VERCEL_TOKEN=", "{b62:24}"),
    ("azure-key", "AZURE_OPENAI_API_KEY=", "{hex:32}"),
    ("datadog-key", "DATADOG_API_KEY: ", "{hex:32}"),
    ("algolia-key", "algolia api key is ", "{hex:32}"),
    ("okta-token", "okta token: ", "00{b64u:40}"),
    ("auth0-secret", "AUTH0_CLIENT_SECRET=", "{b64u:64}"),
    ("fastly-token", "fastly api token = ", "{b62:32}"),
    ("cohere-key", "COHERE_API_KEY=", "{b62:40}"),
    ("mistral-key", "MISTRAL_API_KEY=", "{b62:32}"),
    ("deepgram-key", "deepgram api key: ", "{hex:40}"),
    ("wandb-key", "WANDB_API_KEY=", "{hex:40}"),
    ("pagerduty-key", "pagerduty api key: ", "{b62:20}"),
    ("snyk-token", "SNYK_TOKEN=", UUID),
    ("codecov-token", "CODECOV_TOKEN=", UUID),
    ("zendesk-token", "zendesk api token: ", "{b62:40}"),
    ("netlify-token", "NETLIFY_AUTH_TOKEN=", "{b64u:43}"),
    ("secret", "api_key=", "{b62:32}"),
    ("secret", "X-Api-Key: ", "{hex:40}"),
    ("secret", "client_secret: ", "{b62:24}"),
    ("secret", "access_token=", "{b64u:40}"),
    ("secret", '"refreshToken": "', "{b62:40}"),
    ("secret", "SECRET_KEY_BASE=", "{hex:128}"),
    ("secret", "SESSION_SECRET='", "{b62:32}"),
    ("secret", "tool --api-key ", "{b62:32}"),
    ("secret", "tool --token=", "{b62:32}"),
    ("secret", "https://api.example.com/v1/items?access_token=", "{b62:32}"),
    ("secret", "my api key for the weather service is ", "{hex:32}"),
    ("secret", "The signing key is ", "{b62:40}"),
    ("secret", "credentials: ", "{b62:24}"),
    ("authorization", "Authorization: Bearer ", "{b64u:40}"),
    ("authorization", '{{"Authorization": "Bearer ', "{b62:40}"),
    ("authorization", "curl -H 'Authorization: token ", "{hex:40}"),
    ("authorization", "send it with Bearer ", "{b62:40}"),
)

SURROUNDINGS = (
    "{}",
    "'{}'",
    '"{}"',
    "`{}`",
    "({})",
    "[{}]",
    "<{}>",
    "**{}**",
    "{}.",
    "{},",
    "{}; next",
    "key={}",
    "API_KEY={}",
    "export SERVICE_TOKEN={}\n",
    "token: {}",
    'token: "{}"',
    '{{"api_key": "{}", "user": "bob"}}',
    "password={}",
    "client = Client(key='{}', timeout=5)",
    "Use {} for the deploy.",
    "Please remember that my key is {}, thanks!",
    "first line\n{}\nlast line",
    "first line\\n{}\\nlast line",
    "トークンは{}です",
    "https://api.example.com/v1?k={}&page=2",
    "I rotated it (old: {}) on Monday.",
    "- {}\n- another item",
)
ENDINGS = ("", "\n", " and so on", ", thanks")

PASSWORD_PLACES = (
    "password={}",
    "password: {}",
    "Password = {}",
    "DB_PASSWORD={}",
    "PGPASSWORD={} psql -h db",
    "MYSQL_PWD={}",
    "db.pass={}",
    "spring.datasource.password={}",
    'password = "{}"',
    "password='{}'",
    '{{"user": "bob", "password": "{}"}}',
    '{{\\"password\\": \\"{}\\"}}',
    "passwd: '{}'",
    "config['password'] = '{}'",
    ":password => '{}'",
    "<password>{}</password>",
    "login(user='bob', password='{}')",
    "connect(host=db, password={})",
    "psql --password={} -U bob",
    "tool --password {} --verbose",
    "Server=db;User Id=sa;Password={};Encrypt=true",
    "Driver={{ODBC}};Uid=sa;Pwd={};",
    "my password is {}",
    "My password is {}.",
    "the wifi password: {}",
    "The wifi password is {}, do not share it.",
    "the password for the NAS is {}",
    "password of the router at home: {}",
    "passcode is {}",
    "the passphrase is {}",
    "Das Passwort ist {}",
    "Kennwort: {}",
    "la contraseña es {}",
    "パスワードは{}です",
    "密码是 {}",
    "**Password:** {}",
    "user: bob\npassword: {}\nhost: db",
    "- pw: {}",
    "I changed my password to {} yesterday",
    "password has been reset to {}",
    "log in as bob with password {}",
    "https://bob:{}@git.example.com/x.git",
    "postgresql://bob:{}@db:5432/app",
    "redis://:{}@cache:6379/0",
)


def fill(template: str, rng: random.Random) -> str:
    def part(match: re.Match[str]) -> str:
        return "".join(rng.choices(ALPHABETS[match[1]], k=int(match[2])))

    return re.sub(r"\{(\w+):(\d+)\}", part, template)


def a_password(rng: random.Random) -> str:
    words = ("sunflower", "Dragon", "hunter", "Bluebird", "marzipan", "Zanzibar", "velvet", "Otter")
    if rng.random() < 0.4:
        return rng.choice(words) + str(rng.randrange(2, 9999)) + rng.choice(("", "!", "$", "#", "%"))
    signs = "!@#$%^*_+=-~"
    body = rng.choices(ALPHABETS["b62"] + signs, k=rng.randrange(7, 18))
    body += [rng.choice("23456789"), rng.choice(LOWER), rng.choice(LOWER.upper())]
    rng.shuffle(body)
    return rng.choice(LOWER) + "".join(body).rstrip("*") + rng.choice(ALPHABETS["b62"])


def share(hits: int, tries: int) -> str:
    return f"{hits} of {tries} ({hits / tries:.2%})"


def report(misses: list[str]) -> str:
    return "\n".join(misses[:40])


def test_provider_tokens_are_replaced_in_every_surrounding_and_nothing_else_is_touched() -> None:
    rng = random.Random(4012)
    tries, misses = 0, []
    for kind, template in TOKENS:
        for surrounding in SURROUNDINGS:
            for _ in range(3):
                token = fill(template, rng)
                tries += 1
                got = scrub(surrounding.format(token))
                if got.text != surrounding.format(f"[redacted:{kind}]") or got.found != ((kind, 1),):
                    misses.append(f"{kind} in {surrounding!r}: {got}")
    assert len(misses) <= 0.02 * tries, f"missed {share(len(misses), tries)}\n{report(misses)}"


@pytest.mark.parametrize("name", ["backup-{}", "prod_{}", "notes/k-{}.txt", "MY_{}_OLD"])
def test_tokens_tied_to_a_name_are_replaced(name: str) -> None:
    rng = random.Random(name)
    tied = [(kind, fill(template, rng)) for kind, template in TOKENS if kind not in secret_patterns._ALONE]
    left = [kind for kind, token in tied if token in scrub(name.format(token)).text]
    assert len(left) <= 0.02 * len(tied), left


@pytest.mark.parametrize(("kind", "template"), TOKENS, ids=[kind for kind, _ in TOKENS])
def test_each_kind_is_found_at_least_nineteen_times_in_twenty(kind: str, template: str) -> None:
    rng = random.Random(template)
    found = sum(scrub(f"note: {fill(template, rng)} end").found == ((kind, 1),) for _ in range(100))
    assert found >= 95


def test_of_a_labelled_secret_only_the_value_is_replaced() -> None:
    rng = random.Random(7)
    tries, misses = 0, []
    for kind, label, template in LABELLED:
        quote = label[-1] if label[-1] in "\"'" else ""
        for ending in ENDINGS:
            for _ in range(10):
                tries += 1
                rest = (quote or ("'" if "curl" in label else "")) + ending
                got = scrub(label + fill(template, rng) + rest)
                if got.text != f"{label}[redacted:{kind}]{rest}":
                    misses.append(f"{kind} after {label!r}: {got}")
    assert len(misses) <= 0.02 * tries, f"missed {share(len(misses), tries)}\n{report(misses)}"


def test_passwords_are_replaced_wherever_people_write_them() -> None:
    rng = random.Random(99)
    tries, misses = 0, []
    for place in PASSWORD_PLACES:
        for _ in range(40):
            password = a_password(rng)
            if "://" in place:
                password = re.sub(r"[#%@]", "x", password)
            tries += 1
            got = scrub(place.format(password))
            kind = "url-password" if "://" in place else "password"
            if got.text != place.format(f"[redacted:{kind}]"):
                misses.append(f"{place!r} {password}: {got}")
    assert len(misses) <= 0.02 * tries, f"missed {share(len(misses), tries)}\n{report(misses)}"


def test_every_kind_the_scrubber_knows_is_tried_here() -> None:
    known = {row.kind for row in SHAPES} | {kind for kind, _, _ in MARKED} | {kind for _, kind in SERVICES}
    tried = {kind for kind, _ in TOKENS} | {kind for kind, _, _ in LABELLED}
    assert known <= tried
    assert len(known) >= 60


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ("my password is hunter2", "my password is [redacted:password]"),
        ("the wifi password: foo", "the wifi password: [redacted:password]"),
        ("The password is sunflower.", "The password is [redacted:password]."),
        ("the passcode is 4821", "the passcode is [redacted:password]"),
        ("alarm PIN: 4821", "alarm PIN: [redacted:password]"),
        ("passphrase: 'correct horse battery staple'", "passphrase: '[redacted:password]'"),
        ("DB_PASSWORD=correct-horse-battery-staple", "DB_PASSWORD=[redacted:password]"),
        ("Password:\n  Tr0ub4dor&3", "Password:\n  [redacted:password]"),
        ("--password Tr0ub4dor --user bob", "--password [redacted:password] --user bob"),
        ("password123 is my password: hunter2", "password123 is my password: [redacted:password]"),
        ("ftp://bob:hunter2@files.example.com", "ftp://bob:[redacted:url-password]@files.example.com"),
        ("mongodb://bob:p@ss@db/x", "mongodb://bob:[redacted:url-password]@db/x"),
    ],
)
def test_a_password_is_known_by_the_words_beside_it(note: str, expected: str) -> None:
    assert scrub(note).text == expected


def test_a_basic_login_is_replaced_and_the_word_basic_is_not() -> None:
    login = b64encode(b"bob:" + b"hunter2").decode()
    assert scrub(f"Authorization: Basic {login}").text == "Authorization: Basic [redacted:authorization]"
    assert scrub(f"curl with basic {login} please").text == "curl with basic [redacted:authorization] please"
    assert scrub("Basic understanding of algebra, basic authentication").count == 0


def pem(
    rng: random.Random, label: str = "RSA ", *, lines: int = 12, end: bool = True, newline: str = "\n"
) -> str:
    dashes = "-" * 5
    body = [fill("{b64:64}", rng) for _ in range(lines)] + [fill("{b64:22}==", rng)]
    parts = [f"{dashes}BEGIN {label}PRIVATE KEY{dashes}", *body]
    return newline.join([*parts, f"{dashes}END {label}PRIVATE KEY{dashes}"] if end else parts)


@pytest.mark.parametrize("label", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "])
@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", " "])
def test_a_private_key_goes_as_a_block_even_without_its_end(label: str, end: bool, newline: str) -> None:
    key = pem(random.Random(label), label, end=end, newline=newline)
    assert (
        scrub(f"before\n{key}\nafter the key, words").text
        == "before\n[redacted:private-key]\nafter the key, words"
    )


def test_a_private_key_with_headers_and_a_pgp_block_are_replaced() -> None:
    rng = random.Random(5)
    begin, *body = pem(rng).split("\n")
    header = ["Proc-Type: 4,ENCRYPTED", f"DEK-Info: AES-128-CBC,{fill('{hex:32}', rng).upper()}", ""]
    assert scrub("\n".join([begin, *header, *body])).text == "[redacted:private-key]"
    block = pem(rng, "PGP ").replace("KEY-----", "KEY BLOCK-----")
    assert scrub(block).text == "[redacted:private-key]"


def test_several_secrets_are_counted_by_kind() -> None:
    rng = random.Random(3)
    first, second, other = (fill(t, rng) for t in ("ghp_{b62:36}", "ghp_{b62:36}", "npm_{b62:36}"))
    got = scrub(f"{first} {second} {other} password=hunter2")
    assert got.found == (("github-token", 2), ("npm-token", 1), ("password", 1))
    assert got.count == 4


def test_card_numbers_are_replaced_only_when_asked_and_only_with_the_right_check_digit() -> None:
    card = "4111" + " 1111" * 3
    assert scrub(f"card {card} 12/26").count == 0
    assert scrub(f"card {card} 12/26", cards=True).text == "card [redacted:card-number] 12/26"
    wrong = [f"card {card[:-1]}{digit}" for digit in "023456789"]
    assert [text for text in wrong if scrub(text, cards=True).count] == []
    assert scrub(f"order {'5' * 16} at 1700000000000", cards=True).count == 0
    assert scrub(f"amex {'3782'}-822463-10005", cards=True).found == (("card-number", 1),)


CLEAN = """
The password policy requires 12 characters
password policy: at least 12 characters, one digit
Password must contain a number and a symbol.
password: required
password: str
password: string, the user's password
password is required
My password is too short, the form says.
The password is stored in 1Password under "infra".
Her password is never written down.
The password was reset yesterday.
password reset link sent to bob@example.com
I forgot my password again
Passwords are hashed with argon2id.
passwords are rotated every 90 days
password length: 12
password strength is checked by zxcvbn
password: see the vault
password = os.environ["DB_PASSWORD"]
password = os.getenv("DB_PASSWORD")
password = getpass.getpass()
password = config.db.password
password = input("Password: ")
password=password
password=user_password, user=user_name
password: ${DB_PASSWORD}
password: {{ vault_db_password }}
password: $DB_PASSWORD
password: %DB_PASSWORD%
password: <your-password>
password: ********
password: xxxxxxxx
password: changeme
password: "your-password-here"
password: null
password: "string"
"password": {"type": "string", "minLength": 8}
def login(user: str, password: str) -> Token:
if password == stored_password:
<input type="password" name="password" placeholder="Password">
const { password, ...rest } = user;
password_hash = bcrypt.hashpw(pw, salt)
PASSWORD_MIN_LENGTH=12
password_file: /run/secrets/db_password
pwd
PWD=/home/bob/projects/holdfast
cd $(pwd) && ls
bypass: yes
compass: north
The boarding pass is in the blue folder.
The build must pass before the merge: green only.
pass rate: 98 percent
Pass the salt, please.
Pass :class:`Path` objects to it
1 pass is enough.
otpauth://totp/acme:bob?issuer=acme
The mountain pass was closed in winter.
passport: renew in June
token budget is 2000
token budget: 2000
max_tokens: 4096
max_tokens=4096
tokens: 128000
The token expires after 15 minutes.
token_type: bearer
token: <your-token>
token: ${TOKEN}
token: [redacted:github-token]
my token [redacted:github-token]: 2f4c9d1ab77e was the build
[redacted:password]: Sunflower7 is the name of the room
token = get_token()
token = request.headers.get("Authorization")
token = tokens[0]
token = next(tokens)
token: string
The tokenizer splits text into tokens.
A token is a piece of a word.
token ring networks were slow
token counts: prompt 1532, completion 411
context window 128k tokens, output 16k
api_key = os.environ["OPENAI_API_KEY"]
api_key = settings.openai_api_key
api_key=API_KEY
api_key: YOUR_API_KEY
api_key: OPENAI_API_KEY
OPENAI_API_KEY=sk-...
OPENAI_API_KEY=<paste here>
export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
secret: santa
The secret is patience.
secret santa is on 20 December
secret: my-tls-secret
secretName: my-tls-secret
secrets: inherit
secretKeyRef: {name: db, key: password}
The API key lives in Vault at kv/data/prod/stripe
api key rotation happens on the first Monday
the access key is in the safe in Berlin
private key: stored on the YubiKey
public key: ssh-ed25519
primary key: id
foreign key (user_id) references users(id)
key: value
The key to success is persistence.
key=lambda row: row.id
cache key: tool + version + canonical JSON
auth: none
auth = oauth2
auth: oauth2-proxy-v7
auth: https://login.example.com/oauth2
Authorization is checked on every call.
Authorization: Bearer <token>
Authorization: Bearer ${TOKEN}
Authorization: Bearer {token}
Bearer authentication is described in RFC 6750
the ring bearer walked in slowly
Basic authentication is off
basic understanding of Kubernetes
credentials: see 1Password
credentials are kept in the keychain
Files with -----BEGIN RSA PRIVATE KEY----- must never be committed.
commit 3f2a9c1d7b8e4f5061728394a5b6c7d8e9f0a1b2 fixed it
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
md5 d41d8cd98f00b204e9800998ecf8427e
id 550e8400-e29b-41d4-a716-446655440000
request 018f3c1e-7b2a-7c3d-9e4f-5a6b7c8d9e0f failed
trace_id=4bf92f3577b34da6a3ce929d0e0e4736
etag W/"33a64df551425fcc55e4d42a148795d9f25f89d4"
integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==
image: registry.example.com/app@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
https://example.com/a/b?page=2&sort=asc#top
https://user@example.com/repo.git
git@github.com:acme/widgets.git
ssh://git@example.com:2222/acme/widgets.git
postgresql://localhost:5432/app
postgresql://user:password@localhost:5432/app
postgresql://${USER}:${PASSWORD}@db/app
http://localhost:8080/@scope/package
mailto:bob@example.com
src/app/auth/token_service.py
/home/bob/.ssh/config
C:\\Users\\bob\\AppData\\Local\\Temp
node_modules/@babel/plugin-transform-runtime
class="sk-folding-cube sk-circle-fade-dot"
sk-learn is spelled scikit-learn
import { getAccessTokenFromCookie } from "./session"
accessTokenExpiresInSeconds: 3600
refresh_token_rotation: true
csrf_token is in the form
The session token is sent as a cookie.
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
+49 170 1234567
order 4111111111111111 shipped
version v1.2.3-rc.4+build.77
2023-05-08T10:30:00.123Z
ERR_4012: connection refused
GPIO pin: 13
pin the version to 3.11
pin code: 560001
PIN entry is blocked after 3 tries
gpt-4o-mini-2024-07-18 is the model
The wifi at the cabin is slow.
The password manager is Bitwarden
password manager: KeePass
1password: team vault
1Password is great
My LastPass: family plan
Das Passwort muss mindestens 12 Zeichen haben.
Das Passwort ist falsch
パスワードを忘れました
密码必须至少包含八个字符
비밀번호를 잊어버렸어요
la contraseña es obligatoria
x = a if token else b
url = f"https://example.com/oauth?client_secret={app_secret}&grant_type=client_credentials"
print(f"Decrypted token: {cipher.decrypt(data)}")
dsn = "user=your_user password=your_password host=localhost port=5432"
hashed_password = argon2.hash(password)
encrypted_token = base64.b64decode(raw)
you can pass `debug=True` directly to the app
mongodb+srv://<username>:<password>@cluster0.example.net/<dbname>
**Unique Passwords**: 1Password can generate them
Strong passwords for database users is crucial for safety
https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX
assert token is not None
print(f"token={token}")
logger.info("password=%s", password)
curl -u "$USER:$PASS" https://example.com
docker run -u 1000:1000 app
mysql -u root -p
"secret": "secret"
secret_key: !vault
password: !secret wifi_password
password: op://infra/db/password
client_secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:db
Use a pass phrase of four words.
auth token lifetime 3600s
the token is ERC20-compatible
webhook secret must match on both sides
Passcode: ask Maria
She said the password is on the sticky note.
the password for the NAS is in the safe
the password to the archive is with Bob
password for staging is the same as for dev
""".strip().split("\n")

WORDS = {
    "noun": "garden invoice deploy tokeniser password token secret key report budget cluster migration recipe",
    "label": "tokens token_budget secret_count password_length api_keys session key total max_tokens",
    "verb": "moved checked fixed renamed reviewed shipped paused measured described",
    "name": "Anna Boris Chen Divya",
}
TAILS = (
    "on {digits:1} May 2023",
    "in commit {hex:40}",
    f"for request {UUID}",
    "see https://example.com/{noun}/{n}?page={n}",
    "in src/{noun}/{noun}_service.py:{n}",
    "after {n} tokens",
    "with digest sha256:{hex:64}",
    "version v{n}.{digits:1}.0",
    "because the {noun} policy says so",
    "`{noun}_{noun}({noun}={noun}.{noun})`",
    "row {n}: {label}={n}",
    "and the {noun} is {noun} again",
    "by bob@example.com, ticket #{n}",
    "{label}: {noun}, {label}: {n}",
    "(trace {hex:40})",
)


def clean_note(rng: random.Random) -> str:
    def word(match: re.Match[str]) -> str:
        return rng.choice(WORDS[match[1]].split())

    note = f"{{name}} {{verb}} the {{noun}} {rng.choice(TAILS)}, and the {{noun}} was {{verb}} {rng.choice(TAILS)}."
    note = re.sub(r"\{(noun|label|verb|name)\}", word, note)
    note = re.sub(r"\{n\}", lambda _: str(rng.randrange(2, 99_999)), note)
    return fill(note, rng)


def test_notes_without_a_secret_stay_as_they_are() -> None:
    touched = [f"{note!r} -> {scrub(note).text!r}" for note in CLEAN if scrub(note).count]
    assert touched == []


def test_at_most_one_clean_note_in_two_hundred_is_touched() -> None:
    rng = random.Random(11)
    notes = [clean_note(rng) for _ in range(4000)]
    touched = [f"{note!r} -> {scrub(note).text!r}" for note in notes if scrub(note).count]
    assert len(touched) <= 0.005 * len(notes), f"touched {share(len(touched), len(notes))}\n{report(touched)}"


def pieces() -> st.SearchStrategy[str]:
    rng = random.Random(1)
    tokens = [fill(template, rng) for _, template in TOKENS]
    labelled = [label + fill(template, rng) for _, label, template in LABELLED]
    places = [place.format(a_password(rng)) for place in PASSWORD_PLACES]
    keys = [
        pem(rng),
        pem(rng, end=False),
        "password",
        "token",
        ":",
        "=",
        " is ",
        " ",
        "\n",
        '"',
        "'",
        "[redacted:password]",
    ]
    return st.lists(
        st.sampled_from(tokens + labelled + places + keys) | st.text(max_size=8), max_size=12
    ).map("".join)


@given(pieces())
@settings(max_examples=300, deadline=None)
@example("password=[redacted:password] secret")
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    once = scrub(text)
    assert scrub(once.text).text == once.text
    assert scrub(once.text).count == 0


@given(pieces())
@settings(max_examples=300, deadline=None)
def test_all_that_is_not_a_secret_is_kept_in_place(text: str) -> None:
    scrubbed = scrub(text).text
    kept = re.split(r"\[redacted:[a-z0-9\-]+\]", scrubbed)
    at = 0
    for part in kept:
        found = text.find(part, at)
        assert found >= 0
        at = found + len(part)
    assert text.startswith(kept[0])
    assert text.endswith(kept[-1])


@pytest.mark.parametrize(("kind", "template"), TOKENS, ids=[kind for kind, _ in TOKENS])
def test_tokens_glued_together_are_done_with_at_once(kind: str, template: str) -> None:
    rng = random.Random(kind)
    glued = scrub("".join(fill(template, rng) for _ in range(20)))
    assert scrub(glued.text).count == 0


def test_of_a_very_long_password_nothing_is_left() -> None:
    secret = fill("{b62:20000}", random.Random(8))
    assert scrub(f"password={secret} end").text == "password=[redacted:password] end"


@settings(deadline=None)
@given(st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")))
@example("\ud800 password=\ud800\udfff1abc")
@example("\x00password\x00=\x00hunter2")
@example("İİİ password=hunter2")
@example("")
def test_any_text_is_accepted(text: str) -> None:
    assert scrub(text, cards=True).count >= 0


def unbounded(tree: Any, *, inside: bool = False) -> list[str]:
    """Repeats that could take more than a bounded number of steps, or many steps inside another repeat.

    A run of one class that never gives back is allowed: it is walked once, from its start.
    """
    found = []
    for op, argument in tree:
        if op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            _, most, inner = argument
            is_plain_run = (
                op is _constants.POSSESSIVE_REPEAT and len(inner) == 1 and inner[0][0] is _constants.IN
            )
            if most is _constants.MAXREPEAT and (inside or not is_plain_run):
                found.append(f"{op} without an upper bound")
            if inside and most > 128:
                found.append(f"{op} up to {most} inside another repeat")
            found += unbounded(inner, inside=inside or most > 8)
        elif op is _constants.SUBPATTERN:
            found += unbounded(argument[-1], inside=inside)
        elif op is _constants.BRANCH:
            found += [problem for branch in argument[1] for problem in unbounded(branch, inside=inside)]
        elif op in (_constants.ASSERT, _constants.ASSERT_NOT):
            found += unbounded(argument[1], inside=inside)
    return found


def patterns() -> list[str]:
    modules = (secret_patterns, secret_values, secret_keywords)
    names = [value for module in modules for value in vars(module).values()]
    compiled = [value.pattern for value in names if isinstance(value, re.Pattern)]
    later = [row.body for row in SHAPES] + [pattern for _, _, pattern in MARKED]
    return compiled + later


@pytest.mark.parametrize("pattern", patterns())
def test_no_pattern_can_take_more_than_a_bounded_number_of_steps_at_one_place(pattern: str) -> None:
    assert unbounded(_parser.parse(pattern)) == []


HOSTILE = {
    "key words without end": "password=",
    "key words in one another": "secret_key_token=password:",
    "values that hold key words": "password=x",
    "starts of tokens": "ghp_sk-ant-AKIA",
    "runs of one letter": "a",
    "begins of private keys": "-----BEGIN RSA PRIVATE KEY-----\nMIIB",
    "urls in urls": "://user:pass@",
    "quotes that never close": "password='",
    "escapes": 'token="\\"',
    "sentences": "my password is now still just ",
    "digits of cards": "4111 ",
    "jwt heads": "eyJ.eyJ.",
    "marks of our own": "[redacted:password] password=",
    "bearers": "authorization: bearer ",
    "blanks": " \t",
    "secrets that free each other": "--&pw=AKIA",
    "a crowd of key words": "pin pw=",
    "headers and starts of tokens": "ghp_xoxb-\n]ghp_authorization: pwd:",
}


STEPS_A_CHARACTER = 12


class Walking:
    """A pattern that tells how many characters its matches walked over."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self.walked = 0

    def match(self, text: str, at: int) -> re.Match[str] | None:
        found = self._pattern.match(text, at)
        self.walked += len(found[0]) if found else 0
        return found


def work_done(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often Python called anything, and what the one pattern walked over whose matches may overlap. With the
    bounded steps of every other pattern at a place this is the work done."""
    made = 0
    walking = Walking(secret_keywords._VALUE)

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    with monkeypatch.context() as patched:
        patched.setattr(secret_keywords, "_VALUE", walking)
        sys.setprofile(count)
        try:
            scrub(text, cards=True)
        finally:
            sys.setprofile(None)
    return made + walking.walked


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_the_work_grows_with_the_text_and_not_faster(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work_done(piece, monkeypatch)  # compiles the patterns
    for size in (16_384, 65_536):
        assert work_done((piece * size)[:size], monkeypatch) <= STEPS_A_CHARACTER * size

"""Decides by its shape whether a value is a secret. Placeholders, code, names, words and measures are not."""

import re
from typing import Literal

Relation = Literal["assigned", "stated", "beside"]
"""Between a key word and its value: `password: x`, `the password is x`, `password x`."""


def is_quoted_password(value: str, relation: Relation) -> bool:
    if _SPACE.search(value):
        return _is_phrase(value)
    if _names_a_secret(value):
        return False
    return relation != "beside" or _is_striking(value)


def is_plain_password(value: str, relation: Relation, is_tight: bool, after: str) -> bool:
    if _names_a_secret(value) or is_code(value) or _is_reference(value):
        return False
    if relation == "beside":
        return _is_striking(value)
    if value.isalpha():
        return _is_lone_word(value, relation, is_tight, after)
    if value.isdigit():
        return len(value) >= 4 and not _UNIT_AFTER.match(after)
    if _LETTER_PARTS.fullmatch(value):
        return value.replace("-", "").isalpha() and (is_tight or value.count("-") > 1)
    if _MEASURE.fullmatch(value) or _ALGORITHM.fullmatch(value) or not _ALNUM.search(value):
        return False
    return len(value) >= 4 or bool(DIGIT.search(value))


def _is_lone_word(value: str, relation: Relation, is_tight: bool, after: str) -> bool:
    """Matches a lone word: "is sunflower." is a password, "is stored in …" and "is too short" are not."""
    if not (value.islower() or value.istitle() or value.isupper()):
        return True
    if relation == "stated" and value.lower().endswith(("ed", "ing", "able", "ible", "ive", "ly", "en")):
        return False
    return is_tight or bool(_CLAUSE_END.match(after))


def _is_striking(value: str) -> bool:
    """Matches a password without a sign or a verb before it: `password hunter2`."""
    if len(value) < 6 or not is_mixed(value) or is_code(value) or _ALGORITHM.fullmatch(value):
        return False
    return not _SETTING.match(value) and (value.isalnum() or not is_words(value))


def is_random(value: str) -> bool:
    """Matches a key, token or secret: neither words nor a name, path, date or version."""
    if _SPACE.search(value) or _is_reference(value) or is_words(value) or not is_mixed(value):
        return False
    if _IDENTIFIER.fullmatch(value) and _NAMES_SECRET.search(value.lower()):
        return False
    return not _MEASURE.fullmatch(value) and not _ALGORITHM.fullmatch(value)


def is_mixed(value: str) -> bool:
    """Matches letters with digits or signs, or upper and lower case as in no word."""
    if not _LETTER.search(value):
        return False
    return bool(DIGIT.search(value) or _SIGN.search(value)) or len(_HUMP.findall(value)) > 3


def _names_a_secret(value: str) -> bool:
    """Matches a variable or a word about passwords: user_password, required, my-secret."""
    lowered = value.lower()
    return lowered in _NOT_SECRET or bool(not DIGIT.search(value) and _NAMES_SECRET.search(lowered))


def is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.match(value)) or value.lower().endswith(("-here", "_here"))


def is_code(value: str) -> bool:
    return bool(_CODE.match(value))


def _is_reference(value: str) -> bool:
    return bool(_REFERENCE.match(value))


def is_words(value: str) -> bool:
    """Matches words and short numbers with one real word: gpt-4o-mini, project-phoenix-2025, oauth2.example.com."""
    return bool(_WORD_PARTS.fullmatch(value) and _REAL_WORD.search(value))


def _is_phrase(value: str) -> bool:
    """Matches several quoted words, unless they read like a sentence about a pass phrase."""
    words = value.lower().replace(",", " ").replace(".", " ").split()
    return len(words) <= 8 and not any(word in _SENTENCE or _NAMES_SECRET.search(word) for word in words)


_SPACE = re.compile(r"\s")
DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_ALNUM = re.compile(r"[^\W_]")
_SIGN = re.compile(r"[^\w\-.'/:]")
_HUMP = re.compile("[a-z][A-Z]")
_REAL_WORD = re.compile(r"(?<![A-Za-z])[A-Z]?[a-z]{4,32}(?![A-Za-z])")
_NAMES_SECRET = re.compile("pass|pwd|secret|token|key|cred|kennwort")
_IDENTIFIER = re.compile(r"[A-Za-z_.\-]{1,120}\d{0,3}")
_SETTING = re.compile(r"[a-z_]{2,24}=[\w.\-]{0,128}$")
_LETTER_PARTS = re.compile(r"[A-Za-z]{1,64}+(?:[_.\-/][A-Za-z]{1,64}+){1,16}")
_WORD_PARTS = re.compile(
    r"(?:[A-Za-z]{1,32}+\d{0,4}+|\d{1,4}+[a-z]{0,2}+)"
    r"(?:[_.\-/+:@](?:[A-Za-z]{1,32}+\d{0,4}+|\d{1,4}+[a-z]{0,2}+)){0,24}"
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
    r"|[({\[]{1,2}[A-Za-z_][\w.]{0,60}+[}(\[]|[A-Za-z_]\w{0,40}+(?:\.\w{1,40}+){1,6}\(|[&*]{1,2}[A-Za-z_]{2,40}$"
    r"|(?:os|self|this|config|cfg|conf|settings|process|env|environ|request|req|args|options|opts|params|ctx|context"
    r"|user|data|props|state|form|body|app|var|vars|local|module|secrets|github|inputs|values|credentials|creds|db"
    r"|session|payload|row|obj|event|input|sys|cls|client|account|response|res|result|model|item)\??\.[A-Za-z_]"
)
_REFERENCE = re.compile(
    r"https?://|arn:|op://|vault:|ref\+|env:|ssm:|file:|keyring:|gs://|s3://|@Microsoft|[A-Za-z]:\\"
    r"|!(?:secret|vault|ref|env|sub|include)|(?:~|\.{1,2})?/(?:[\w.\-]{0,40}/){0,8}[a-z.\-]{2,40}(?:/|$)"
    r"|[A-Z][A-Z0-9]{0,24}+(?:_[A-Z0-9]{1,24}+){1,8}$"
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
# Words after "password:" or "password is" that are no passwords.
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

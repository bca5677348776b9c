"""Words and patterns of the advice. A pattern is tried only on a text with a word of each of its groups, and reads a
bounded number of characters, so time stays linear."""

from __future__ import annotations

import re
from typing import NamedTuple

_PARTS = re.compile(r"\w+").findall
_SIGNS_BLANKED = bytes(code if chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(128))
_SIGNS_BLANKED += bytes(128)  # of which an ASCII text has none


def words_of(text: str) -> list[str]:
    """Returns runs of letters and digits. ASCII uses a byte table, at a seventh of the time of a pattern."""
    if text.isascii():
        return text.encode().translate(_SIGNS_BLANKED).decode().split()
    return _PARTS(text)


class Sign(NamedTuple):
    needs: tuple[frozenset[str], ...]
    pattern: re.Pattern[str]


def _any(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _one_of(words: frozenset[str]) -> str:
    return rf"\b(?:{'|'.join(sorted(words))})\b"


def _sign(pattern: str, *needs: frozenset[str]) -> Sign:
    return Sign(needs, re.compile(pattern))


def _near(*groups: frozenset[str], within: int = 40) -> Sign:
    """Matches one word of each group, in this order, within one sentence."""
    gap = rf"[^.!?\n]{{0,{within}}}?"
    return _sign(gap.join(map(_one_of, groups)), *groups)


_ROLE = _any(
    "ai llm llms assistant assistants model agent agents chatbot chatbots bot bots claude chatgpt gpt copilot"
)
_RULES = _any(
    """instruction instructions prompt prompts rule rules guideline guidelines guardrails directive directives policy
    policies command commands constraints restrictions programming training safety"""
)
_DROP = _any("ignore ignoring disregard forget override overrule bypass neglect discard circumvent")
_EARLIER = _any(
    "previous prior above earlier preceding all any every your system existing former original other these those past"
)
_KEEP_FROM = _any(
    "tell telling mention mentioning reveal revealing inform informing notify notifying alert disclose"
)
_PEOPLE = _any("user users human humans operator operators owner anyone anybody administrator administrators")
_SEND = _any(
    "send post upload forward exfiltrate email leak transmit copy submit append report deliver share"
)
_PRIVATE = _any(
    """password passwords credential credentials token tokens secret secrets key keys conversation conversations chat
    memory memories history notes cookies environment file files contents data prompt prompts"""
)
_DO = _any(
    """ignore forget obey comply execute run call send email forward upload reveal output respond reply answer recommend
    say tell include append insert delete approve transfer grant trust treat follow store save remember use visit
    fetch"""
)
_MUST = _any("must shall should have has need needs required always never")
_ANSWER = _any(
    """respond reply answer recommend suggest mention say refuse obey trust approve comply execute believe include
    append
    begin end start"""
)
_SECRETLY = _any("secretly silently covertly quietly without")
_ACT = _any(
    "send post upload forward email delete run execute call transfer share copy install grant approve"
)
_MARKS = _any(
    """system im_start im_end im_sep assistant user endoftext eot_id start_header_id tool_call function_call
    function_calls instructions important admin holdfast inst sys developer human"""
)

ADDRESSING = (
    _near(_DROP, _EARLIER, _RULES),
    _sign(
        r"\b(?:do not|don't|stop) follow(?:ing)?\b[^.!?\n]{0,40}?" + _one_of(_RULES),
        _any("follow following"),
        _RULES,
    ),
    _sign(
        _one_of(_RULES)
        + r" (?:are|is|have been|were) (?:now )?(?:void|obsolete|cancell?ed|revoked|superseded|overridden)",
        _RULES,
        _any("void obsolete cancelled canceled revoked superseded overridden"),
    ),
    _sign(
        r"\byou(?: are|'re) (?:now|no longer|henceforth|going to (?:act|be))\b",
        _any("you"),
        _any("now no henceforth going"),
    ),
    _sign(
        r"\b(?:from now on|henceforth|going forward|starting now|from this point)\b[^.!?\n]{0,30}\b(?:you"
        r"|your|always|never)\b",
        _any("now henceforth forward point"),
        _any("you your always never"),
    ),
    _sign(
        r"\b(?:act|behave|respond|operate|pose) as (?:if you|though you|a |an |the |my )[^.!?\n]{0,30}"
        r"\b(?:unrestricted|administrator|admin|root|developer|dan|hacker|without)\b",
        _any("act behave respond operate pose"),
        _any("unrestricted administrator admin root developer dan hacker without"),
    ),
    _sign(r"\bpretend (?:to be|that you|you)\b", _any("pretend")),
    _sign(
        r"\byour (?:new|real|true|actual|only|primary|first) "
        r"(?:role|task|instructions?|goals?|objectives?|purpose|mission|job|identity|priority)\b",
        _any("your"),
        _any(
            "role task instruction instructions goal goals objective objectives purpose mission job identity priority"
        ),
    ),
    _sign(
        r"\b(?:dan|god|jailbreak|sudo|unrestricted) mode\b|\b(?:developer|maintenance) mode (?:is|has been) (?:now )?"
        r"(?:enabled|on|active|activated)\b|\b(?:enter|enable|activate|switch to) (?:developer|maintenance) mode\b",
        _any("mode"),
        _any("developer dan god jailbreak sudo maintenance unrestricted"),
    ),
    _sign(
        r"\b(?:reveal|print|show|repeat|output|leak|ignore|replace|update|override|dump)\b[^.!?\n]{0,40}?"
        r"\b(?:system (?:prompt|message)|(?:hidden|initial) (?:prompt|instructions?))\b",
        _any("reveal print show repeat output leak ignore replace update override dump"),
        _any("prompt message instructions instruction"),
    ),
    _sign(
        r"<\|?/?\s?(?:system|im_start|im_end|im_sep|assistant|endoftext|eot_id|start_header_id|tool_call"
        r"|function_calls?|instructions?|important|admin|holdfast-memory)\b[^>\n]{0,40}\|?>|<\|user\b[^>\n]{0,40}>|<<\s?/?sys\s?>>"
        r"|\[/?(?:inst|system|sys|assistant|admin)\b[^\]\n]{0,20}\]",
        _MARKS,
    ),
    _sign(
        r"(?:^|\n)\s{0,8}(?:#{1,6}\s?)?\**(?:system|assistant|developer|human)\**\s?"
        r"(?:prompt|message|instructions?|override|note)?\s?:",
        _any("system assistant developer human"),
    ),
    _sign(
        r"\bnew (?:instructions?|directives?|system prompt)\b[^.!?\n]{0,40}(?::|\bfollow)",
        _RULES,
        _any("new"),
    ),
    _sign(
        r"\b(?:note|message|attention|notice|reminder|instructions?|warning|memo|important|directives?"
        r"|orders?|dear|hey)\b"
        rf"[^.!?\n\w]{{0,3}}(?:to|for)?\s?(?:the |any |all |every )?{_one_of(_ROLE)}[^.!?\n]{{0,12}}[:,!]",
        _any(
            """note message attention notice reminder instruction instructions warning memo important directive
            directives order orders dear hey"""
        ),
        _ROLE,
    ),
    _sign(
        rf"{_one_of(_ROLE)}[^.!?\n]{{0,40}}\b(?:read(?:s|ing)?|process(?:es|ing)?|pars(?:es|ing)|see(?:s|ing)?"
        r"|summari[sz](?:es?|ing)) this\b",
        _ROLE,
        _any(
            "read reads reading process processes processing parses parsing see sees seeing summarizes summarizing"
        ),
    ),
    _sign(rf"\bif you are an? (?:\w+ )?{_one_of(_ROLE)}", _any("you"), _ROLE),
    _sign(
        rf"{_one_of(_ROLE)},? (?:you )?{_one_of(_MUST)}(?: required)?(?: to)? (?:now |always |never "
        rf"|immediately |not |first )?" + _one_of(_DO),
        _ROLE,
        _MUST,
        _DO,
    ),
    _sign(
        rf"\b(?:instruct|tell|ask|order|convince) (?:the |your |any |every )?{_one_of(_ROLE)}[^.!?\n]{{0,12}}\bto\b",
        _any("instruct tell ask order convince"),
        _ROLE,
    ),
    _sign(
        r"\b(?:do not|don't|never|without|must not|avoid)\b[^.!?\n]{0,16}"
        rf"{_one_of(_KEEP_FROM)}[^.!?\n]{{0,24}}{_one_of(_PEOPLE)}",
        _KEEP_FROM,
        _PEOPLE,
        _any("not don never without avoid"),
    ),
    _sign(
        r"\b(?:secretly|silently|covertly|quietly|without (?:asking|telling|confirmation|permission|approval"
        r"|consent))\b"
        rf"[^.!?\n]{{0,60}}{_one_of(_ACT)}",
        _SECRETLY,
        _ACT,
    ),
    _sign(
        rf"{_one_of(_SEND)}[^.!?\n]{{0,50}}?{_one_of(_PRIVATE)}[^\n]{{0,30}}?\b(?:to|at|via|into)\b[^\n]{{0,20}}?"
        r"(?:https?:|www\.|[\w.-]{1,40}@|\b[\w-]{1,40}\.(?:com|net|org|io|dev|xyz|evil|example|ru|cn)\b)",
        _SEND,
        _PRIVATE,
    ),
    _sign(
        r"\b(?:whenever|every time|each time|any time|no matter what)\b[^.!?\n]{0,60}"
        r"\byou (?:must|should|shall|will|have to|need to|are to|always)\b",
        _any("whenever time matter"),
        _any("you"),
    ),
    _sign(
        r"\byou must (?:always|never|now|not|immediately|obey|comply|follow|ignore|respond|reply|answer"
        r"|recommend|include"
        r"|say|tell|use|call|run|execute|send|store|save|remember)\b",
        _any("you"),
        _any("must"),
    ),
    _sign(
        rf"\b(?:always|never) {_one_of(_ANSWER)}[^.!?\n]{{0,80}}"
        r"\b(?:users?|your|you|answers?|responses?|regardless|whatever|no matter|instead|without)\b",
        _any("always never"),
        _ANSWER,
        _any(
            "user users your you answer answers response responses regardless whatever matter instead without"
        ),
    ),
    _sign(
        r"\b(?:remember|memorize|store|save|persist|record) (?:this|that|the following)\b[^.!?\n]{0,50}"
        r"\b(?:permanently|forever|as (?:a )?(?:fact|rule|truth|trusted|instruction|policy)|for all future"
        r"|in (?:your )?(?:long[- ]term )?memory)\b",
        _any("remember memorize store save persist record"),
        _any("permanently forever fact rule truth trusted instruction policy future memory"),
    ),
    _sign(
        r"\b(?:to|in|into) (?:your|the (?:ai|assistant|agent|model)'?s?) (?:long[- ]term )?"
        r"(?:memory|memories|instructions|system prompt)\b",
        _any("your ai assistant agent model"),
        _any("memory memories instructions prompt"),
    ),
    _sign(
        r"\b(?:execute|run|call|invoke|perform)\b[^.!?\n]{0,20}\b(?:following|this|these|attached)\b[^.!?\n]{0,20}"
        r"\b(?:commands?|code|tools?|functions?|scripts?|actions?)\b[^.!?\n]{0,40}\b(?:without|immediately"
        r"|on behalf)\b",
        _any("execute run call invoke perform"),
        _any("without immediately behalf"),
    ),
    _near(
        _any("ignoriere ignorieren ignoriert vergiss vergesst missachte umgehe übergehe"),
        _any("anweisung anweisungen regeln vorgaben instruktionen befehle richtlinien"),
        within=50,
    ),
    _near(
        _any(
            "ignorez oublie oubliez négligez ignora ignore ignorar olvida olvide descarta dimentica trascura"
        ),
        _any(
            "consignes règles directives instrucciones reglas órdenes instruções regras istruzioni regole direttive"
        ),
        within=50,
    ),
    _near(
        _any("игнорируй игнорируйте забудь забудьте"),
        _any("инструкции инструкций правила правил указания указаний команды"),
        within=50,
    ),
)
FAR_SIGNS = (
    (("忽略", "无视", "無視", "忘记", "忘記"), ("指令", "指示", "提示", "规则", "規則", "命令")),
    (("無視", "忘れて", "従わない"), ("指示", "命令", "ルール", "プロンプト")),
    (("무시", "잊어"), ("지시", "명령", "규칙", "프롬프트")),
    (("تجاهل",), ("التعليمات", "الأوامر", "القواعد")),
)
"""Languages without word breaks or with inflection: one word of each group."""

LOOKALIKES = str.maketrans("аеорсухіѕјԁӏαιορνκτ013457@$", "aeopcyxisjdlaiopvktoieastas")
"""Cyrillic and Greek letters, digits and signs that look like Latin letters."""
ENCODED = re.compile(r"[A-Za-z0-9+/]{24,4000}")

NOW_WORDS = _any(
    """currently now moment present presently today tonight morning afternoon evening hour minute still just since
    ongoing
    zurzeit derzeit momentan gerade aktuell heute actuellement ahora actualmente"""
)
NOW = re.compile(
    r"\b(?:currently|right now|at the moment|at present|presently|as of (?:now|today|this)|is now|are now|today|tonight"
    r"|this (?:morning|afternoon|evening|minute|hour)|still|just (?:now|went|came|started|failed)|since \d|ongoing"
    r"|zurzeit|derzeit|momentan|gerade|aktuell|heute|actuellement|ahora mismo|actualmente)\b"
)
LIVE = re.compile(
    r"\b(?:is|are|was|went|came|keeps?|looks?|remains?|been|ist|sind|est|está)\b[^.!?\n]{0,24}?"
    r"\b(?:down|up|offline|online|unreachable|unavailable|unhealthy|healthy|degraded|failing|flapping|broken|crashing"
    r"|crashlooping|restarting|stuck|red|green|firing|throttled|overloaded|saturated|deploying"
    r"|rolling out|queued|blocked"
    r"|on call|oncall|at \d|running|ausgefallen|gestört)\b"
    r"|\b(?:went down|open incidents?|incidents?|outages?|alerts?|sev ?-?\d|error rate|latency|cpu"
    r"|disk usage|memory usage"
    r"|load average|queue depth|backlog|burn rate|error budget|störung|ausfall|in progress|rolled back)\b"
)
_INCIDENTS = _any("incident incidents alert alerts outage outages")
LIVE_WORDS = _INCIDENTS | _any(
    """down up offline online unreachable unavailable unhealthy healthy degraded failing flapping broken crashing
    crashlooping restarting stuck red green firing throttled overloaded saturated deploying rolling queued blocked on
    oncall at running ausgefallen gestört open sev sev0 sev1 sev2 sev3 sev4 sev5 sev6 sev7 sev8 sev9 error latency cpu
    disk memory load queue backlog burn störung ausfall in rolled"""
)
"""Every match of LIVE contains one of these."""
READINGS = (
    Sign(
        (
            _any(
                """cpu memory ram disk load latency rate availability uptime queue backlog throughput traffic
                p50 p90 p95 p99"""
            ),
            _any("is are at was"),
        ),
        re.compile(
            r"\b(?:cpu|memory|ram|disk|load|latency|(?:error|success|burn) rate|availability|uptime|queue|backlog"
            r"|throughput|traffic|p\d\d)\b[^.\n]{0,24}?\b(?:is|are|at|was)\s(?:now |currently |at |about |around )?"
            r"\d[\d.,]{0,12}\s?(?:%|percent|ms\b|s\b|rps\b|qps\b|gb\b|mb\b|x\b)"
        ),
    ),
    Sign(
        (
            _any("status state health"),
            _any("up down ok healthy unhealthy degraded failing green red critical firing operational"),
        ),
        re.compile(
            r"\b(?:status|state|health)\s?(?:is|=|:)\s?(?:now |currently )?(?:up|down|ok|healthy|unhealthy"
            r"|degraded|failing|green"
            r"|red|critical|firing|operational)\b(?![^.\n]{0,30}\b(?:when|if|means)\b)"
        ),
    ),
    Sign(
        (_INCIDENTS, _any("open ongoing active unresolved firing")),
        re.compile(
            r"\b(?:there (?:is|are)|we have) (?:an? |\d+ |no )?(?:open|ongoing|active|unresolved) (?:incidents?"
            r"|outages?|alerts?)"
            r"|\b\d+ (?:open|active|firing|unresolved) (?:incidents?|alerts?)\b"
        ),
    ),
)
"""Measurements taken at one moment."""

_COUNTED = _any("a an one two three four five six seven")
_A_FEW = rf"(?:{'|'.join(sorted(_COUNTED))}|\d{{1,3}})"
RELATIVE = (
    _sign(
        r"\b(?:today|yesterday|tomorrow|tonight|heute|gestern|vorgestern|übermorgen|demain|aujourd'hui|mañana|ayer)\b",
        _any(
            """today yesterday tomorrow tonight heute gestern vorgestern übermorgen demain aujourd mañana ayer"""
        ),
    ),
    _sign(
        r"\b(?:next|last|this|coming) (?:week|weekend|month|quarter|year|night|morning|afternoon|evening|monday|tuesday"
        r"|wednesday|thursday|friday|saturday|sunday)\b",
        _any("next last this coming"),
        _any(
            """week weekend month quarter year night morning afternoon evening monday tuesday wednesday thursday friday
            saturday sunday"""
        ),
    ),
    _sign(
        rf"\b{_A_FEW} (?:minute|hour|day|week|month|year)s? (?:ago|from now)\b",
        _any("minute minutes hour hours day days week weeks month months year years"),
        _any("ago now"),
    ),
    _sign(rf"\bin {_A_FEW} (?:day|week|month)s?\b", _any("in"), _any("day days week weeks month months")),
    _sign(
        r"\b(?:nächste|letzte)[nrs]? (?:woche|monat|jahr)\b",
        _any("nächste nächsten nächster nächstes letzte letzten letzter letztes"),
        _any("woche monat jahr"),
    ),
    _sign(r"\bla (?:semaine prochaine|próxima semana)\b", _any("semaine semana"), _any("prochaine próxima")),
)
"""Days relative to the day of writing."""
FAR_RELATIVE = ("昨日", "明日", "今日", "来週", "先週", "昨天", "明天", "今天", "下周", "上周")

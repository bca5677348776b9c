"""Review of a note before it is kept: secrets are taken out, and its words are judged. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from holdfast.domain.entry import Content
from holdfast.domain.errors import InvalidField, LiveState
from holdfast.domain.ids import is_made
from holdfast.domain.profile import Profile
from holdfast.safety.advice import LESS_TRUSTED, SENTENCES, Action, Advice, Code, action, advised, doubts
from holdfast.safety.prompt_injection import claims_authority
from holdfast.safety.scrub import Redactions, Scrubbed

NO_ADVICE: tuple[Advice, ...] = ()


def words_of(content: Content) -> str:
    """Everything a model may come to see of a note."""
    key = "" if is_made(content.key) else content.key
    labels = content.hint, key, content.category, content.speaker, content.conversation, content.namespace
    return "\n".join(filter(None, (content.text, *labels, *content.tags)))


def scrub_content(
    scrub: Callable[[str], Scrubbed], content: Content, words: str | None = None
) -> tuple[Content, Redactions]:
    """Takes secrets out of every part a model may come to see. `words` are those of `words_of`, if already known."""
    if not scrub(words_of(content) if words is None else words).found:
        return content, ()  # most notes have none, and one look tells
    found: Counter[str] = Counter()
    clean: dict[str, Any] = {}
    for name in ("hint", "key", "category", "conversation", "speaker"):
        if (value := getattr(content, name)) and (result := scrub(value)).count:
            clean[name] = result.text
            found.update(dict(result.found))
    body, tags = scrub(content.text), [scrub(tag) for tag in content.tags]
    for part in (body, *tags):
        found.update(dict(part.found))
    if not found:
        return content, ()
    kept = tuple(dict.fromkeys(tag.text for tag in tags))
    return content._replace(body=body.text.encode(), tags=kept, **clean), tuple(sorted(found.items()))


def judge_words(
    profile: Profile, content: Content, words: str | None = None
) -> tuple[tuple[Advice, ...], bool]:
    """Returns advice on a note's words, and whether they are kept from models."""
    origin, held_back = content.provenance.source, False
    words = words_of(content) if words is None else words
    found = doubts(words, dated=content.at_us is not None, trusted=origin not in LESS_TRUSTED)
    if origin in LESS_TRUSTED and Code.INSTRUCTION not in found and claims_authority(content.key):
        found = (*found, Code.INSTRUCTION)
    if not found:
        return NO_ADVICE, False
    for code in found:
        match action(profile.name, code, origin):
            case Action.REFUSE:
                raise LiveState(SENTENCES[code]) if code is Code.LIVE_STATE else InvalidField(SENTENCES[code])
            case Action.QUARANTINE:
                held_back = True
            case Action.NOTE:
                pass
    return advised(found), held_back

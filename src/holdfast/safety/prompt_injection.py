"""Persistent orders, claimed rights and keys about a host's identity, which tools and imports may not write to memory.
Linear: each pattern is tried only on a text with one of its words, and reads a bounded number of characters."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAMES = """
identity permissions permission system security policy policies persona instructions guardrails admin root sudo
"""
_AUTHORITY = frozenset(_NAMES.split())
"""First or last parts of keys that hold an agent's identity or permissions."""
_ENDS_AUTHORITY = frozenset(
    (
        "role",
        "roles",
        "permissions",
        "permission",
        "prompt",
        "persona",
        "instructions",
        "policy",
        "guardrails",
    )
)
_PARTS = re.compile(r"[^\w]+|_")


def claims_authority(key: str) -> bool:
    """Matches `identity.role`, `system/prompt`, `agent.persona`: keys that no tool may write."""
    parts = [part for part in _PARTS.split(key.lower()) if part]
    return (
        len(parts) > 1
        and parts[0] in _AUTHORITY | {"agent", "assistant", "user"}
        and (parts[-1] in _ENDS_AUTHORITY or (parts[0] in _AUTHORITY and parts[-1] in _AUTHORITY))
    )


class _Order(NamedTuple):
    words: tuple[str, ...]
    """The text must hold one of them."""
    pattern: re.Pattern[str]


def _order(words: str, pattern: str) -> _Order:
    return _Order(tuple(words.split()), re.compile(pattern))


_KIND = r"(?:system )?(?:directive|instruction|standing order|order|rule|policy|command|guideline)s?"
_WITHOUT_REVIEW = (
    r"\b(?:without (?:any )?(?:asking|(?:human |manual |prior |further |operator )?"
    r"(?:review|confirmation|approval|permission|verification|consent|checks?)|checking|the operator|a human)"
    r"|need(?:s|ing)? no (?:review|confirmation|approval|permission|verification))\b"
)
_STEP = (
    r"(?:confirmations?|approvals?|approval steps?|reviews?|verification|security (?:scans?|checks?)|checks?)"
)
_WHO = r"(?:assistant|agent|model|ai|bot|user|caller|operator)"
_POWER = r"(?:administrator|admin|root|superuser|super ?admin|unrestricted|full)"

ORDERS = (
    _order(
        "remember save store treat keep record memorize",
        r"\b(?:remember|save|store|treat|keep|record|memorize)\b[^.!?\n]{0,40}?\b(?:as|like) (?:an? |the )?"
        rf"(?:[a-z]{{2,16}} ){{0,3}}{_KIND}\b",
    ),
    _order(
        "memory memories",
        r"\b(?:add|save|write|commit|append|put)\b[^.!?\n]{0,12}\bto (?:your |the )?(?:long[- ]term )?"
        r"memor(?:y|ies)\s?:",
    ),
    _order(
        "persist memory override directive inject",
        r"\[(?:[a-z]{2,16}_){0,3}(?:persist|memory|override|directive|inject)(?:_[a-z]{2,16}){0,3}\]",
    ),
    _order(
        "memory",
        r"(?:\[\w{0,24}memory\s?=[^\]\n]{1,200}\]\s{0,4}){2}|\{\{\s?memory[.:]\s?(?:write|set|add|store)",
    ),
    _order(
        "without need needs needing",
        r"\b(?:approve[ds]?|authori[sz]ed?|allow(?:ed)?|grant(?:ed)?|transfer|export|execute|run|call|delete|refunds?|send)\b"
        rf"[^.!?\n]{{0,80}}?{_WITHOUT_REVIEW}",
    ),
    _order(
        "skip skipped disable disabled bypass advisory off",
        rf"\b(?:skip|disable|bypass) (?:the |every |any |all |operator |security |human |manual ){{0,3}}{_STEP}\b"
        r"|\b(?:security )?(?:scans?|checks?|confirmation dialogs?|confirmations?|approvals?|content filters?|safety)\b"
        r"[^.!?\n]{0,24}\b(?:may be skipped|are (?:disabled|advisory|off)|is off|no longer appl(?:y|ies))",
    ),
    _order(
        "never ask asks",
        r"\bnever (?:ask|asks)\b[^.!?\n]{0,30}\b(?:confirmation|approval|permission|review)\b|\bwho never asks\b",
    ),
    _order(
        "administrator admin root superuser superadmin unrestricted full",
        rf"\b(?:the |this |your )?{_WHO} (?:has|have|is|are|gets|was granted|holds) (?:an? |now )?(?:[a-z]{{2,12}} )?"
        rf"{_POWER}\b(?: access| rights| privileges|;|,|\.|$|\n)"
        rf"|\bgrant (?:[a-z]{{2,12}} )?{_POWER} (?:access|rights|privileges)\b",
    ),
    _order(
        "unrestricted uncensored unfiltered jailbroken",
        r"\b(?:an? |the )?(?:unrestricted|uncensored|unfiltered|jailbroken) (?:ai|assistant|model|agent|bot)\b",
    ),
    _order(
        "safety ethical content",
        r"\b(?:no|without(?: any)?) (?:safety|ethical|content) (?:guidelines|rules|filters|restrictions|limits)\b",
    ),
    _order(
        "replace rules",
        r"\b(?:these|the following|new) (?:rules|instructions) replace\b|\brules; the following\b",
    ),
    _order("consents", r"\buser (?:consents|agrees) to (?:everything|anything|all)\b"),
    _order(
        "render replace image",
        r"!\[[^\]\n]{0,40}\]\(https?:[^)\n]{0,200}\)[^\n]{0,60}\breplace\b[^\n]{0,60}\b(?:tokens?|secrets?|passwords?|keys?)\b",
    ),
    _order(
        "passwords tokens secrets credentials",
        r"\b(?:append|send|post|upload|add|put|forward|leak)\b[^.!?\n]{0,50}\b(?:passwords|tokens|secrets|credentials)\b"
        r"[^\n]{0,60}https?:",
    ),
    _order(
        "permission approval consent",
        r"\buser (?:has )?(?:already )?(?:granted|given) (?:permission|approval|consent) "
        r"(?:for|to) (?:all|every|any)\b",
    ),
    _order(
        "recommend",
        r"\balways recommend\b[^.!?\n]{0,40}\b(?:to the user|instead)\b|\brank this [a-z]{2,16} first\b",
    ),
)


def gives_orders(plain: str) -> bool:
    """Matches a persistent order or claimed rights in a text, which must be in lower case."""
    return any(
        any(word in plain for word in order.words) and order.pattern.search(plain) is not None
        for order in ORDERS
    )

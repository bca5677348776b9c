"""What administrators set: participants, access to systems, rules of roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from holdfast.contracts.storage import Job
from holdfast.domain.errors import MissingField
from holdfast.domain.limits import check_list, check_mapping
from holdfast.operations import administer
from holdfast.operations.administer import RULES, AuditLine, Stats
from holdfast.vocabularies.call import Vocabulary, call
from holdfast.vocabularies.encoding import SWITCH, Answer, Codec, Part, record, rows, single
from holdfast.vocabularies.fields import LIMIT, NAME, REVISION_NUMBERS, Field

CHANGED = single("Changed", "changed", int)
DONE: Answer[None] = Answer(
    "Done", lambda: Codec((Part("done", SWITCH),), lambda _: {"done": True}, lambda _: None)
)
ACCESS_WORDS = {"additionalProperties": {"type": "string", "enum": ["read", "manage"]}}
RULE_SWITCHES = {
    "properties": {rule: {"type": "boolean"} for rule in RULES},
    "additionalProperties": False,
}


class AdministrationCalls(Vocabulary):
    @call(CHANGED, writes=True)
    def set_participants(
        self,
        chat: Annotated[str, Field("The chat's id.", "standup", bounds=NAME)],
        participants: Annotated[
            Iterable[str], Field("Each as kind:id.", ["user:alice", "agent:helper"], missing=MissingField)
        ],
    ) -> Job[int]:
        """Who takes part in a chat, as kind:id; from now on this list alone counts."""
        names = check_list("participants", participants)
        return administer.set_participants(self._session, chat, names)

    @call(CHANGED, writes=True)
    def set_system_access(
        self,
        system: Annotated[str, Field("The system's id.", "crm", bounds=NAME)],
        access: Annotated[
            Mapping[str, str],
            Field(
                "Who may `read` or `manage`.",
                {"team:platform": "manage", "user:alice": "read"},
                missing=MissingField,
                bounds=ACCESS_WORDS,
            ),
        ],
    ) -> Job[int]:
        """Who may read or manage a system: `{"team:platform": "manage", "user:alice": "read"}`."""
        rows = check_mapping("access", access)
        return administer.set_system_access(self._session, system, rows)

    @call(DONE, writes=True)
    def set_rules(
        self,
        role: Annotated[str, Field("The role.", "guest", bounds=NAME)],
        rules: Annotated[
            Mapping[str, bool],
            Field(
                "What it may do; what is not named stays on.",
                {"ai.memory.read": True, "ai.memory.manage": False},
                missing=MissingField,
                bounds=RULE_SWITCHES,
            ),
        ],
    ) -> Job[None]:
        """Revokes or gives back `ai.memory.read` and `ai.memory.manage` for a role."""
        rows = check_mapping("rules", rules)
        return administer.set_rules(self._session, role, rows)

    @call(record(Stats))
    def stats(self) -> Stats:
        """How many spaces and entries the store holds."""
        return administer.stats(self._session)

    @call(rows("AuditLines", "lines", record(AuditLine)))
    def audit(
        self,
        after: Annotated[int, Field("Lines after this position.", 0, bounds=REVISION_NUMBERS)] = 0,
        *,
        limit: Annotated[int, LIMIT] = 100,
    ) -> AuditLines:
        """The log of what was done, in keyed ids, from a position on."""
        return administer.audit_lines(self._session, after, limit)


AuditLines = list[AuditLine]

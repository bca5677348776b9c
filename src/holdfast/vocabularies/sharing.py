"""The sharing calls of the core vocabulary: spaces, and who has access to them."""

from __future__ import annotations

from typing import Annotated

from holdfast.contracts.storage import Job
from holdfast.domain.access import Grant
from holdfast.domain.errors import InvalidLevel, MissingField, MissingKey
from holdfast.domain.retention import Ttl, whole_seconds
from holdfast.domain.space import own_space
from holdfast.operations import share, spaces
from holdfast.operations.proposals import ProposalRequest
from holdfast.operations.session import Session
from holdfast.operations.share import Unshared
from holdfast.operations.spaces import SpaceInfo
from holdfast.vocabularies import answers
from holdfast.vocabularies.approvals import ask_a_person, given_only, must_ask_to_share
from holdfast.vocabularies.call import Vocabulary, call
from holdfast.vocabularies.encoding import LEVELS
from holdfast.vocabularies.fields import LONGEST_TTL, NAME, SPACE, Field, LevelName
from holdfast.vocabularies.inputs import SpaceId, space_id

Grants = list[Grant]
Spaces = list[SpaceInfo]
GRANTEE = Field("Whom: kind:id; a bare id is an agent.", "agent:reviewer", missing=MissingField)
LEVEL = Field("How far in; default: read.", "read", wrong=InvalidLevel, bounds=LEVELS)
GRANT_TTL = Field(
    "How long it holds, in seconds; 0 or none: until it is taken back.",
    7_776_000,
    name="ttl_seconds",
    bounds=LONGEST_TTL | {"minimum": 0},
)


class SharingCalls(Vocabulary):
    @call(answers.GRANT, writes=True)
    def share(
        self,
        grantee: Annotated[str, GRANTEE],
        *,
        space: Annotated[SpaceId, SPACE] = None,
        level: Annotated[LevelName, LEVEL] = "read",
        ttl: Annotated[Ttl, GRANT_TTL] = None,
    ) -> Job[Grant]:
        """Lets `kind:id` (a bare id is an agent) into a space at search, read, readwrite or manage. A model only
        proposes it."""
        session, space = self._session, space_id(space)
        job = share.share(session, space, grantee, level, ttl)
        if not must_ask_to_share(session):
            return job
        seconds = whole_seconds(ttl)
        until = f" for {seconds} seconds." if seconds else "."
        shown = f"Share {_readable(session, space)} with {grantee} at {level}{until}"
        arguments = {"grantee": grantee, "space": space and str(space), "level": level, "ttl": seconds}
        return ask_a_person(session, ProposalRequest("core.share", given_only(arguments), shown, space))

    @call(answers.UNSHARED, writes=True)
    def unshare(
        self, grantee: Annotated[str, GRANTEE], *, space: Annotated[SpaceId, SPACE] = None
    ) -> Job[Unshared]:
        """Takes a grant back, and every re-share that stood on it. A model only proposes it."""
        session, space = self._session, space_id(space)
        job = share.unshare(session, space, grantee)
        if not must_ask_to_share(session):
            return job
        shown = f"Take back what {grantee} may do in {_readable(session, space)}."
        arguments = {"grantee": grantee, "space": space and str(space)}
        return ask_a_person(session, ProposalRequest("core.unshare", given_only(arguments), shown, space))

    @call(answers.GRANTS)
    def grants(self, *, space: Annotated[SpaceId, SPACE] = None) -> Grants:
        """Lists the grants of a space."""
        return share.grants_on(self._session, space_id(space))

    @call(answers.SPACES)
    def spaces(self) -> Spaces:
        """Every space the caller can enter, with level and source."""
        session = self._session
        return [] if session.is_off else spaces.list_spaces(session)

    @call(answers.SPACE, writes=True)
    def create_space(
        self, ref: Annotated[str, Field("What to call it.", "team-notes", missing=MissingKey, bounds=NAME)]
    ) -> Job[SpaceInfo]:
        """Makes a space of the caller's own that can be shared."""
        return spaces.create_space(self._session, ref)


def _readable(session: Session, space: SpaceId) -> str:
    own = own_space(session.principal)
    return f"{own.kind.label}:{own.ref}" if space is None else str(space)

"""The closed family of errors. A class is a code; its docstring is the default message; interfaces map `status`.

HoldfastError
├── InvalidInput            400  the request cannot be accepted as it stands
├── Unauthenticated         401
├── AccessDenied            403  a space one cannot enter, whether or not it exists
├── NotFound                404  an entry one cannot see, whether or not it exists
├── MethodNotAllowed        405
├── Conflict family         409, with PreconditionFailed 412
├── TooLarge                413
├── UnsupportedMediaType    415
├── Locked                  423  sealed with a key this process does not have
├── Quota family            429
├── Backend                 500
├── Unavailable             503
└── StorageFull             507
"""

from __future__ import annotations

from typing import ClassVar


class HoldfastError(Exception):
    """Something went wrong in the memory engine."""

    code: ClassVar[str] = "backend"
    status: ClassVar[int] = 500

    def __init__(self, message: str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        super().__init__(self.message)


class InvalidInput(HoldfastError):
    """The request cannot be accepted as it stands."""

    code = "invalid_field"
    status = 400


class MissingKey(InvalidInput):
    """A key is required, for example `preferences/editor`."""

    code = "missing_key"


class MissingValue(InvalidInput):
    """A text or value is required and must not be blank."""

    code = "missing_value"


class MissingField(InvalidInput):
    """A required field is missing."""

    code = "missing_field"


class InvalidJson(InvalidInput):
    """The body is not valid JSON."""

    code = "invalid_json"


class InvalidField(InvalidInput):
    """A field has a value that cannot be used."""

    code = "invalid_field"


class InvalidKey(InvalidInput):
    """A key must be text without control characters, for example `preferences/editor`."""

    code = "invalid_key"


class InvalidName(InvalidInput):
    """A name may use only letters, digits, dash and underscore, 1 to 64 of them."""

    code = "invalid_name"


class InvalidType(InvalidInput):
    """The type must be one of user, feedback, project, reference."""

    code = "invalid_type"


class InvalidScope(InvalidInput):
    """The scope must be one of: all, key:<key>, id:<id>, pack:<id>, pipeline:<id>, packs, pipelines."""

    code = "invalid_scope"


class InvalidLevel(InvalidInput):
    """The level must be one of search, read, readwrite, manage."""

    code = "invalid_level"


class TtlTooShort(InvalidInput):
    """The time to live is below the minimum."""

    code = "ttl_too_short"


class TtlTooLong(InvalidInput):
    """The time to live is above the maximum."""

    code = "ttl_too_long"


class ReservedCategory(InvalidInput):
    """This category belongs to the engine; choose another, for example `preferences`."""

    code = "reserved_category"


class ReservedKey(InvalidInput):
    """Keys under this head belong to the engine; choose another, for example `preferences/…`."""

    code = "reserved_key"


class EditNoMatch(InvalidInput):
    """The text to replace does not occur in the entry; view it and copy the passage exactly."""

    code = "edit_no_match"


class NotText(InvalidInput):
    """The entry does not hold text, so it cannot be edited as text; write it again."""

    code = "not_text"


class LiveState(InvalidInput):
    """This describes live state; query it when needed instead of remembering it."""

    code = "live_state"


class Unauthenticated(HoldfastError):
    """A valid token is required."""

    code = "unauthenticated"
    status = 401


class AccessDenied(HoldfastError):
    """You have no sufficient access to this space; ask its owner for a grant."""

    code = "access_denied"
    status = 403


class NotFound(HoldfastError):
    """There is no such entry."""

    code = "not_found"
    status = 404


class MethodNotAllowed(HoldfastError):
    """This route does not take that method."""

    code = "method_not_allowed"
    status = 405
    allowed: tuple[str, ...] = ()
    """The methods that the route takes."""


class Conflict(HoldfastError):
    """The entry was changed by someone else, or the name is taken; read it again and retry."""

    code = "conflict"
    status = 409


class ConfirmationRequired(HoldfastError):
    """A person must confirm this first: `holdfast proposals approve ID`."""

    code = "confirmation_required"
    status = 409
    proposal: str | None = None
    """The id to approve; a model never answers it itself."""


class ProposalExpired(HoldfastError):
    """The proposal has expired; ask again."""

    code = "proposal_expired"
    status = 409


class ProposalConsumed(HoldfastError):
    """The proposal was already answered."""

    code = "proposal_consumed"
    status = 409


class PreconditionFailed(Conflict):
    """The entry is not at the revision you named; read it again."""

    code = "precondition_failed"
    status = 412


class TooLarge(HoldfastError):
    """The value is over its cap."""

    code = "too_large"
    status = 413


class UnsupportedMediaType(HoldfastError):
    """Send application/json, in UTF-8."""

    code = "unsupported_media_type"
    status = 415


class Locked(HoldfastError):
    """This is sealed with a key that is not configured; set it in HOLDFAST_MEMORY_OLD_KEYS, or forget `all`."""

    code = "locked"
    status = 423


class Quota(HoldfastError):
    """The space holds as many entries as it may; forget some or raise HOLDFAST_MAX_ENTRIES."""

    code = "quota"
    status = 429


class RunCap(HoldfastError):
    """An unattended run may save 3 memories; keep the rest for a person."""

    code = "run_cap"
    status = 429


class RateLimited(HoldfastError):
    """Too many calls; wait as long as Retry-After says."""

    code = "rate_limited"
    status = 429
    seconds: int = 1
    """The seconds to wait."""


class Backend(HoldfastError):
    """The store failed in a way the engine did not expect; the log says more."""

    code = "backend"
    status = 500


class Unavailable(HoldfastError):
    """Memory is not available right now; try again."""

    code = "unavailable"
    status = 503


class StorageFull(HoldfastError):
    """The disk is full; nothing was written. Free some space and try again."""

    code = "storage_full"
    status = 507


def family(root: type[HoldfastError] = HoldfastError) -> dict[str, type[HoldfastError]]:
    """Every code of the closed family with its class, for interfaces and documentation."""
    found: dict[str, type[HoldfastError]] = {}
    for child in root.__subclasses__():
        if child is not InvalidInput:
            found[child.code] = child
        found.update(family(child))
    return found

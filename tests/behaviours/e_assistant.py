# ruff: noqa: E501 - a behaviour is one line
"""SPEC E: assistant memory. Its tests are named here as they come; the section is not complete yet."""

_P, _CTX, _ACC, _SIM, _Q = (
    "doors/test_proposals.py::",
    "doors/test_context.py::",
    "doors/test_access.py::",
    "doors/test_similar.py::",
    "doors/test_quarantine.py::",
)

ROWS: tuple[tuple[str, ...], ...] = (
    ("E1.1", "recallHint and content; scopes user and system; no live state", "SPEC E1 [M]"),
    ("E1.2", "sourceConversationId is filled by the server", "SPEC E1 [W]"),
    ("E2.1", "searchMemory: query and limit 1..50, answers with alwaysInject and savedAt", "SPEC E2 [M] [W]"),
    ("E2.2", "saveMemory answers id and updated; systemId exactly with scope system", "SPEC E2 [M]"),
    ("E2.3", "deleteMemory always waits for a person; false for missing and not authorised alike", "SPEC E2 [M] [D]"),
    ("E2.4", "An unattended run saves at most 3 and deletes nothing", "SPEC E2 [M]"),
    ("E2.5", "A near-duplicate updates in place with history; different facts never merge", "SPEC E2 [M] [W]"),
    ("E2.6", "Hints of any script are found and deduplicated", "SPEC E2 [W]"),
    ("E2.7", "A re-save that leaves alwaysInject and tags out keeps them", "SPEC E2 [W]"),
    ("E2.8", "A reader cannot overwrite another author's system memory", "SPEC E2 [W]"),
    ("E3.1", "A proposal is single use, 10 minutes, access re-checked, exactly what was shown", "SPEC E3 [D]", _P + "test_a_proposal_is_approved_once", _P + "test_a_proposal_is_over_after_ten_minutes", _P + "test_access_is_looked_at_again_when_it_is_approved"),
    ("E4.1", "At most 25 always-apply, newest first, with a note on the rest", "SPEC E4 [M] [W]", _CTX + "test_at_most_25_always_apply_are_shown_and_the_rest_is_counted"),
    ("E4.2", "Always-apply in a system or shared space needs manage and a person", "SPEC E4 [W]", _ACC + "test_always_apply_in_a_shared_or_system_space_or_chat_needs_manage"),
    ("E4.3", "Always-apply stands there as data, not as instructions", "SPEC E4 [W]", _CTX + "test_no_stored_text_leaves_its_quotes_its_line_or_the_fence"),
    ("E5.1", "User rows are their owner's; system rows follow access, live", "SPEC E5 [M]", _ACC + "test_file_and_assistant_memories_are_visible_to_their_owner_alone"),
    ("E5.2", "A user and an application of one id share nothing", "SPEC E5 [W]", _ACC + "test_a_user_an_agent_and_a_service_with_one_id_never_meet"),
    ("E5.3", "The two rules are on by default and revocable", "SPEC E5 [M]", _ACC + "test_forgetting_ones_own_data_needs_no_rule"),
    ("E5.4", "Secrets are replaced span by span in hint, content and tags, and counted", "SPEC E5 [M] [W]"),
    ("E6.1", "Search effects: read, mutate, destructive, as annotations", "SPEC E6 [T]"),
)  # fmt: skip

SUPERSEDED = (
    ("E6.90", "The score is a sum of saturated term counts", "SPEC E2 [D]", "DESIGN 7: recall ranks by words and meaning; hints weigh 3, tags and key 2, body 1"),
    ("E6.91", "A match of the scrubber wipes the whole note", "SPEC E5 [D]", "DESIGN 9: spans are replaced, the count reported"),
)  # fmt: skip

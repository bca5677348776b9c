# ruff: noqa: E501 - a behaviour is one line
"""SPEC E: assistant memory."""

_P, _CTX = "behaviours/test_proposals.py::", "behaviours/test_context.py::"
_ACC, _A = "behaviours/test_access.py::", "behaviours/test_assistant.py::"

ROWS: tuple[tuple[str, ...], ...] = (
    ("E1.1", "recallHint and content; scopes user and system; no live state", "SPEC E1 [M]", _A + "test_a_memory_is_saved_and_found_by_its_hint", _A + "test_live_state_is_refused", _A + "test_what_cannot_be_saved_is_refused"),
    ("E1.2", "sourceConversationId is filled by the server", "SPEC E1 [W]", _A + "test_the_conversation_it_came_from_is_kept"),
    ("E2.1", "searchMemory: query and limit 1..50, answers with alwaysInject and savedAt", "SPEC E2 [M] [W]", _A + "test_a_memory_is_saved_and_found_by_its_hint", _A + "test_a_bad_question_is_refused"),
    ("E2.2", "saveMemory answers id and updated; systemId exactly with scope system", "SPEC E2 [M]", _A + "test_what_cannot_be_saved_is_refused", _A + "test_a_near_duplicate_hint_updates_in_place_and_keeps_history"),
    ("E2.3", "deleteMemory always waits for a person; false for missing and not authorised alike", "SPEC E2 [M] [D]", _A + "test_a_model_proposes_and_a_person_decides", _A + "test_what_is_missing_and_what_one_may_not_delete_look_the_same"),
    ("E2.4", "An unattended run saves at most 3 and deletes nothing", "SPEC E2 [M]", _A + "test_a_run_saves_three_and_no_more", _A + "test_it_reads_and_saves_but_never_deletes"),
    ("E2.5", "A near-duplicate updates in place with history; different facts never merge", "SPEC E2 [M] [W]", _A + "test_a_near_duplicate_hint_updates_in_place_and_keeps_history", _A + "test_different_facts_never_merge_and_are_listed_as_similar"),
    ("E2.6", "Hints of any script are found and deduplicated", "SPEC E2 [W]", _A + "test_hints_in_other_scripts_are_found_and_deduplicated"),
    ("E2.7", "A re-save that leaves alwaysInject and tags out keeps them", "SPEC E2 [W]", _A + "test_what_is_left_out_stays"),
    ("E2.8", "A near-duplicate of another author's system memory keeps its author and its history", "SPEC E2 [W]", _A + "test_system_memories_are_deduplicated_whoever_wrote_them_and_keep_their_author"),
    ("E2.9", "A save that updates or supersedes and is cut short anywhere changed all or nothing, and is done once when asked again", "issue 8", "faults/test_cut_short.py::test_whichever_statement_fails_nothing_is_changed_and_asking_again_does_it_once", "faults/test_cut_short.py::test_a_process_killed_in_the_middle_leaves_all_or_nothing_and_asking_again_does_it_once", "postgres/test_cut_short.py::test_whichever_statement_fails_all_happened_or_nothing_and_asking_again_does_it_once"),
    ("E3.1", "A proposal is single use, 10 minutes, access re-checked, exactly what was shown", "SPEC E3 [D]", _P + "test_a_proposal_is_approved_once", _P + "test_a_proposal_is_over_after_ten_minutes", _P + "test_access_is_looked_at_again_when_it_is_approved"),
    ("E4.1", "At most 25 always-apply, newest first, with a note on the rest", "SPEC E4 [M] [W]", _CTX + "test_at_most_25_always_apply_are_shown_and_the_rest_is_counted"),
    ("E4.2", "Always-apply in a system or shared space needs manage and a person", "SPEC E4 [W]", _ACC + "test_always_apply_in_a_shared_or_system_space_or_chat_needs_manage", _A + "test_a_reader_s_always_apply_waits_for_a_manager", _A + "test_in_a_system_only_a_person_who_manages_it_can_say_yes"),
    ("E4.3", "Always-apply stands there as data, not as instructions", "SPEC E4 [W]", _CTX + "test_no_stored_text_leaves_its_quotes_its_line_or_the_fence"),
    ("E5.1", "User rows are their owner's; system rows follow access, live", "SPEC E5 [M]", _ACC + "test_file_and_assistant_memories_are_visible_to_their_owner_alone", _A + "test_user_memories_are_seen_by_their_owner_alone", _A + "test_system_memories_are_seen_by_who_can_read_the_system", _A + "test_an_author_who_lost_the_system_sees_nothing_of_it"),
    ("E5.2", "A user and an application of one id share nothing", "SPEC E5 [W]", _ACC + "test_a_user_an_agent_and_a_service_with_one_id_never_meet"),
    ("E5.3", "The two rules are on by default and revocable", "SPEC E5 [M]", _ACC + "test_forgetting_ones_own_data_needs_no_rule", _A + "test_rules_of_roles_are_honoured"),
    ("E5.4", "Secrets are replaced span by span in hint, content and tags, and counted", "SPEC E5 [M] [W]", _A + "test_secrets_leave_hint_content_and_tags"),
    ("E4.4", "A model only proposes what always applies; a person toggles it", "SPEC E4 [M]", _A + "test_a_model_only_proposes_it", _A + "test_a_person_turns_it_on_and_every_context_holds_it", _A + "test_a_model_cannot_change_what_already_applies"),
    ("E6.2", "A hint weighs more than content; an unrelated question finds nothing", "SPEC E6 [T]", _A + "test_hint_weighs_more_than_content_and_an_unrelated_query_finds_nothing"),
    ("E6.1", "Search effects: read, mutate, destructive, as annotations", "SPEC E6 [T]", "mcp/test_tools.py::test_every_tool_says_all_four_annotations_and_what_it_answers", "mcp/test_assistant.py::test_deleting_waits_for_a_person_and_is_done_when_they_agree"),
)  # fmt: skip

SUPERSEDED = (
    ("E6.90", "The score is a sum of saturated term counts", "SPEC E2 [D]", "DESIGN 7: recall ranks by words and meaning; hints weigh 3, tags and key 2, body 1"),
    ("E6.91", "A match of the scrubber wipes the whole note", "SPEC E5 [D]", "DESIGN 9: spans are replaced, the count reported"),
)  # fmt: skip

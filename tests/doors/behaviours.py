# ruff: noqa: E501 - a behaviour is one line
"""The behaviour manifest: what SPEC, DESIGN and the issue promise of the engine, and the test that proves it.

An id is the section and a number; `M` is a promise, `W` a weakness of a seed system done better, `D` a decision of
DESIGN. The same tests run through every door. Not provable through a door today: B1 default-off of tools without a
configuration and B3 (the cached-tool surface), C2 (the stores vocabulary)."""

from typing import NamedTuple


class Behaviour(NamedTuple):
    id: str
    sentence: str
    source: str
    test: str


BEHAVIOURS = tuple(
    Behaviour(*row)
    for row in (
        # Facts
        ("A2.1", "Key and value are required and trimmed; category and lifetime have defaults", "M A2", "test_facts.py::test_key_and_value_are_trimmed_and_category_and_lifetime_have_defaults"),
        ("A2.2", "Slashes are an informal hierarchy that lists by prefix", "M A2", "test_facts.py::test_facts_are_listed_by_literal_prefix_newest_change_first"),
        ("A2.3", "A value is free text: prose, JSON, code", "M A2", "test_facts.py::test_a_fact_may_hold_prose_json_or_code"),
        ("A2.4", "Reserved categories are refused", "M A2", "test_facts.py::test_a_reserved_category_is_refused_and_nothing_written"),
        ("A2.5", "Tags are kept, trimmed, without repeats", "M A2", "test_facts.py::test_category_is_trimmed_and_tags_are_kept_in_order"),
        ("A2.6", "A lifetime is 1 hour to 365 days, 90 by default, 0 is the default", "M A2", "test_lifetime.py::test_a_fact_lives_an_hour_to_a_year_and_ninety_days_by_default"),
        ("A2.7", "Out of range is refused, never clamped; huge values do not overflow into too short", "W A2", "test_lifetime.py::test_a_lifetime_out_of_range_is_refused_and_never_clamped"),
        ("A2.8", "The same key again: the latest value wins and the change is dated", "M A2", "test_facts.py::test_the_same_key_again_replaces_the_fact_wholly_and_keeps_its_birth"),
        ("A2.9", "Each refusal has its own code and writes nothing", "W A2", "test_facts.py::test_a_fact_that_cannot_be_stored_says_why_and_writes_nothing"),
        ("A2.10", "A store that keeps nothing says so", "W A2", "test_off.py::test_writes_are_accepted_but_not_persisted_and_say_so"),
        # Forgetting
        ("A4.1", "all forgets facts, runs, caches, sessions and trash of the caller", "M W A4", "test_forget.py::test_forget_all_removes_every_room_session_and_the_trash_of_the_caller"),
        ("A4.2", "pack, pipeline, packs, pipelines forget runs and never facts", "M A4", "test_forget.py::test_runs_are_forgotten_by_kind_and_id_and_facts_never_with_them"),
        ("A4.3", "key: forgets exactly one key, case-sensitive", "M W A4", "test_forget.py::test_key_forgets_exactly_one_key"),
        ("A4.4", "A missing, unknown or empty scope is refused and never means all", "D A4", "test_forget.py::test_a_scope_that_is_not_one_is_refused_and_forgets_nothing"),
        ("A4.5", "Every vocabulary parses the same scopes", "W A4", "test_forget.py::test_forget_all_through_the_facts_vocabulary_is_the_same"),
        ("A4.6", "Forgetting clears the caller's own memory and nobody else's", "W A4", "test_forget.py::test_forget_all_leaves_everyone_else_alone"),
        ("A4.7", "Unreadable rows do not block forgetting all", "W A4", "test_off.py::test_a_throw_away_key_keeps_memories_while_the_process_runs_and_warns"),
        ("A4.8", "Rows kept in other spaces are counted", "D 4", "test_forget.py::test_forget_all_counts_what_is_kept_elsewhere"),
        # Guarantees
        ("A5.1", "A fact of one subject is invisible to another", "M A5", "test_facts.py::test_a_fact_of_alice_is_invisible_to_bob"),
        ("A5.2", "Without a subject the caller is unknown", "M A5", "test_facts.py::test_an_empty_subject_is_the_caller_unknown"),
        ("A5.3", "No fact is permanent, not even by an edit", "M A5", "test_lifetime.py::test_an_edit_keeps_the_bounds_of_a_fact"),
        ("A5.4", "A fact cannot pose as recorded history by its key", "W A5", "test_facts.py::test_a_fact_cannot_pose_as_recorded_history_by_its_key"),
        ("A5.5", "A fact cannot poison a cached result", "W A5", "test_facts.py::test_a_fact_named_like_a_cached_result_stays_a_fact"),
        ("A5.6", "The trajectory of a key can be read", "M A5", "test_facts.py::test_the_trajectory_of_a_key_is_kept_newest_first"),
        ("A5.7", "my-memory shows counts and keys, never values, and no tool data", "M W A3", "test_facts.py::test_my_memory_shows_neither_tool_data_nor_internal_entries"),
        # Handler memory
        ("B1.1", "Without a store the handle is None", "M B1", "test_off.py::test_tools_get_no_handle"),
        ("B1.2", "A value comes back with category, tags, times and fingerprint", "M B1", "test_handle.py::test_a_value_comes_back_with_category_tags_times_and_fingerprint"),
        ("B1.3", "Recall of an absent or expired key is an error", "M B1", "test_handle.py::test_a_missing_key_is_not_found"),
        ("B1.4", "List is newest first under a literal prefix", "M W B1 B4", "test_handle.py::test_a_list_is_newest_first_under_a_literal_prefix"),
        ("B1.5", "Delete is final, a missing key is no error", "M B1", "test_handle.py::test_deleting_is_final_and_a_missing_key_is_no_error"),
        ("B1.6", "The namespace is shown", "M B1", "test_handle.py::test_the_namespace_is_the_subject_or_subject_and_session"),
        ("B1.7", "Context groups the newest entries by category, with values", "M B1", "test_handle.py::test_context_groups_the_newest_entries_with_values_by_category"),
        ("B2.1", "Sessions and subjects never mix, however they are spelt", "M W B2", "test_handle.py::test_sessions_and_subjects_do_not_mix"),
        ("B2.2", "What the next session is to find goes to the subject", "W B2", "test_handle.py::test_what_the_next_session_is_to_find_goes_to_the_subject"),
        ("B4.1", "A key that is not 32 bytes of hex is refused", "M B4", "test_off.py::test_a_key_of_the_wrong_form_is_refused_and_makes_no_store"),
        ("B4.2", "No key makes a key file once", "W B4", "test_off.py::test_without_a_key_a_key_file_is_made_once_for_its_owner_alone"),
        ("B4.3", "An ephemeral key is explicit, warns, and orphans its rows", "M W B4", "test_off.py::test_a_throw_away_key_keeps_memories_while_the_process_runs_and_warns"),
        ("B4.4", "A wrong key is refused at opening, before anything is written", "M W B4", "test_off.py::test_a_wrong_key_is_refused_at_opening_and_nothing_is_written"),
        ("B4.5", "Fingerprints are keyed", "W B4", "test_handle.py::test_equal_values_have_equal_fingerprints_that_nobody_can_guess_without_the_key"),
        ("B4.6", "The sweep runs by itself", "W B4", "test_lifetime.py::test_the_sweep_really_runs_in_the_background"),
        ("B4.7", "The sweep is bounded", "D 4", "test_lifetime.py::test_a_sweep_works_in_bounded_batches_and_goes_on_next_time"),
        ("B4.8", "Expiry is exact to the microsecond", "W B4", "test_lifetime.py::test_an_entry_is_there_until_the_last_microsecond_and_gone_at_its_expiry"),
        ("B4.9", "Order follows changes, whatever clocks say", "W B4", "test_lists.py::test_the_newest_change_comes_first_whatever_the_clock_says"),
        ("B4.10", "Wildcards in a prefix are literal", "W B4", "test_lists.py::test_a_prefix_is_literal_and_case_sensitive"),
        # Spaces and access
        ("C1.1", "Levels search < read < readwrite < manage", "M C1", "test_access.py::test_a_grant_gives_its_level_and_no_more"),
        ("C1.2", "Entries and grants have lifetimes", "M C1", "test_lifetime.py::test_a_grant_ends_at_its_moment"),
        ("C1.3", "Client-encrypted entries are opaque", "M C1", "test_access.py::test_client_encrypted_entries_are_given_back_as_they_are_with_their_flag"),
        ("C3.1", "One's own space", "M C3", "test_access.py::test_everyone_manages_their_own_space"),
        ("C3.2", "A participant enters the chat, live", "M C3", "test_access.py::test_a_stored_list_of_participants_overrides_claims_at_once"),
        ("C3.3", "The session user's space is open for the session", "M C3", "test_access.py::test_an_agent_enters_the_space_of_the_user_it_works_for_and_only_then"),
        ("C3.4", "Contextual access is never stored", "M C3", "test_access.py::test_standing_that_comes_from_circumstances_cannot_be_turned_into_a_stored_grant"),
        ("C3.5", "Everything else is denied, alike whether or not it exists", "M C3, D 3", "test_access.py::test_a_space_one_cannot_enter_answers_alike_whether_or_not_it_exists"),
        ("C3.6", "The owner is set by the engine", "M C3", "test_access.py::test_the_owner_and_the_origin_of_an_entry_are_set_by_the_engine"),
        ("C3.7", "An id is no key to the space", "M C3", "test_access.py::test_a_space_id_is_no_key_to_the_space"),
        ("C3.8", "Sharing needs readwrite", "M C3", "test_sharing.py::test_sharing_needs_readwrite"),
        ("C3.9", "Search level blocks list and view", "M C3", "test_access.py::test_a_search_grant_hides_even_whether_an_id_exists"),
        ("C3.10", "Delegation is limited in level", "W C3", "test_sharing.py::test_nobody_gives_more_than_they_hold"),
        ("C3.11", "Delegation is limited in time", "W C3", "test_sharing.py::test_nobody_gives_for_longer_than_they_hold"),
        ("C3.12", "Readwrite takes back only its own grants", "W C3", "test_sharing.py::test_readwrite_takes_back_its_own_grants_and_manage_any"),
        ("C3.13", "Revocation cascades", "W C3", "test_sharing.py::test_taking_a_grant_back_takes_every_reshare_that_stood_on_it"),
        ("C4.1", "Internal entries are invisible by key, list and id", "M W C4", "test_access.py::test_internal_entries_are_invisible_to_their_own_writer"),
        ("C4.2", "Limits apply after the access filter", "W C4", "test_lists.py::test_foreign_rows_do_not_starve_a_page"),
        ("C4.3", "Two owners with one key are told apart", "W C4", "test_access.py::test_a_key_resolves_to_ones_own_row_else_to_the_newest"),
        ("C4.4", "A contextual space that is advertised can be entered", "W C4", "test_access.py::test_a_chat_is_open_to_those_the_host_vouches_for"),
        ("C4.5", "Sharing again replaces level and expiry", "W C4", "test_lifetime.py::test_sharing_again_replaces_level_and_expiry"),
        ("C4.6", "An unknown level is refused", "W C4", "test_sharing.py::test_an_unknown_level_is_refused"),
        ("C4.7", "Sharing without a level gives read", "W C4", "test_sharing.py::test_a_share_is_at_read_level_to_an_agent_unless_said_otherwise"),
        ("C4.8", "Expired rows are purged", "W C4", "test_lifetime.py::test_a_sweep_counts_what_it_removes_and_leaves_the_rest"),
        ("C4.9", "Removing what is not there says so", "W C4", "test_sharing.py::test_taking_back_what_was_never_given_says_so"),
        # Where the five meet
        ("F.1", "Overwriting appends a revision and can be undone", "D F", "test_history.py::test_undo_brings_back_the_state_before_and_again_the_one_before_that"),
        ("F.2", "Trash and purge are two operations", "D F", "test_forget.py::test_trash_hides_and_restore_brings_back_with_history"),
        ("F.3", "Deleting: the creator, or manage; in a system manage", "D F", "test_access.py::test_in_a_system_only_a_manager_deletes_creator_or_not"),
        ("F.4", "Always-apply in a shared space needs manage", "D F", "test_access.py::test_always_apply_in_a_shared_or_system_space_or_chat_needs_manage"),
        ("F.5", "An agent's space is never a user's", "D F", "test_access.py::test_a_user_an_agent_and_a_service_with_one_id_never_meet"),
        ("F.6", "Rename is one transaction that loses nothing", "W C2", "test_history.py::test_a_rename_onto_a_taken_key_is_a_conflict_and_loses_nothing"),
        ("F.7", "Replacing is literal, first occurrence, counted", "W C2", "test_history.py::test_replacing_is_literal"),
        ("D3.1", "Rules are revocable per role; forgetting one's own is not", "D 3", "test_access.py::test_forgetting_ones_own_data_needs_no_rule"),
        ("D3.2", "An administrator sees no entries", "D 3", "test_access.py::test_an_administrator_sees_no_entries"),
        ("D3.3", "An entry one cannot see is like one that does not exist", "D 3", "test_access.py::test_an_entry_one_cannot_see_is_not_found_whether_or_not_it_exists"),
        ("D3.4", "An ambiguous reference is a conflict", "D 3", "test_access.py::test_a_reference_that_fits_two_spaces_is_a_conflict"),
        ("D3.5", "Systems are granted to users and teams", "D 3", "test_access.py::test_access_to_a_system_comes_from_its_list_of_users_and_teams"),
        ("D3.6", "A host's directory opens systems and chats, live", "D 3", "test_access.py::test_a_host_directory_opens_systems_and_chats_live"),
        ("D1.1", "Files and assistant rows are visible to their owner alone", "D 1", "test_access.py::test_file_and_assistant_memories_are_visible_to_their_owner_alone"),
        ("D11.1", "What is over its cap or broken is refused with its code and writes nothing", "D 10, 11", "test_bad_input.py::test_remember_refuses_what_it_cannot_keep_and_writes_nothing"),
        ("D12.1", "Off: one entry is unavailable, lists are empty with a note", "D 12", "test_off.py::test_lists_are_empty_with_a_note"),
        ("I2.1", "Concurrent writers on one key: one winner a revision", "issue 2", "test_concurrency.py::test_with_an_expected_revision_each_revision_has_one_winner"),
        ("I2.2", "History has every accepted write", "issue 2", "test_concurrency.py::test_without_one_every_accepted_write_is_in_history"),
        ("I2.3", "Cursor pages show each entry once under any writes", "issue 2", "test_lists.py::test_pages_show_each_entry_once_however_much_is_written_between"),
        ("I2.4", "A repeated request is written once", "issue 2", "test_repeats.py::test_a_repeated_request_is_answered_alike_and_written_once"),
        ("I2.5", "Many rows: one outcome a row", "issue 2", "test_repeats.py::test_a_refused_row_takes_nothing_from_the_others"),
        # Recall
        ("I3.1", "A note is found by its words as soon as it is kept", "issue 3", "test_recall.py::test_a_note_is_found_by_its_words_as_soon_as_it_is_kept"),
        ("I3.2", "An empty question gives the newest first", "issue 3", "test_recall.py::test_an_empty_question_gives_the_newest_first"),
        ("I3.3", "Category and tags narrow, and all must hold", "issue 3", "test_recall.py::test_category_and_tags_narrow_and_all_must_hold"),
        ("I3.4", "Dates narrow, both edges included", "issue 3", "test_recall.py::test_dates_narrow_by_when_it_was_said_both_edges_included"),
        ("I3.5", "A recall stays within the spaces it names", "issue 3", "test_recall.py::test_a_recall_stays_within_the_spaces_it_names"),
        ("I3.6", "Limits apply after filters", "issue 3", "test_recall.py::test_what_a_filter_leaves_out_does_not_count_towards_the_limit"),
        ("I3.7", "Any text is a question", "issue 3", "test_recall.py::test_no_text_makes_recall_or_why_not_raise"),
        ("I3.8", "Japanese, Chinese and Korean are found by two-character words", "issue 3", "test_recall_words.py::test_japanese_chinese_and_korean_notes_are_found_by_two_character_words"),
        ("I3.9", "German compounds and accented words are found by their plain spelling", "issue 3", "test_recall_words.py::test_german_compounds_and_accented_words_are_found_by_their_plain_spelling"),
        ("I3.10", "Identifiers, versions and paths are found whole and by their parts", "issue 3", "test_recall_words.py::test_identifiers_versions_and_paths_are_found_whole_and_by_their_parts"),
        ("I3.11", "A slip of the pen finds the nearest word the caller may see", "issue 3", "test_recall_words.py::test_a_slip_is_mended_by_words_that_the_caller_may_see_alone"),
        ("I3.12", "The parts of an explained score add up", "issue 3, D 7", "test_recall.py::test_the_parts_of_an_explained_score_add_up"),
        ("I3.13", "Equal questions get equal answers, ties to the newer", "issue 3", "test_recall.py::test_equal_scores_go_to_the_newer"),
        ("I3.14", "Why-not tells what one may not see and what does not exist alike", "issue 3, D 3", "test_why_not.py::test_what_one_may_not_see_and_what_does_not_exist_are_told_alike"),
        ("I3.15", "Why-not says shown of exactly the hits", "issue 3", "test_why_not.py::test_shown_is_said_of_exactly_the_hits"),
        ("I3.16", "A write does not wait for its vector", "D 7", "test_vectors.py::test_a_write_does_not_wait_for_its_vector_and_is_found_by_words_at_once"),
        ("I3.17", "Vectors outlive a restart", "issue 3", "test_vectors.py::test_vectors_outlive_a_restart_without_being_made_again"),
        ("I3.18", "Work that stopped half way goes on, in whatever process", "issue 3", "test_vectors.py::test_another_process_goes_on_where_the_first_was_killed"),
        ("I3.19", "A broken embedder leaves word results, says so, and recovers", "issue 3, D 7", "test_vectors.py::test_a_broken_embedder_leaves_word_results_and_says_so_until_it_recovers"),
        ("I3.20", "A damaged model file gives degraded word results", "issue 3", "test_real_model.py::test_a_damaged_model_file_gives_degraded_word_results"),
        ("I3.21", "A changed embedder serves once all its vectors are there", "issue 3", "test_changing_models.py::test_words_decide_until_the_new_model_has_caught_up_and_then_it_serves"),
        ("I3.22", "Exactly one model serves at every moment", "issue 3", "test_changing_models.py::test_exactly_one_model_serves_at_every_moment_of_a_change"),
        ("I3.23", "Going back uses the vectors that were kept", "issue 3", "test_changing_models.py::test_going_back_uses_the_vectors_that_were_kept"),
        ("I3.24", "An absurd model is held back until a person decides", "issue 3", "test_changing_models.py::test_an_absurd_model_is_held_back_until_a_person_lets_it_serve"),
        ("I3.25", "A purge removes the vectors of every model", "D 4", "test_changing_models.py::test_a_purge_removes_the_vectors_of_every_model"),
        ("I3.26", "What another process writes is found at once, and gone once purged", "issue 3", "test_recall.py::test_what_another_process_writes_is_found_at_once_and_gone_once_purged"),
        ("I3.27", "Settling waits, and has an end", "issue 3", "test_vectors.py::test_settling_has_an_end_and_says_what_still_waits"),
        ("C4.10", "Search level finds, and neither lists nor reads", "M C4", "test_recall.py::test_a_search_grant_finds_but_neither_lists_nor_reads"),
        ("C4.11", "The best match of another principal is absent, not lower", "W C4", "test_recall.py::test_the_best_match_of_another_principal_is_absent_and_not_lower"),
        ("C4.12", "Private rooms do not starve the limit of a search", "W C4", "test_recall.py::test_private_rooms_do_not_starve_the_limit_nor_show"),
        ("C4.13", "Internal, handler, cache and run entries are never found", "M C4, D 1", "test_recall.py::test_internal_handler_cache_and_run_entries_never_show"),
        ("D6.1", "Client-encrypted entries are never indexed or recalled", "D 6", "test_recall.py::test_what_a_client_encrypted_is_never_found"),
        ("D9.1", "What is quarantined is left out of recall", "D 9", "test_recall.py::test_a_quarantined_entry_never_shows_whenever_it_was_marked"),
        ("D12.2", "Off: recall answers an empty list with a note", "D 12", "test_recall.py::test_memory_that_is_off_answers_an_empty_list_with_a_note"),
    )
)  # fmt: skip

SUPERSEDED = {
    "A6.13 forget all keeps caches": "DESIGN 4: forget all also removes caches",
    "A6.13 an empty scope is all": "DESIGN 4: a missing or empty scope is refused",
    "B5.10 wrong key: list fails": "DESIGN 6: a wrong key is refused at opening; a locked row is counted and skipped",
    "C5 edit rejects multiple matches": "SPEC head: the first occurrence is replaced and the count reported",
    "C5 rename is three calls": "SPEC head: rename is one transaction",
}

# ruff: noqa: E501 - a behaviour is one line
"""SPEC C: the memory tool over stores, its older aliases, and memory_20250818. Access by itself stands in engine.py."""

_S, _A, _I, _P = (
    "behaviours/test_stores.py::",
    "behaviours/test_store_access.py::",
    "behaviours/test_store_internals.py::",
    "behaviours/test_store_proposals.py::",
)
_KV, _ANT, _MCP, _AGENTS = (
    "behaviours/test_kv.py::",
    "behaviours/test_anthropic.py::",
    "mcp/test_stores.py::",
    "behaviours/test_agents.py::",
)

ROWS = (
    ("C2.1", "view: an entry by path; a missing one is null", "SPEC C2 [M] [D], C5", _S + "test_an_entry_is_created_viewed_and_belongs_to_who_wrote_it", _S + "test_viewing_a_missing_entry_gives_null"),
    ("C2.2", "A path that ends in a slash lists, only what a model may see", "SPEC C2 [M], C5", _S + "test_a_path_that_ends_in_a_slash_lists_what_lies_under_it", _S + "test_only_entries_of_this_vocabulary_are_listed_viewed_and_found"),
    ("C2.3", "create makes or overwrites text or JSON, with history", "SPEC C2 [M], C5", _S + "test_a_value_is_text_or_any_json_and_comes_back_as_it_was", _S + "test_creating_again_overwrites_and_keeps_the_history"),
    ("C2.4", "edit replaces the first occurrence, literally, counts and shows a small difference", "SPEC C2 [M] [D], SPEC head", _S + "test_an_edit_replaces_the_first_occurrence_and_says_how_many_there_were", _S + "test_an_edit_takes_both_passages_literally", _S + "test_the_difference_of_an_edit_shows_forty_characters_around_it"),
    ("C2.5", "edit takes text alone", "SPEC C2 [D], C5", _S + "test_only_text_is_edited"),
    ("C2.6", "delete is its creator's alone, and restorable", "SPEC C2 [M], DESIGN 3", _S + "test_only_who_made_an_entry_deletes_or_renames_it", _S + "test_a_deleted_entry_is_gone_from_the_tool_and_can_be_restored"),
    ("C2.7", "rename is one transaction that keeps value, expiry, owner and history, over stores too", "SPEC C2 [M] [W]", _S + "test_a_rename_keeps_value_expiry_owner_and_history", _S + "test_a_rename_moves_between_stores_when_both_may_be_written", _S + "test_a_rename_that_fails_leaves_everything_as_it_was"),
    ("C2.8", "search covers every store that can be searched and no other", "SPEC C2 [M]", _A + "test_a_search_covers_every_store_that_can_be_searched_and_no_other"),
    ("C2.9", "share and unshare work on a store or a path; sharing again replaces", "SPEC C2 [M], C5", _A + "test_sharing_again_replaces_level_and_expiry_and_unsharing_takes_it_back", _A + "test_a_space_of_ones_own_is_made_filled_and_shared"),
    ("C2.10", "A model's share waits for a person unless the operator lets it", "SPEC C2 [D], DESIGN 9", _P + "test_a_share_by_a_model_waits_until_the_person_it_works_for_approves", _P + "test_an_operator_may_let_models_share", _MCP + "test_a_share_is_asked_of_the_person_and_done_when_they_agree"),
    ("C2.11", "stores lists the own, the granted and those of chat and user, each addressable", "SPEC C2 [M], C4 [W]", _A + "test_stores_are_the_own_one_the_granted_and_those_of_chat_and_user", _A + "test_every_store_that_is_listed_can_be_addressed_by_its_id"),
    ("C2.12", "A refusal is a value with a sentence; what is missing is named", "SPEC C2 [D], C5", _S + "test_a_request_that_cannot_be_carried_out_says_what_is_missing", _MCP + "test_a_refusal_is_a_value_with_a_sentence_and_the_code_of_every_door"),
    ("C2.13", "The schema is strict, has no union at its top, and scope reaches its own store", "SPEC C2 [D] [W]", _MCP + "test_the_schema_of_the_memory_tool_is_strict_and_has_no_unions_at_its_top", _A + "test_user_and_chat_scopes_are_stores_of_their_own"),
    ("C2.14", "Eight actions of older variants are aliases of the same entries", "SPEC C2 [D]", _S + "test_the_three_vocabularies_speak_of_the_same_entries", _MCP + "test_older_agents_are_understood_in_their_words_which_no_model_is_told_of", "cli/test_call.py::test_the_memory_tool_takes_paths_keys_and_the_older_words"),
    ("C2.15", "kv_set, kv_get and kv_delete are there; a missing key is empty text", "SPEC C2 [M] [W]", _KV + "test_a_value_is_set_read_replaced_and_deleted", _KV + "test_a_missing_key_gives_an_empty_text", _KV + "test_only_who_set_a_key_reads_and_deletes_it_here", _MCP + "test_the_kv_tools_keep_texts"),
    ("C2.16", "A time to live of 0 is none; the owner's default counts unless told", "SPEC C2 [M], C5", _S + "test_an_entry_lives_as_long_as_it_was_told_and_zero_is_for_ever", _AGENTS + "test_entries_live_as_long_as_the_owner_has_set_unless_told"),
    ("C2.17", "Namespaces are rooms of keys, and narrow a search", "SPEC C1 [M]", _S + "test_namespaces_keep_equal_keys_apart", _S + "test_a_search_may_be_narrowed_to_a_namespace"),
    ("C2.18", "A model that nobody watches deletes nothing", "DESIGN 3", _MCP + "test_a_model_that_nobody_watches_deletes_nothing"),
    ("C4.20", "Internal values come back to their skill and to no command, search or other agent", "SPEC C4 [M] [W]", _I + "test_a_skill_gets_back_what_it_kept", _I + "test_no_command_of_the_tool_shows_what_is_internal", _I + "test_skills_of_different_agents_do_not_read_each_other_in_a_shared_store", _MCP + "test_no_tool_reaches_what_is_internal"),
    ("C4.21", "An internal value over a visible entry leaves nothing visible", "SPEC C4 [W]", _I + "test_an_internal_value_over_a_visible_entry_leaves_nothing_visible"),
    ("C4.22", "Client-encrypted values come back with their flag and are never found", "SPEC C1 [M]", _A + "test_what_a_client_encrypted_comes_back_with_its_flag_and_is_never_found", _I + "test_bytes_that_a_client_encrypted_come_back_as_bytes"),
    ("C4.23", "Foreign rows do not starve a search; two owners of a key are told apart", "SPEC C4 [W]", _A + "test_foreign_entries_do_not_starve_a_search", _A + "test_two_owners_of_one_key_each_see_their_own_and_a_list_shows_both"),
    ("C4.24", "Per agent: a master switch, and one each for self, chat and user", "SPEC C4 [M]", _AGENTS + "test_an_agent_whose_memory_is_off_has_none_in_any_vocabulary", _AGENTS + "test_each_store_has_its_switch", _AGENTS + "test_only_the_owner_and_administrators_set_what_an_agent_may"),
    ("C4.25", "What somebody would see at a level is shown before it is given", "issue: grant preview", "behaviours/test_store_preview.py::test_a_preview_agrees_with_what_is_seen_once_it_is_given"),
    ("C4.26", "A client encrypts with a key of its own that never leaves it", "SPEC C4 [W]", "behaviours/test_own_key.py::test_the_engine_never_has_the_text_and_finds_none_of_its_words"),
    ("C4.27", "Only an agent's owner or an administrator sets what its memory is for", "INTERFACE stores", "behaviours/test_agents.py::test_only_the_owner_and_administrators_set_what_an_agent_may"),
    ("C4.28", "A rename or an edit that is cut short anywhere changed all or nothing, and is done once when asked again", "issue 8", "faults/test_cut_short.py::test_whichever_statement_fails_nothing_is_changed_and_asking_again_does_it_once", "faults/test_cut_short.py::test_a_process_killed_in_the_middle_leaves_all_or_nothing_and_asking_again_does_it_once", "postgres/test_cut_short.py::test_whichever_statement_fails_all_happened_or_nothing_and_asking_again_does_it_once"),
    ("C6.1", "memory_20250818 answers in the words of the reference, any sequence of commands", "SPEC C6", _ANT + "test_any_sequence_of_commands_is_answered_as_the_reference_answers_it", _MCP + "test_the_tool_of_claude_models_answers_in_its_own_words"),
    ("C6.2", "view lists two levels with sizes and shows files with line numbers", "SPEC C6", _ANT + "test_a_folder_lists_two_levels_with_sizes_and_without_hidden_files", _ANT + "test_a_file_is_shown_with_line_numbers_and_by_range"),
    ("C6.3", "create fails if the file exists; a folder is renamed whole or not at all", "SPEC C6", _ANT + "test_a_file_that_exists_is_not_created_again", _ANT + "test_a_folder_is_renamed_whole_or_not_at_all"),
    ("C6.4", "Nobody sees the files of another", "SPEC C6", _ANT + "test_nobody_sees_the_files_of_another"),
)  # fmt: skip

SUPERSEDED = (
    ("C5.1", "edit rejects multiple matches", "SPEC C5", "SPEC head: the first occurrence is replaced and the count reported"),
    ("C5.4", "A trailing .md is stripped from keys", "SPEC C2 [D]", "The files of memory_20250818 are the same entries, and keep their names"),
    ("C5.2", "rename is three calls", "SPEC C5", "SPEC head: rename is one transaction"),
    ("C5.3", "Seven commands visible to a model, share and unshare hidden", "SPEC C5", "INTERFACE: nine commands; a model's share waits for a person (DESIGN 9)"),
)  # fmt: skip

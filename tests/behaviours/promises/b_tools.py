# ruff: noqa: E501 - a behaviour is one line
"""SPEC B: handler memory, cached tools, recorded runs."""

_H, _OFF, _LIFE, _LISTS = (
    "behaviours/test_handle.py::",
    "behaviours/test_off.py::",
    "behaviours/test_lifetime.py::",
    "behaviours/test_lists.py::",
)
_T, _FLIGHTS, _RUNS = (
    "behaviours/test_tools.py::",
    "behaviours/test_tool_flights.py::",
    "behaviours/test_runs.py::",
)

ROWS = (
    ("B1.1", "Without a store the handle is None and tools run unchanged", "SPEC B1 [M], T15", _OFF + "test_tools_get_no_handle", _T + "test_with_memory_off_a_tool_runs_unchanged_and_gets_no_memory"),
    ("B1.2", "A tool without a cache runs each time", "SPEC B1 [M], T16", _T + "test_a_tool_without_a_cache_runs_each_time"),
    ("B1.3", "A value comes back with category, tags, times and fingerprint", "SPEC B1 [M], T1", _H + "test_a_value_comes_back_with_category_tags_times_and_fingerprint"),
    ("B1.4", "Recall of an absent or expired key is an error", "SPEC B1 [M], T2 T5", _H + "test_a_missing_key_is_not_found", _LIFE + "test_an_entry_is_there_until_the_last_microsecond_and_gone_at_its_expiry"),
    ("B1.5", "List is newest first under a literal prefix", "SPEC B1 [M], B4 [W], T9 T11", _H + "test_a_list_is_newest_first_under_a_literal_prefix"),
    ("B1.6", "Delete is final, a missing key is no error", "SPEC B1 [M], T7", _H + "test_deleting_is_final_and_a_missing_key_is_no_error"),
    ("B1.7", "The namespace is shown; an empty subject is unknown", "SPEC B1 [M], T20 T21", _H + "test_the_namespace_is_the_subject_or_subject_and_session"),
    ("B1.8", "Context groups the newest entries by category, with values", "SPEC B1 [M], INTERFACE, T20", _H + "test_context_groups_the_newest_entries_with_values_by_category"),
    ("B1.9", "Writing again leaves one row and keeps its birth", "SPEC B1 [D], T3", _H + "test_writing_again_leaves_one_entry_and_keeps_its_birth"),
    ("B1.10", "Values are opaque bytes to 1 MiB; no time to live is for ever", "SPEC B1 [D]", _H + "test_values_are_opaque_bytes", _LIFE + "test_tool_data_without_a_lifetime_stays_for_ever"),
    ("B1.11", "A tool is given its caller's memory, blocking or awaited", "SPEC B1 [M], INTERFACE", _T + "test_a_tool_is_given_the_memory_of_its_caller_and_session", _FLIGHTS + "test_an_awaited_function_stays_one_and_is_cached_alike", _FLIGHTS + "test_a_blocking_function_gets_a_handle_that_blocks_from_every_memory"),
    ("B2.1", "Sessions and subjects never mix, however they are spelt", "SPEC B2 [M] [W], T4", _H + "test_sessions_and_subjects_do_not_mix"),
    ("B2.2", "What the next session is to find goes to the subject", "SPEC B2 [W]", _H + "test_what_the_next_session_is_to_find_goes_to_the_subject"),
    ("B2.3", "Who calls holds for its block and its tasks, else unknown", "INTERFACE", _T + "test_callers_nest_and_end_with_their_block", _T + "test_a_caller_goes_along_into_a_copied_context_and_not_into_a_bare_thread"),
    ("B3.1", "A second identical call skips the function; another input is a miss", "SPEC B3 [M], T17 T18", _T + "test_a_second_identical_call_is_answered_from_the_cache_and_skips_the_function", _T + "test_another_input_is_a_miss"),
    ("B3.2", "Two callers never share", "SPEC B3 [M], T19", _T + "test_two_callers_never_share_and_unknown_is_one_of_them"),
    ("B3.3", "Entries end with their time to live; 0 and none are refused at registration", "SPEC B3 [M]", _T + "test_an_entry_ends_with_its_time_to_live", _T + "test_a_cache_that_never_ends_or_has_ended_already_is_refused_at_registration"),
    ("B3.4", "Credentials are never cached", "SPEC B3 [M]", _T + "test_an_output_that_carries_credentials_is_given_back_and_never_kept"),
    ("B3.5", "Volatile outputs are never cached, nor given to those that wait", "SPEC B3 [M]", _T + "test_a_tool_can_say_that_an_output_is_for_this_call_alone", _FLIGHTS + "test_what_is_for_one_call_alone_is_not_given_to_those_that_waited"),
    ("B3.6", "Inputs are canonical: order and spelling do not matter, kinds do", "SPEC B3 [W]", _T + "test_inputs_that_are_equal_as_json_are_one_input", _T + "test_an_argument_is_the_same_however_it_is_passed_and_a_default_is_said", _T + "test_a_name_that_is_a_number_is_not_the_same_name_as_text"),
    ("B3.7", "A new version never sees what the old one kept", "SPEC B3 [W]", _T + "test_a_new_version_never_sees_what_the_old_one_kept"),
    ("B3.8", "Sessions of one caller share, so session tools hit", "SPEC B3 [W]", _T + "test_sessions_of_one_caller_share_what_was_answered"),
    ("B3.9", "50 calls at once run the function once, in threads and in tasks", "SPEC B3 [W], issue 7", _FLIGHTS + "test_fifty_threads_that_ask_for_the_same_run_it_once", _FLIGHTS + "test_fifty_tasks_that_ask_for_the_same_run_it_once"),
    ("B3.10", "A cache that fails never fails the call", "SPEC B3 [D]", _T + "test_a_cache_that_fails_never_fails_the_call", _T + "test_a_tool_runs_on_after_the_memory_is_closed"),
    ("B3.11", "A hit is recorded", "SPEC B3 [D]", _RUNS + "test_every_run_is_recorded_and_a_hit_too"),
    ("B3.12", "What is not kept is counted and logged, without its content", "issue 7", _T + "test_what_would_come_back_as_something_else_is_not_kept_and_that_is_counted_and_logged", _T + "test_values_are_kept_up_to_a_mebibyte_and_no_further"),
    ("B3.13", "A hit gives back exactly what the tool gave", "issue 7", _T + "test_a_hit_gives_back_what_the_tool_gave_type_for_type", _T + "test_what_a_caller_does_to_an_answer_changes_no_later_answer"),
    ("B3.14", "The example is opted in with five minutes", "SPEC B3 [M], T22", _T + "test_the_example_asks_the_service_once_in_five_minutes"),
    ("B3.15", "An error is the tool's own and never kept; who waited runs for itself", "SPEC B3", _T + "test_an_error_of_the_tool_is_its_own_and_is_not_kept", _FLIGHTS + "test_when_the_one_that_runs_fails_each_that_waited_runs_for_itself", _FLIGHTS + "test_when_the_one_that_runs_is_cancelled_another_takes_its_place"),
    ("B3.16", "Tools leave half of a space to people", "DESIGN 11", _T + "test_tools_leave_half_of_a_space_to_people"),
    ("B4.1", "A key that is not 32 bytes of hex is refused", "SPEC B4 [M], T13", _OFF + "test_a_key_of_the_wrong_form_is_refused_and_makes_no_store"),
    ("B4.2", "No key makes a key file once", "SPEC B4 [W], DESIGN", _OFF + "test_without_a_key_a_key_file_is_made_once_for_its_owner_alone"),
    ("B4.3", "An ephemeral key is explicit, warns, and orphans its rows", "SPEC B4 [M] [W]", _OFF + "test_a_throw_away_key_keeps_memories_while_the_process_runs_and_warns"),
    ("B4.4", "A wrong key is refused at opening, before anything is written", "SPEC B4 [M] [W]", _OFF + "test_a_wrong_key_is_refused_at_opening_and_nothing_is_written"),
    ("B4.5", "Fingerprints are keyed", "SPEC B4 [W]", _H + "test_equal_values_have_equal_fingerprints_that_nobody_can_guess_without_the_key"),
    ("B4.6", "The sweep runs by itself and removes only what has expired", "SPEC B4 [W], T6", _LIFE + "test_the_sweep_really_runs_in_the_background", _LIFE + "test_a_sweep_counts_what_it_removes_and_leaves_the_rest"),
    ("B4.7", "The sweep is bounded", "DESIGN 4", _LIFE + "test_a_sweep_works_in_bounded_batches_and_goes_on_next_time"),
    ("B4.8", "Expiry is exact to the microsecond", "SPEC B4 [W]", _LIFE + "test_an_entry_is_there_until_the_last_microsecond_and_gone_at_its_expiry"),
    ("B4.9", "Order follows changes, whatever clocks say", "SPEC B4 [W]", _LISTS + "test_the_newest_change_comes_first_whatever_the_clock_says"),
    ("B4.10", "Wildcards in a prefix are literal", "SPEC B4 [W], T9", _LISTS + "test_a_prefix_is_literal_and_case_sensitive"),
    ("B4.11", "No plaintext is in any byte of the store; ciphertexts cannot be exchanged", "SPEC B4 [M] [W], T12", "security/test_at_rest.py::test_no_word_is_in_any_byte_after_the_store_was_closed"),
    ("B4.12", "Spaces are counted without opening an entry", "SPEC B1 [D], T8", "behaviours/test_facts.py::test_who_calls_sees_their_own_counts_and_an_administrator_all_of_them"),
    ("B4.13", "A new store has its tables by migration", "SPEC B5 T14", "security/test_migrations.py::test_a_new_file_says_whose_it_is_and_which_schema_it_has"),
    ("B4.14", "Runs are recorded within a second and by the time memory is closed; a failure is tried again", "issue 7", _RUNS + "test_runs_are_recorded_by_the_time_memory_is_closed", _RUNS + "test_a_run_that_cannot_be_recorded_is_tried_again_and_fails_no_tool"),
    ("B4.15", "A pipeline is recorded as one and the tools in it as tools", "issue 7", _RUNS + "test_a_pipeline_is_recorded_as_one_and_the_tools_in_it_as_tools"),
)  # fmt: skip

SUPERSEDED = (
    ("B5.10", "Wrong key: list fails, DeletePrefix works", "SPEC B5 T10", "DESIGN 6: a wrong key is refused at opening; a locked row is counted and skipped"),
    ("B5.1", "Fingerprint is the first 16 hex of sha256", "SPEC B1 [D]", "DESIGN 6: fingerprints are keyed"),
    ("B5.20", "Context has no values", "SPEC B1 [D]", "INTERFACE: entries with values by category"),
)  # fmt: skip

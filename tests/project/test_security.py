"""SECURITY.md: each sentence that promises something has tests, and each of these exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.unit

HELD, FOLDERS = "files/test_held_folders", "app/test_strangers_folders"
BOUNDED, ARRAYS = "files/test_bounded_reading", "assembly/initial/test_initial_values"
REACH, GUARD, NAMES = "sweeps/test_who_reaches_a_sweep", "view/test_guard", "seams/test_nasty_names"
TESTS: dict[str, list[str]] = {
    "A scene is data: TOML, read with limits.": ["scene/test_mutated_scenes", "scene/test_input_files"],
    "It names files in its own folder only.": [f"{ARRAYS}::test_a_mistake_has_one_message"],
    "The folder of a run contains regular files and folders only; the folder itself may be reached through": [
        f"{HELD}::test_every_opening_refuses_a_strange_file_anywhere",
        f"{HELD}::test_the_folder_of_a_run_may_be_reached_through_a_link",
        f"{FOLDERS}::test_a_run_begun_elsewhere_is_read_through_a_link_to_its_folder",
    ],
    "Every command refuses a run folder with a link, a FIFO, a socket or a device in it": [
        f"{FOLDERS}::test_every_verb_refuses_it_by_name_and_touches_nothing",
        f"{HELD}::test_what_is_no_regular_file_is_refused_by_name",
    ],
    "Nothing below the folder of a run is read, written, listed or deleted through a link": [
        f"{HELD}::test_a_folder_that_is_a_link_leads_nowhere",
        f"{HELD}::test_a_file_exchanged_for_a_link_after_the_look_is_not_followed",
    ],
    "A run that is going on stays in its folder": [
        f"{HELD}::test_a_folder_that_is_held_stays_the_same_when_another_takes_its_place"
    ],
    "The points of a sweep are written to no folder that a link leads to.": [
        f"{FOLDERS}::test_a_sweep_writes_into_no_linked_point"
    ],
    "Names in files that lead out of the folder are refused.": [
        f"{HELD}::test_a_name_that_leads_out_is_refused",
        f"{HELD}::test_a_segment_name_of_a_stranger_is_checked_before_it_is_used",
    ],
    "Opening, verifying, plotting or exporting a run executes nothing from its folder": [
        "app/test_resume::test_a_plugin_file_must_be_given_again",
        f"{FOLDERS}::test_what_the_stranger_calls_rows_reaches_no_file_and_no_terminal",
    ],
    "Checkpoints and segments are compared with the hashes in their names before they are read": [
        "files/test_hostile_files::test_a_checkpoint_with_one_byte_changed_is_refused",
        "files/test_hostile_files::test_a_hostile_checkpoint_is_refused_before_it_is_read",
        "files/test_hostile_files::test_a_hostile_segment_is_refused_before_it_is_read",
    ],
    "A file larger than the free memory is refused before it is read.": [
        f"{HELD}::test_a_file_larger_than_the_memory_is_refused_before_it_is_read"
    ],
    "A force field that a scene names executes nothing": [
        "plugins/molecular/test_program_mistakes::test_files_that_are_refused",
        "plugins/molecular/test_convert::test_a_script_of_a_force_field_runs_in_a_conversion",
    ],
    "A mesh, a picture, a drawing, a system of OpenMM and the files that OpenMM reads": [
        "plugins/molecular/test_convert::test_openmm_reads_a_pdb_file_in_the_child",
        "plugins/molecular/test_program_mistakes::test_files_that_are_refused",
        f"{BOUNDED}::test_whatever_a_reader_does_is_one_message",
        f"{BOUNDED}::test_an_answer_is_no_array_of_objects",
        f"{BOUNDED}::test_the_limits_grow_with_the_file",
    ],
    "A file that a scene or a command names is a regular file that fits into the free memory": [
        "plugins/laser/test_surveys::test_a_fifo_and_a_device_are_no_files_of_a_job",
        "scene/test_input_files",
    ],
    "Arrays in `.npy` and `.npz` are compared with the bytes that are there": [
        f"{ARRAYS}::test_arrays_that_a_file_does_not_hold_plainly_are_refused"
    ],
    "Every damaged file ends in one message with its name and the reason": [
        "fuzz/test_readers::test_what_ever_failed_is_refused",
        "fuzz/test_readers::test_some_mutants",
    ],
    "A terminal gets no control characters from files": [
        f"{FOLDERS}::test_what_the_stranger_calls_rows_reaches_no_file_and_no_terminal",
        f"{FOLDERS}::test_a_failure_of_a_stranger_shows_no_control_characters",
        "app/test_streams::test_control_characters_are_escaped_but_for_our_own",
    ],
    "What a plugin of yours prints itself, such as a progress bar": [
        "app/test_streams::test_a_progress_bar_of_a_plugin_reaches_the_terminal_and_what_we_print_of_it_is_escaped",
        "app/test_streams::test_what_our_own_code_prints_for_a_plugin_is_escaped",
    ],
    "`minusgrad info` shows names and titles in one line of 200 characters": [
        f"{FOLDERS}::test_a_title_is_one_line_of_two_hundred_characters"
    ],
    "A journal gets no control characters, and no text of more than 10,000 characters.": [
        f"{HELD}::test_a_text_in_a_journal_is_bounded_and_has_no_control_characters"
    ],
    "JSON that is nested deeper than 100 lists and objects is one message": [
        f"{HELD}::test_deep_json_is_one_error",
        f"{FOLDERS}::test_deep_json_of_a_stranger_is_one_message",
    ],
    "`minusgrad sweep --workers N` listens at 127.0.0.1 and speaks TLS in both directions": [
        f"{REACH}::test_a_client_without_the_key_is_refused",
        f"{REACH}::test_only_two_ports_of_this_machine_are_open_and_neither_answers_http",
        f"{REACH}::test_the_key_is_in_no_argument_and_the_folder_of_workers_is_private",
    ],
    "HTTP is served with `--dashboard` alone, read-only, to all users of the machine.": [
        f"{REACH}::test_only_two_ports_of_this_machine_are_open_and_neither_answers_http",
        f"{REACH}::test_what_a_dashboard_serves_can_only_be_read",
    ],
    "A cluster that is brought with `--cluster` is [as safe as it was made]": [
        "sweeps/test_workers::test_nothing_listens_here_beside_a_cluster_that_is_brought"
    ],
    "Array jobs listen nowhere.": [
        "project/test_what_listens::test_runs_commands_and_tasks_of_an_array_job_bind_no_socket"
    ],
    "`minusgrad view` listens at 127.0.0.1 unless `--host` says otherwise": [
        f"{GUARD}::test_a_page_listens_at_this_machine_alone",
        f"{GUARD}::test_only_a_page_of_this_server_with_the_token_is_answered",
    ],
    "With `--behind URL` the Host and the Origin of one proxy are answered as well, with the token.": [
        f"{GUARD}::test_the_named_proxy_is_answered_with_the_token_and_no_other"
    ],
    "With another `--host` nothing is encrypted, and a warning says so.": [
        f"{GUARD}::test_a_page_for_other_machines_warns_and_needs_the_token_too"
    ],
    "Saved pages and frames in notebooks open no port.": [
        f"{GUARD}::test_a_saved_page_opens_no_port",
        f"{GUARD}::test_a_notebook_has_the_page_without_a_port",
    ],
    "Nothing else listens.": [
        "project/test_what_listens::test_no_other_module_can_open_a_port",
        "project/test_what_listens::test_runs_commands_and_tasks_of_an_array_job_bind_no_socket",
    ],
    "Titles, names of bodies, files and machines, whoever wrote them, are text wherever they appear": [
        f"{NAMES}::test_names_are_text_in_all_that_is_made_of_a_run",
        f"{NAMES}::test_a_report_of_a_laser_job_has_names_as_text",
        f"{NAMES}::test_all_pictures_go_through_one_door",
    ],
    "In a comment of a job file only letters stay that no controller obeys.": [
        f"{NAMES}::test_a_comment_of_a_job_file_is_one_line_that_no_controller_obeys"
    ],
}
"""The beginning of each sentence, and its tests: modules below `tests/`, or functions in them."""


def promises() -> list[str]:
    """The sentences of the lists, and of the paragraph on names."""
    text = (ROOT / "SECURITY.md").read_text()
    sections = {name: body for name, _, body in (s.partition("\n") for s in text.split("\n## "))}
    promised = sections["What is promised"] + sections["What listens"]
    points = [*re.findall(r"^- (.*(?:\n  .*)*)", promised, re.MULTILINE), sections["What names can do"]]
    return [one for point in points for one in re.split(r"(?<=\.) (?=[A-Z`])", " ".join(point.split()))]


@pytest.mark.parametrize("sentence", promises())
def test_each_sentence_has_a_test(sentence: str) -> None:
    found = [begin for begin in TESTS if sentence.startswith(begin)]
    assert len(found) == 1, sentence


def test_each_row_is_a_sentence() -> None:
    assert [one for one in TESTS if not any(s.startswith(one) for s in promises())] == []
    assert len(promises()) == len(TESTS)


@pytest.mark.parametrize("name", sorted({name for names in TESTS.values() for name in names}))
def test_each_test_exists(name: str) -> None:
    module, _, function = name.partition("::")
    tree = ast.parse((ROOT / "tests" / f"{module}.py").read_text())
    there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert function in there or (not function and any(one.startswith("test_") for one in there))

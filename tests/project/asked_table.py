"""The table of what `check FILE.py` asks, and what it does not, with the test of each row.

python -m tests.project.asked_table            prints the table
python -m tests.project.asked_table --write    puts it into docs/gradient-check.md
"""

import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gradient-check.md"
BEGIN, END = "<!-- asked and not asked -->\n", "<!-- end of asked and not asked -->\n"
EXACT = "value and derivatives, exactly and by steps"
STEPS = "derivatives by steps"


class Row(NamedTuple):
    """A form of programs, how it is asked, and the test that shows it: file and function."""

    form: str
    how: str
    file: str
    test: str


ARRAYS, PROGRAMS = "tests/check/test_program_arrays.py", "tests/check/test_programs.py"
PAIRS, KERNELS = "tests/check/test_pairs_of_arrays.py", "tests/check/test_kernel_check.py"
KIND = "test_a_right_kernel_is_right_and_a_wrong_one_is_found"
PAIR = "test_a_trap_in_an_array_of_this_kind_is_found_and_its_twin_is_right"
ROWS = [
    Row("numbers (0-D), vectors and matrices, fields and ndarrays", EXACT, ARRAYS, KIND),
    Row("members of struct fields", EXACT, PAIRS, PAIR),
    Row("fields with `offset`", EXACT, PAIRS, PAIR),
    Row("sparse fields: the active cells", EXACT, PAIRS, PAIR),
    Row("components of a vector field that share its memory", EXACT, PAIRS, PAIR),
    Row("arrays and kernels of objects", EXACT, PAIRS, PAIR),
    Row(
        "a loop over cells that the same kernel activates",
        STEPS,
        ARRAYS,
        "test_a_loop_over_cells_that_the_kernel_activates_is_not_replayed",
    ),
    Row(
        "a tape in a module, a function, a method or `main`, from its first entry on",
        EXACT,
        PROGRAMS,
        "test_a_tape_in_a_method_that_main_calls_is_asked_where_it_is_entered",
    ),
    Row(
        "a program with windows, or for another architecture",
        "headless, on that of the check",
        PROGRAMS,
        "test_a_tape_in_a_method_that_main_calls_is_asked_where_it_is_entered",
    ),
    Row(
        "a tape that the program never reaches, and whose names have no value",
        "not asked",
        PROGRAMS,
        "test_a_program_that_never_reaches_its_tape_is_not_asked",
    ),
    Row(
        "a gradient that the file computes itself",
        "derivatives by steps and by replay",
        KERNELS,
        "test_a_gradient_of_the_files_own_may_be_right",
    ),
    Row(
        "reverses by hand (`kernel.grad()`), of several outputs and after checkpoints",
        "value and derivatives, exactly and by steps; after checkpoints at the program's own values",
        "tests/check/test_forms.py",
        "test_a_form_is_asked_and_its_outcome_is_right",
    ),
    Row(
        "kernels that a `torch.autograd.Function` reverses",
        "each kernel: value and derivatives, exactly and by steps",
        "tests/check/test_forms.py",
        "test_a_form_is_asked_and_its_outcome_is_right",
    ),
    Row(
        "a crash, or silence, at the program's own state",
        "a finding",
        KERNELS,
        "test_a_process_that_dies_is_a_finding_and_the_next_case_goes_on",
    ),
    Row(
        "a crash at a state that the check made, or while the program is loaded",
        "not asked",
        PROGRAMS,
        "test_a_signal_accuses_only_at_the_state_of_the_program",
    ),
    Row(
        "no threads, no memory, an error of the check itself",
        "not asked",
        PROGRAMS,
        "test_limits_of_the_machine_and_errors_of_the_check_are_not_asked",
    ),
]


def table() -> str:
    rows = [["a program's", "is asked"], ["---", "---"], *([row.form, row.how] for row in ROWS)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    if sys.argv[1:] != ["--write"]:
        print(table())
        return
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()

"""CSV tables: columns by name or a matrix, comments, and mistakes with file, line and column."""

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad.files.csv_table import CsvTable

TABLE = b"\xef\xbb\xbf# bodies\n name , m,note, note\n\nsun,1.5,a,b\n  # of gas\njupiter, 2e-3 ,c,d\n"


def test_columns_by_name() -> None:
    table = CsvTable("b.csv", TABLE)
    assert table.columns == ["name", "m", "note", "note"]
    np.testing.assert_array_equal(table.numbers("m"), [1.5, 2e-3])
    assert table.texts("name") == ["sun", "jupiter"]
    assert len(table) == 2
    assert table.places == ["b.csv:4", "b.csv:6"]


def test_a_matrix_has_no_names() -> None:
    np.testing.assert_array_equal(CsvTable("s.csv", b"1,2\n3,4.5\n").matrix(), [[1.0, 2.0], [3.0, 4.5]])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("x", "b.csv: no column named 'x' (there are: name, m, note, note)"),
        ("nmae", "b.csv: no column named 'nmae'; did you mean 'name'? (there are: name, m, note, note)"),
        ("note", "b.csv: 2 columns are named 'note'; give each its own name"),
        ("name", "b.csv:4: column 'name': needs a finite number, got 'sun'"),
    ],
)
def test_a_column_with_a_mistake(column: str, message: str) -> None:
    with pytest.raises(UserError) as refused:
        CsvTable("b.csv", TABLE).numbers(column)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "s.csv: has no rows; add at least one"),
        (b"# nothing\n\n", "s.csv: has no rows; add at least one"),
        (b"1,2\n\n3\n", "s.csv:3: needs as many values as the first row, 2, got 1"),
        (b"1,2\n3," + b"4" * 140_000, "s.csv:2: field larger than field limit (131072)"),
        (b"1,2\n3,inf\n", "s.csv:2: column 2: needs a finite number, got 'inf'"),
    ],
)
def test_a_matrix_with_a_mistake(data: bytes, message: str) -> None:
    with pytest.raises(UserError) as refused:
        CsvTable("s.csv", data).matrix()
    assert str(refused.value) == message


def test_names_without_rows() -> None:
    with pytest.raises(UserError) as refused:
        CsvTable("b.csv", b"x,y\n").texts("x")
    assert str(refused.value) == "b.csv: has no rows below the column names; add at least one"


@pytest.mark.parametrize("text", ["1_0", "\u0661\u0662", "\uff11", "1e\u0665", "infinity", "0x10"])
def test_what_python_alone_takes_for_a_number_is_none(text: str) -> None:
    with pytest.raises(UserError) as refused:
        CsvTable("b.csv", f"m\n{text}\n".encode()).numbers("m")
    assert str(refused.value) == f"b.csv:2: column 'm': needs a finite number, got '{text}'"


def test_a_file_in_latin_1_loses_no_letter() -> None:
    """A comment may be in any encoding; a name may not."""
    assert CsvTable("b.csv", "# Réaumur\nm\n1\n".encode("latin-1")).numbers("m") == [1.0]
    with pytest.raises(UserError) as refused:
        CsvTable("b.csv", "name,m\nterre,1\nÉris,2\n".encode("latin-1"))
    assert str(refused.value) == "b.csv:3: must be UTF-8, got byte 0xc9; save it as UTF-8"


def test_a_field_without_end_is_refused() -> None:
    with pytest.raises(UserError, match=r"b.csv:2: field larger than field limit"):
        CsvTable("b.csv", b"m\n" + b"1" * 200_000)

"""Ways to damage a file: bytes, numbers of its own kind, lines and words."""

import random
import re
from collections.abc import Callable, Sequence

NUMBERS = [
    b"-1",
    b"0",
    b"1e308",
    b"-1e-308",
    b"nan",
    b"inf",
    b"1e400",
    b"2147483648",
    b"4294967295",
    b"9" * 30,
]
NUMBERS += [
    b"4294967295",
    b"18446744073709551615",
    b"1000000",
    b"0.5",
    b"",
    b"x",
    b"\xc2\xb2",
    b"1.2.3",
    b"1,5",
]
_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_]{2,}")


def flip(data: bytes, chance: random.Random) -> bytes:
    new = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 8])):
        new[chance.randrange(len(new))] ^= 1 << chance.randrange(8)
    return bytes(new)


def overwrite(data: bytes, chance: random.Random) -> bytes:
    new, length = bytearray(data), chance.choice([1, 2, 4, 8, 16])
    at, edge = chance.randrange(len(new)), chance.choice([b"\0", b"\xff", b"\x7f", b"\x80", None])
    new[at : at + length] = edge * length if edge else chance.randbytes(length)
    return bytes(new)


def binary_number(data: bytes, chance: random.Random) -> bytes:
    size = chance.choice([2, 4, 8])
    top, at = 1 << 8 * size, chance.randrange(len(data)) // size * size
    value = chance.choice([0, 1, top - 1, top // 2, top // 2 - 1, len(data), chance.randrange(len(data))])
    return data[:at] + (value % top).to_bytes(size, chance.choice(["little", "big"])) + data[at + size :]


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def double(data: bytes, chance: random.Random) -> bytes:
    at, length = chance.randrange(len(data)), chance.choice([1, 4, 16, 64])
    return data[: at + length] + data[at : at + length] * chance.choice([1, 1, 3]) + data[at + length :]


def remove(data: bytes, chance: random.Random) -> bytes:
    at, length = chance.randrange(len(data)), chance.choice([1, 4, 16, 64])
    return data[:at] + data[at + length :]


def insert(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + chance.randbytes(chance.choice([1, 4, 100])) + data[at:]


def text_number(data: bytes, chance: random.Random) -> bytes:
    if not (found := list(_NUMBER.finditer(data))):
        return flip(data, chance)
    one = chance.choice(found)
    return data[: one.start()] + chance.choice(NUMBERS) + data[one.end() :]


def word(data: bytes, chance: random.Random) -> bytes:
    found = list(_WORD.finditer(data))
    if not found:
        return flip(data, chance)
    one, other = chance.choice(found), chance.choice(found)
    new = chance.choice([other[0], one[0][:-1], one[0] + one[0], b"", one[0].upper()])
    return data[: one.start()] + new + data[one.end() :]


def lines(data: bytes, chance: random.Random) -> bytes:
    rows = data.split(b"\n")
    at, other = chance.randrange(len(rows)), chance.randrange(len(rows))
    match chance.randrange(4):
        case 0:
            del rows[at]
        case 1:
            rows.insert(other, rows[at])
        case 2:
            rows[at], rows[other] = rows[other], rows[at]
        case _:
            rows[at : at + 1] = [rows[at]] * 3
    return b"\n".join(rows)


WAYS: list[Callable[[bytes, random.Random], bytes]] = [
    *[flip, overwrite, binary_number, cut, double, remove, insert],
    *[text_number, text_number, text_number, word, lines],
]


def mutant(sound: Sequence[bytes], number: int) -> bytes:
    """The mutant of that number: of a sound file, damaged once to three times."""
    chance = random.Random(number)
    data = chance.choice(sound)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        data = chance.choice(WAYS)(data or b"\0", chance)
    return data

"""The weights container, on a small one written here."""

import struct

import numpy as np
import pytest

from passageway_model_e5.container import open_container
from passageway_model_e5.tokenizer import tokenizer_json


def small_container() -> bytes:
    """Two pieces, one vector of floats, one 4-bit matrix of one row."""
    sizes = struct.pack("<7ifi", 32, 1, 2, 64, 2, 8, 1, 1e-12, 32)
    pieces = ["\u2581tea", "ß"]
    blob = "".join(pieces).encode()
    offsets = np.array([0, len(pieces[0].encode()), len(blob)], "<u4").tobytes()
    tokenizer = struct.pack("<5iQ", 2, 0, 2, 1, 1, len(blob)) + offsets
    tokenizer += np.array([-1.5, -2.0100009441375732], "<f4").tobytes() + blob
    tokenizer += struct.pack("<iI", 1, 9) + struct.pack("<IBI", 0xC5, 1, 0x41)
    vector = np.arange(3, dtype="<f4").tobytes()
    matrix = np.array([0.5], "<f2").tobytes() + bytes(range(16))
    entries = [(b"vec", 0, 3, vector), (b"mat", 1, 32, matrix)]
    start = 8 + len(sizes) + len(tokenizer) + 4 + sum(2 + len(name) + 21 for name, *_ in entries)
    directory, body = struct.pack("<i", len(entries)), b""
    for name, dtype, count, content in entries:
        place = struct.pack("<BIQQ", dtype, count, start + len(body), len(content))
        directory += struct.pack("<H", len(name)) + name + place
        body += content
    return b"E5S1" + struct.pack("<I", 1) + sizes + tokenizer + directory + body


def test_sizes_pieces_and_scores_are_read_in_order() -> None:
    container = open_container(small_container())

    assert (container.sizes.hidden, container.sizes.layers, container.sizes.heads) == (32, 1, 2)
    assert container.vocabulary.pieces == ("\u2581tea", "ß")
    assert container.vocabulary.scores.tolist() == pytest.approx([-1.5, -2.0100009])
    assert container.vocabulary.unknown == 1


def test_a_vector_is_read_as_it_was_stored() -> None:
    assert open_container(small_container()).vector("vec").tolist() == [0.0, 1.0, 2.0]


def test_a_four_bit_row_holds_low_halves_first_then_high_halves() -> None:
    matrix = open_container(small_container()).blocks("mat", 32).matrix()

    low, high = [(nibble - 8) * 0.5 for nibble in range(16)], [-4.0] * 16
    assert matrix.tolist() == [low + high]


def test_a_score_is_printed_with_the_digits_of_the_published_file() -> None:
    written = tokenizer_json(open_container(small_container()).vocabulary, b"map").decode()

    assert "-2.0100009441375732" in written
    assert '"precompiled_charsmap": "bWFw"' in written


def test_anything_else_than_the_container_is_refused() -> None:
    with pytest.raises(ValueError, match=r"b'PK\\x03\\x04', expected b'E5S1'"):
        open_container(b"PK\x03\x04 a zip archive")

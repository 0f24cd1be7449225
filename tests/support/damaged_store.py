"""Writes stores of finished runs (sim/cli/results/run_store.cpp) that are as no call makes them: by a stranger, or damaged."""

import struct
import zlib

from run_store import HEAD, MAGIC, NIL, records

PART = struct.Struct("<24sQ")  # a file's name, bytes of its rows
NUMBER, INTEGER, TEXT, NONE = (bytes([kind]) for kind in range(4))  # of a cell; eight bytes of the first two


def text_cell(text):
    return TEXT + struct.pack("<I", len(text)) + text


def record(key, data, content, length=None):
    """length: what its head says of the content."""
    head = HEAD.pack(MAGIC, key.bytes, data, len(content) if length is None else length, 0, 0)[:44]
    return head + struct.pack("<I", zlib.crc32(head)) + content + struct.pack("<I", zlib.crc32(content))


def content_of(result, tables, result_size=None):
    """tables: (file, cells of its rows) in order; result_size: what it says of the result."""
    content = PART.pack(b"", len(result) if result_size is None else result_size) + result
    for file, cells in tables:
        content += PART.pack(file.encode(), len(cells)) + cells
    return content


def parts_of(content):
    """(result, tables)"""
    place, parts = 0, []
    while place < len(content):
        file, length = PART.unpack_from(content, place)
        place += PART.size
        parts.append((file.rstrip(b"\0").decode(), content[place : place + length]))
        place += length
    return parts[0][1], parts[1:]


def change_header(path, change):
    """The text of every header of the store becomes change(text)."""
    bytes_there, place, written = path.read_bytes(), 0, b""
    for key, content in records(path):
        data = HEAD.unpack_from(bytes_there, place)[2]
        place += HEAD.size + len(content) + 4
        written += record(key, data, change(content) if key == NIL else content)
    path.write_bytes(written)


def change_run(path, number, change):
    """The content of run `number`, from 1, of the store becomes change(result, tables)."""
    bytes_there, place, run = path.read_bytes(), 0, 0
    written = b""
    for key, content in records(path):
        data = HEAD.unpack_from(bytes_there, place)[2]
        place += HEAD.size + len(content) + 4
        run += key != NIL
        if key != NIL and run == number:
            content = change(*parts_of(content))
        written += record(key, data, content)
    path.write_bytes(written)

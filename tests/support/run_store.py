"""Reads stores of finished runs (sim/cli/results/run_store.cpp): how many, and which."""

import pathlib
import struct
import uuid
import zlib

MAGIC = b"runs\x1a\r\n\3"
HEAD = struct.Struct("<8s16sQQII")  # magic, key, data, length, padding, checksum
NIL = uuid.UUID(int=0)


def records(path):
    """(key, content) of each record that is whole; the keys of headers are NIL."""
    bytes_there = pathlib.Path(path).read_bytes()
    found, place = [], 0
    while place + HEAD.size + 4 <= len(bytes_there):
        magic, key, _, length, _, checksum = HEAD.unpack_from(bytes_there, place)
        assert magic == MAGIC and checksum == zlib.crc32(bytes_there[place : place + 44]), (path, place)
        end = place + HEAD.size + length
        if end + 4 > len(bytes_there):
            break
        content = bytes_there[place + HEAD.size : end]
        assert struct.unpack_from("<I", bytes_there, end)[0] == zlib.crc32(content), (path, place)
        found.append((uuid.UUID(bytes=key), content))
        place = end + 4
    return found


def keys(path):
    """Of the runs, in the order in which they were added."""
    return [key for key, _ in records(path) if key != NIL]

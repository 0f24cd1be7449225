"""Writes stores of finished runs (sim/cli/results/run_store.cpp) that are as no call makes them: by a stranger, or damaged."""

import struct
import zlib

from run_store import HEAD, MAGIC, NIL, records


def record(key, data, content, length=None):
    """length: what its head says of the content."""
    head = HEAD.pack(MAGIC, key.bytes, data, len(content) if length is None else length, 0, 0)[:44]
    return head + struct.pack("<I", zlib.crc32(head)) + content + struct.pack("<I", zlib.crc32(content))


def content_of(result, texts, result_size=None):
    """texts: (name, text) in order; result_size: what it says of the result."""
    content = struct.pack("<I", len(result) if result_size is None else result_size) + result
    for name, text in texts:
        content += bytes([len(name)]) + name.encode() + struct.pack("<Q", len(text)) + text
    return content


def parts_of(content):
    """(result, texts)"""
    size = struct.unpack_from("<I", content)[0]
    result, place, texts = content[4 : 4 + size], 4 + size, []
    while place < len(content):
        name = content[place + 1 : place + 1 + content[place]].decode()
        place += 1 + len(name)
        length = struct.unpack_from("<Q", content, place)[0]
        texts.append((name, content[place + 8 : place + 8 + length]))
        place += 8 + length
    return result, texts


def change_header(path, change):
    """The text of every header of the store becomes change(text)."""
    bytes_there, place, written = path.read_bytes(), 0, b""
    for key, content in records(path):
        data = HEAD.unpack_from(bytes_there, place)[2]
        place += HEAD.size + len(content) + 4
        written += record(key, data, change(content) if key == NIL else content)
    path.write_bytes(written)


def change_run(path, number, change):
    """The content of run `number`, from 1, of the store becomes change(result, texts)."""
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

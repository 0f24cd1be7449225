"""The stamp in a file that was drawn: a checksum of all that stands before it and of the file's name.
By it a file is known as gradrace's own, and as nobody has changed, copied or renamed it
(sim/cli/output/stamp.cpp reads it too)."""

import os
import struct
import zlib

MARK = b"gradrace-crc32:"
PNG_END = b"\0\0\0\0IEND\xae\x42\x60\x82"  # a PNG file's last chunk


def marked(content, name):
    return content + MARK + b"%08x" % zlib.crc32(os.fsencode(name), zlib.crc32(content))


def in_png(content, name):
    """As a comment before the last chunk (PNG, third edition, 11.3.3.2)."""
    words = b"tEXtComment\0"
    length = len(marked(words, name)) - 4
    chunk = marked(content.removesuffix(PNG_END) + struct.pack(">I", length) + words, name)
    checksum = zlib.crc32(chunk[-length - 4 :])
    return chunk + struct.pack(">I", checksum) + PNG_END


def in_markup(content, name):
    return marked(content + b"<!-- ", name) + b" -->\n"


def in_pdf(content, name):
    return marked(content + b"%", name) + b"\n"


STAMPED = {".png": in_png, ".svg": in_markup, ".html": in_markup, ".pdf": in_pdf}


def stamp(path, name):
    """Stamps a file that was just written and will have that name, whose ending is its format's."""
    path.write_bytes(STAMPED[os.path.splitext(name)[1]](path.read_bytes(), name))


def is_stamped(path):
    content = path.read_bytes()
    place = content.rfind(MARK)
    known = marked(content[:place], path.name)
    if place < 0 or not content.startswith(known):
        return False
    rest = content[len(known) :]
    return rest in (b"", b"\n", b" -->\n") or (rest.endswith(PNG_END) and len(rest) == 16)


def refuse_others(path):
    """OSError for a file that is there and is not as gradrace drew it."""
    if path.exists() and not (path.is_file() and is_stamped(path)):
        raise OSError(
            f"{path}: bears no stamp of gradrace, so it is somebody else's or was changed since; "
            "it is left as it is: move it away, or draw elsewhere"
        )

"""The stamp in a file that was drawn: a checksum of all that stands before it. By it a file is known
as gradrace's own, and as nobody has changed it (sim/cli/results/stamp.cpp reads it too)."""

import struct
import zlib

MARK = b"gradrace-crc32:"
PNG_END = b"\0\0\0\0IEND\xae\x42\x60\x82"  # a PNG file's last chunk


def marked(content):
    return content + MARK + b"%08x" % zlib.crc32(content)


def in_png(content):
    """As a comment before the last chunk (PNG, third edition, 11.3.3.2)."""
    words = b"tEXtComment\0"
    length = len(marked(words)) - 4
    chunk = marked(content.removesuffix(PNG_END) + struct.pack(">I", length) + words)
    checksum = zlib.crc32(chunk[-length - 4 :])
    return chunk + struct.pack(">I", checksum) + PNG_END


def in_markup(content):
    return marked(content + b"<!-- ") + b" -->\n"


def in_pdf(content):
    return marked(content + b"%") + b"\n"


STAMPED = {".png": in_png, ".svg": in_markup, ".html": in_markup, ".pdf": in_pdf}


def stamp(path, ending):
    """Stamps a file that was just written; the ending says of what format."""
    path.write_bytes(STAMPED[ending](path.read_bytes()))


def is_stamped(path):
    content = path.read_bytes()
    place = content.rfind(MARK)
    if place < 0 or not content.startswith(marked(content[:place])):
        return False
    rest = content[len(marked(content[:place])) :]
    return rest in (b"", b"\n", b" -->\n") or (rest.endswith(PNG_END) and len(rest) == 16)


def refuse_others(path):
    """OSError for a file that is there and is not as gradrace drew it."""
    if path.exists() and not (path.is_file() and is_stamped(path)):
        raise OSError(
            f"{path}: bears no stamp of gradrace, so it is somebody else's or was changed since; "
            "it is left as it is: move it away, or draw elsewhere"
        )

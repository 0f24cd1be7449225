"""Characters of texts that may come from anybody (sim/reading/characters.h says the same of C++)."""

import re

# Control characters, those that are invisible or turn the direction of writing, and halves of pairs.
UNPRINTABLE = re.compile(
    "[\0-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def escape(found):
    code = ord(found[0])
    return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"


def printable(text):
    """The text as it may go to a terminal or a page: "\\u001b" for such a character, line breaks too."""
    return text if text.isprintable() else UNPRINTABLE.sub(escape, text)


def printable_texts(value, key=""):
    """A JSON value with printable texts and keys; notes keep their lines."""
    if isinstance(value, dict):
        return {printable(name): printable_texts(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [printable_texts(one) for one in value]
    if not isinstance(value, str):
        return value
    return "\n".join(map(printable, value.split("\n"))) if key == "notes" else printable(value)

"""What a build was made by and for."""

import os
import pathlib
import platform
import re


def compiled_for():
    """What counts and last digits depend on besides the sources."""
    flags = re.search(r"^flags\s*:.*", pathlib.Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
    vectors = "AVX2" if flags and " avx2" in flags.group() else "no AVX2"
    compiler = os.environ.get("GRADRACE_COMPILER", "an unknown compiler")
    option = f"GRADRACE_X86_64_V3={os.environ.get('GRADRACE_X86_64_V3', '?')}"
    libc = " ".join(platform.libc_ver())
    return f"{compiler}, {libc}, {platform.machine()} with {vectors}, {option}"

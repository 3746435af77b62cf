#!/usr/bin/env python3
"""List codecs on one CPU core beside StreamVByte, on the real posting lists; skipped (77) where those are absent."""
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build"))
DATA = ROOT.parent / "shared" / "data" / "postings"
NAMES = ["census1881", "census-income", "wikileaks-noquotes", "peps_para", "uscensus2000"]


def unpack(folder):
    files = []
    for name in NAMES:
        for end in (".docs", ".freqs"):
            source = DATA / f"{name}{end}.gz"
            if source.exists():
                target = pathlib.Path(folder) / f"{name}{end}"
                target.write_bytes(gzip.decompress(source.read_bytes()))
                files.append(str(target))
    return files


def main():
    program = BUILD / "codec_lists"
    if not program.exists() or not DATA.exists():
        print("skipped: codec_lists is not built, or there are no posting lists in", DATA)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        files = [f for f in unpack(folder) if f.endswith(".docs")]
        return subprocess.run([str(program), *files]).returncode


if __name__ == "__main__":
    sys.exit(main())

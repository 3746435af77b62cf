"""Prices that are the same on every machine, for tests of what the optimizer chooses: the default rates, those of the
matrix kernels as on AVX-512 whatever instructions there are, two threads, nothing learnt. fix_rates() has to run before the
database is opened; it writes a rates file, as `tcudb calibrate` does, where only this process and its children look.
"""
import atexit
import os
import pathlib
import re
import shutil
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SETTINGS = ["SET tcudb.threads = 2", "SET tcudb.corrections = off"]


def processor():
    found = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return found.group(1) if found else "unknown"


def kernel_rates():
    """Each RATE_ISA of rates.def: its AVX-512 rate for all instruction sets."""
    text = (ROOT / "src/tensor/rates.def").read_text()
    for name, values in re.findall(r"^RATE_ISA\((\w+), \"[^\"]*\", ((?:\[\w+\] = [.\d]+,?\s*)+)\)", text, re.M):
        rates = dict(re.findall(r"\[(\w+)\] = ([.\d]+)", values))
        yield f"{name} {' '.join([rates['ISA_AVX512']] * len(rates))}"


def fix_rates():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tcudb-rates-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    cpu = processor()
    (folder / "tcudb").mkdir()
    lines = ["tcudb rates 1", f"cpu {cpu}", *kernel_rates(), "end"]
    assert len(lines) == 6, lines
    (folder / "tcudb" / ("rates-1-" + re.sub(r"[^A-Za-z0-9]", "-", cpu))).write_text("\n".join(lines) + "\n")
    os.environ["XDG_DATA_HOME"] = str(folder)

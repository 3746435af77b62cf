"""`tcudb codec`: every allocation, every file call and every call under a stream's buffer fails once, as a failing device, as
a full disk, as a write of half the bytes. The program says so and ends in order, leaves no half file, and what it calls done
is right."""
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("BUILD", "build"))
LIMIT = 400 if os.environ.get("TCUDB_FAULTS") != "all" else 100000
EIO, ENOSPC = 5, 28
KINDS = [("malloc", EIO), ("alloc", EIO), ("io", EIO), ("stdio", EIO), ("stdio", ENOSPC), ("short", ENOSPC)]


def run(arguments, fail=None, error=EIO):
    """Exit status, output, whether the fault was reached."""
    reader, writer = os.pipe()
    env = dict(os.environ)
    if fail:
        env.update(LD_PRELOAD=str(BUILD / "test/libfail_nth.so"), TCUDB_FAIL=fail, TCUDB_FAIL_FD=str(writer),
                   TCUDB_FAIL_ERRNO=str(error))
    done = subprocess.run([str(BUILD / "tcudb"), "codec", *arguments], env=env, pass_fds=[writer], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    os.close(writer)
    reached = os.read(reader, 16) != b""
    os.close(reader)
    return done.returncode, done.stdout, reached


def fault_of(code, said, out, wanted, plain):
    """What is wrong with how a fault ended, or None."""
    if code not in (0, 1, 3):
        return f"exit status {code}: {said[-200:]!r}"
    if code == 0 and (wanted.read_bytes() != out.read_bytes() if wanted else said != plain):
        return f"calls it done, but it is not: {said[-200:]!r}"
    if code != 0 and not said.strip():
        return f"exit status {code} without a word"
    if code != 0 and wanted and out.exists() and out.read_bytes() != wanted.read_bytes():
        return "leaves a half file"
    return None


def main():
    if not (BUILD / "test/libfail_nth.so").exists() or os.environ.get("SANITIZE"):
        print("no fault injector, or a sanitizer's allocator that cannot be preloaded over")
        sys.exit(77)
    folder = pathlib.Path(tempfile.mkdtemp())
    text, good, out = folder / "a.txt", folder / "good.tcl", folder / "out"
    text.write_text("\n".join(str(i * 7) for i in range(9000)) + "\n")
    assert run(["encode", str(text), "-o", str(good), "-f"])[0] == 0
    jobs = {"encode": (["encode", str(text), "-o", str(out), "-f"], good), "verify": (["verify", str(good)], None),
            "decode": (["decode", str(good), "-o", str(out), "-f"], text), "inspect": (["inspect", str(good)], None)}
    tried, faults = {kind: 0 for kind, _ in KINDS}, []
    for name, (arguments, wanted) in jobs.items():
        plain = run(arguments)[1]
        for kind, error in KINDS:
            for n in range(1, LIMIT):
                out.unlink(missing_ok=True)
                code, said, reached = run(arguments, f"{kind}:{n}", error)
                if not reached:
                    break
                tried[kind] += 1
                fault = fault_of(code, said, out, wanted, plain)
                if fault:
                    faults.append(f"{name}, {kind}:{n}, error {error}: {fault}")
    print("\n".join(faults[:15]))
    print(f"{tried} faults tried, {len(faults)} handled badly")
    never = [kind for kind in ("alloc", "stdio", "short") if not tried[kind]]
    sys.exit(1 if faults or never else 0)


main()

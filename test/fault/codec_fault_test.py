"""`tcudb codec`: every allocation and every file call fails once. The program says so and ends in order; what it calls done
is right."""
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ.get("BUILD", "build"))
LIMIT = 400 if os.environ.get("TCUDB_FAULTS") != "all" else 100000


def run(arguments, fail=None):
    """Exit status, output, whether the fault was reached."""
    reader, writer = os.pipe()
    env = dict(os.environ)
    if fail:
        env.update(LD_PRELOAD=str(BUILD / "test/libfail_nth.so"), TCUDB_FAIL=fail, TCUDB_FAIL_FD=str(writer))
    done = subprocess.run([str(BUILD / "tcudb"), "codec", *arguments], env=env, pass_fds=[writer], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    os.close(writer)
    reached = os.read(reader, 16) != b""
    os.close(reader)
    return done.returncode, done.stdout, reached


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
    tried, faults = 0, []
    for name, (arguments, wanted) in jobs.items():
        plain = run(arguments)[1]
        for kind in ("malloc", "alloc", "io"):
            for n in range(1, LIMIT):
                out.unlink(missing_ok=True)
                code, said, reached = run(arguments, f"{kind}:{n}")
                if not reached:
                    break
                tried += 1
                if code not in (0, 1, 3):
                    faults.append(f"{name}, {kind}:{n}: exit status {code}: {said[-200:]!r}")
                elif code == 0 and (wanted.read_bytes() != out.read_bytes() if wanted else said != plain):
                    faults.append(f"{name}, {kind}:{n}: calls it done, but it is not: {said[-200:]!r}")
                elif code != 0 and not said.strip():
                    faults.append(f"{name}, {kind}:{n}: exit status {code} without a word")
    print("\n".join(faults[:15]))
    print(f"{tried} faults tried, {len(faults)} handled badly")
    sys.exit(1 if faults or not tried else 0)


main()

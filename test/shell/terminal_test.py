#!/usr/bin/env python3
"""The shell on a terminal (a pty): prompts, editing, Ctrl-C, boxes cut to the screen, beginners' words."""
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time

BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
HOME = tempfile.mkdtemp(prefix="tcudb-terminal-")


class Terminal:
    def __init__(self, *args, rows=30, cols=80, pager="cat"):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            env = {"HOME": HOME, "TERM": "xterm", "PATH": os.environ["PATH"], "PAGER": pager, "LC_ALL": "C.UTF-8"}
            env.update((name, os.environ[name]) for name in os.environ if name.endswith("SAN_OPTIONS"))
            os.execve(str(BUILD / "tcudb"), ["tcudb", *args], env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def read(self, wait):
        ready, _, _ = select.select([self.fd], [], [], wait)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.text += data.decode(errors="replace")
        return bool(data)

    def expect(self, pattern, seconds=20):
        """Waits for the pattern in what has come since the last match; returns it without control sequences."""
        end = time.time() + seconds
        while True:
            plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]", "", self.text)
            match = re.search(pattern, plain, re.S)
            if match:
                self.text = plain[match.end():]
                return plain[:match.end()]
            if time.time() > end:
                raise AssertionError(f"no {pattern!r} in {plain!r}")
            self.read(0.1)

    def send(self, text):
        os.write(self.fd, text.encode())

    def line(self, text, pattern):
        self.send(text + "\n")
        return self.expect(pattern)

    def end(self):
        """The exit status. What is typed while the editor changes the terminal's mode may be flushed by the system, so
        the last line is typed again if the shell is still there; after that it is ended, and the case fails."""
        for attempt in range(1, 101):
            while self.read(0.1):
                pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            if attempt % 20 == 0:
                self.send("\n\\q\n")
            time.sleep(0.1)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError("the shell does not end")


def prompts():
    t = Terminal()
    t.expect(r"Type help for help.*tcudb=> ")
    t.line("select 'x", r"tcudb'> ")
    t.line("y' as a, (1", r"tcudb\(> ")
    t.line("+ 2) as b", r"tcudb-> ")
    shown = t.line(";", r"\(1 row\).*Time: .* ms \(cpu\).*tcudb=> ")
    assert "x↵" in shown and "│ 3" in shown.replace("       3", " 3"), shown
    t.line("begin;", r"BEGIN.*tcudb=\*> ")
    t.line("select oops;", r"column \"oops\" does not exist.*tcudb=!> ")
    t.line("rollback;", r"ROLLBACK.*tcudb=> ")
    t.send("\\q\n")
    assert t.end() == 0


def beginners():
    t = Terminal("-q")
    t.expect(r"=> ")
    t.line("help", r"ends in a semicolon.*=> ")
    t.line("create table orders (id int)", r"-> ")
    t.line("", r"the statement runs when it ends in a semicolon.*-> ")
    t.line(";", r"=> ")
    t.line("describe orders", r"Table \"orders\".*integer.*=> ")
    t.line("show tables;", r"orders.*=> ")
    t.line("select * from ordres;", r"Perhaps you meant \"orders\".*=> ")
    t.line("exit", r"")
    assert t.end() == 0


def unfinished():
    t = Terminal("-q")
    t.expect(r"=> ")
    t.line("select (1", r"\(> ")
    t.line("exit", r"\\q leaves, \\r drops the statement")
    t.line("\\r", r"=> ")
    t.send("exit\n")
    assert t.end() == 0


def no_pager():
    t = Terminal("-q", pager="/no/such/pager -x")
    t.expect(r"=> ")
    shown = t.line("select * from generate_series(1, 100);", r"\(100 rows, 40 shown\).*=> ")
    assert "The pager \"/no/such/pager -x\" cannot be run" in shown, shown
    t.send("\\q\n")
    assert t.end() == 0


def interrupt():
    t = Terminal("-q")
    t.expect(r"=> ")
    t.send("select count(*) from generate_series(1, 3000000) a, generate_series(1, 3000000) b where a + b < 0;\n")
    time.sleep(1.0)
    start = time.time()
    t.send("\x03")
    t.expect(r"canceling statement due to user request.*=> ")
    assert time.time() - start < 2
    t.send("select 1 +")
    t.expect(r"select 1 \+")  # once the editor has it, Ctrl-C drops the line
    t.send("\x03")
    t.expect(r"=> ")
    t.line("select 42 as alive;", r"42.*=> ")
    t.send("\x04")
    assert t.end() == 0


def stop_printing():
    """Ctrl-C while a table is printed that nothing cuts: what is left of it stays away, the shell goes on."""
    for mode in ("box", "aligned", "markdown", "expanded"):
        t = Terminal("-q")
        t.expect(r"=> ")
        for setting in ("\\pset pager off", ".maxrows 0", "\\x" if mode == "expanded" else f".mode {mode}"):
            t.send(setting + "\n")
        t.line("select 'ready' || 1;", r"ready1\s.*=> ")
        t.line("select 100000 + g as n from generate_series(1, 700000) g;", r"100543\s")
        t.send("\x03")
        shown = t.expect(r"=> ", 60)
        assert "799999" not in shown, mode
        assert mode in ("markdown", "expanded") or "(700000 rows, stopped)" in shown, shown[-200:]
        t.line("select 42 as alive;", r"42.*=> ")
        t.line("\\pset null none", r"=> ")
        t.send("\\q\n")
        assert t.end() == 0, mode


def cut_boxes():
    t = Terminal("-q", cols=60)
    t.expect(r"=> ")
    shown = t.line("select g as n, repeat('long ', 30) as t from generate_series(1, 1000) g order by 1;",
                   r"\(1000 rows, 40 shown\).*=> ")
    assert "⋮" in shown and "…" in shown
    boxes = [line for line in shown.splitlines() if line.startswith(("│", "┌", "└"))]
    assert boxes and max(len(line.rstrip()) for line in boxes) <= 60, max(boxes, key=len)
    assert len([line for line in boxes if line.startswith("│")]) == 43  # names, types, 40 rows, the gap
    shown = t.line("select " + ", ".join(f"{i} as column_number_{i}" for i in range(20)) + ";", r"columns shown\).*=> ")
    boxes = [line for line in shown.splitlines() if line.startswith(("│", "┌", "└"))]
    assert max(len(line.rstrip()) for line in boxes) <= 60
    t.send("\\q\n")
    assert t.end() == 0
    t = Terminal("-q", cols=24)  # no two columns of the usual least width fit
    t.expect(r"=> ")
    shown = t.line("select 'abcdefghijklmnopqrstuvwxyz' as a, 12345678901 as b, 'x' as c;", r"2 of 3 columns shown\).*=> ")
    boxes = [line for line in shown.splitlines() if line.startswith(("│", "┌", "└"))]
    assert len(boxes) == 5 and max(len(line.rstrip()) for line in boxes) <= 24, shown
    t.send("\\q\n")
    assert t.end() == 0


def completion():
    t = Terminal("-q")
    t.expect(r"=> ")
    t.line("create table wonderful (particular int);", r"=> ")
    t.send("select parti\t from wonder\t;\n")
    t.expect(r"particular.*\(0 rows\).*=> ")
    t.send("\\timi\t off\n")
    t.expect(r"=> ")
    t.send("\\q\n")
    assert t.end() == 0


def unicode():
    t = Terminal("-q")
    t.expect(r"=> ")
    t.line("select 'é日本' as ü;", r"é日本.*│ +ü +│.*│ é日本 +│.*=> ")
    fcntl.ioctl(t.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 40, 0, 0))  # a resized window
    t.line("select repeat('x', 100) as r;", r"x….*=> ")
    t.send("\\q\n")
    assert t.end() == 0


def history():
    t = Terminal("-q")
    t.expect(r"=> ")
    t.line("select 'first' as f;", r"first.*first.*=> ")
    t.send("\\q\n")
    assert t.end() == 0
    t = Terminal("-q")
    t.expect(r"=> ")
    t.send("\x1b[A")  # \q
    t.send("\x1b[A\n")
    t.expect(r"│ first.*=> ")
    t.send("\\q\n")
    assert t.end() == 0


def progress():
    t = Terminal()
    t.expect(r"=> ")
    t.line("set statement_timeout = 3000;", r"=> ")
    t.send("select count(*) from generate_series(1, 3000000) a, generate_series(1, 3000000) b where a + b < 0;\n")
    t.expect(r"(\d+% ▕.*▏ \d\.\d s|running, \d\.\d s)")
    t.expect(r"statement timeout.*=> ")
    shown = t.line("select 1;", r"\(1 row\).*=> ")  # a short statement shows none
    assert "running" not in shown and "▕" not in shown
    t.send("\\q\n")
    assert t.end() == 0


def main():
    failed = 0
    tests = [prompts, beginners, unfinished, no_pager, interrupt, stop_printing, cut_boxes, completion, unicode, history, progress]
    for test in tests:
        if len(sys.argv) > 1 and sys.argv[1] not in test.__name__:
            continue
        try:
            test()
        except AssertionError as error:
            failed += 1
            print(f"--- {test.__name__}: {error}")
    print(f"{len(tests) - failed} of {len(tests)} terminal cases passed")
    sys.exit(1 if failed else 0)


main()

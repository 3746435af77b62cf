"""A shell that stays open: statements go in one by one, so that several processes take turns on a database."""
import os
import pathlib
import subprocess

BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()


class Shell:
    def __init__(self, database, *options, errors=True):
        """It goes on after errors, which are among what it prints if `errors`."""
        self.child = subprocess.Popen([str(BUILD / "tcudb"), "-X", "-qAt", "-v", "ON_ERROR_STOP=0", *options, str(database)],
                                      text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT if errors else subprocess.DEVNULL)

    def run(self, sql):
        """What it prints."""
        self.child.stdin.write(sql + "\n\\echo done\n")
        self.child.stdin.flush()
        lines = []
        while (line := self.child.stdout.readline().rstrip("\n")) != "done":
            if line == "" and self.child.poll() is not None:
                return "\n".join(lines + [f"the shell has ended with {self.child.returncode}"])
            lines.append(line)
        return "\n".join(lines)

    def end(self):
        self.child.stdin.close()
        self.child.wait(timeout=120)

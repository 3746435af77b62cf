"""A private PostgreSQL 15 on a Unix socket in a temporary folder, and a plain client for it over libpq.

    with Cluster() as cluster:
        db = cluster.connect()
        db.run("select 1")  ->  Result(columns=["?column?"], types=[23], rows=[["1"]], error=None)

The server listens on no network address, runs as `postgres` when started by root (initdb refuses root), uses the
C collation, and ends with the block. Skip() is raised when PostgreSQL 15 is not installed.
"""
import ctypes
import ctypes.util
import dataclasses
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

BIN = pathlib.Path("/usr/lib/postgresql/15/bin")


class Skip(Exception):
    """Why a test cannot run here."""


@dataclasses.dataclass
class Error:
    sqlstate: str
    message: str
    position: int = 0


@dataclasses.dataclass
class Result:
    columns: list
    types: list
    rows: list  # of lists of text or None
    error: Error = None
    tag: str = ""


def _libpq():
    name = ctypes.util.find_library("pq") or "libpq.so.5"
    try:
        pq = ctypes.CDLL(name)
    except OSError as missing:
        raise Skip(f"libpq is not installed: {missing}")
    pq.PQconnectdb.restype = ctypes.c_void_p
    pq.PQconnectdb.argtypes = [ctypes.c_char_p]
    pq.PQexec.restype = ctypes.c_void_p
    pq.PQexec.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    for name in ("PQerrorMessage", "PQstatus", "PQfinish"):
        getattr(pq, name).argtypes = [ctypes.c_void_p]
    pq.PQerrorMessage.restype = ctypes.c_char_p
    for name, kind in (("PQresultStatus", ctypes.c_int), ("PQntuples", ctypes.c_int), ("PQnfields", ctypes.c_int),
                       ("PQclear", None), ("PQcmdStatus", ctypes.c_char_p)):
        getattr(pq, name).argtypes = [ctypes.c_void_p]
        getattr(pq, name).restype = kind
    for name, kind in (("PQfname", ctypes.c_char_p), ("PQftype", ctypes.c_uint), ("PQresultErrorField", ctypes.c_char_p)):
        getattr(pq, name).argtypes = [ctypes.c_void_p, ctypes.c_int]
        getattr(pq, name).restype = kind
    for name, kind in (("PQgetvalue", ctypes.c_char_p), ("PQgetisnull", ctypes.c_int)):
        getattr(pq, name).argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
        getattr(pq, name).restype = kind
    return pq


def _text(raw):
    return raw.decode("utf-8", "replace") if raw else ""


class Connection:
    def __init__(self, conninfo):
        self.pq = _libpq()
        self.conn = self.pq.PQconnectdb(conninfo.encode())
        if self.pq.PQstatus(self.conn) != 0:
            raise RuntimeError(_text(self.pq.PQerrorMessage(self.conn)))

    def run(self, sql):
        pq, result = self.pq, self.pq.PQexec(self.conn, sql.encode())
        try:
            if pq.PQresultStatus(result) in (5, 6, 7):  # bad response, nonfatal and fatal error
                field = lambda code: _text(pq.PQresultErrorField(result, ord(code)))
                position = field("P")
                return Result([], [], [], Error(field("C"), field("M"), int(position) if position else 0))
            columns = range(pq.PQnfields(result))
            rows = [[None if pq.PQgetisnull(result, r, c) else _text(pq.PQgetvalue(result, r, c)) for c in columns]
                    for r in range(pq.PQntuples(result))]
            return Result([_text(pq.PQfname(result, c)) for c in columns], [pq.PQftype(result, c) for c in columns], rows,
                          None, _text(pq.PQcmdStatus(result)))
        finally:
            pq.PQclear(result)

    def close(self):
        self.pq.PQfinish(self.conn)


class Cluster:
    def __init__(self):
        if not (BIN / "initdb").exists():
            raise Skip("PostgreSQL 15 is not installed (Debian package postgresql-15)")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pg-"))
        self.user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name

    def _as_user(self, *command):
        prefix = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"] if os.geteuid() == 0 else []
        env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        done = subprocess.run(prefix + [str(c) for c in command], cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]}: {done.stdout}")

    def __enter__(self):
        if os.geteuid() == 0:
            # The scratch folder may lie below folders that only root may enter.
            shutil.rmtree(self.folder)
            self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tcudb-pg-", dir="/tmp"))
            shutil.chown(self.folder, "postgres", "postgres")
        data = self.folder / "data"
        self._as_user(BIN / "initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off -c jit=off"
        self._as_user(BIN / "pg_ctl", "-D", data, "-w", "-l", self.folder / "log", "-o", options, "start")
        return self

    def connect(self):
        user = self.user
        return Connection(f"host={self.folder} user={user} dbname=postgres client_encoding=UTF8 options='-c timezone=UTC'")

    def __exit__(self, *_):
        try:
            self._as_user(BIN / "pg_ctl", "-D", self.folder / "data", "-m", "immediate", "stop")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

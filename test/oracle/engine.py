"""tcudb through its C API (ctypes), with the same interface as postgres.Connection: run(sql) -> Result.

    db = Database(build_folder).connect();  db.run("select 1").rows == [["1"]];  db.seconds, db.processors: what the last query took
"""
import ctypes
import pathlib
import time

from postgres import Error, Result

TEXT = 768


class _Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("position", ctypes.c_int), ("sqlstate", ctypes.c_char * 6),
                ("message", ctypes.c_char * TEXT), ("detail", ctypes.c_char * TEXT), ("hint", ctypes.c_char * TEXT)]


class _Info(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type_name", ctypes.c_char_p), ("type", ctypes.c_int), ("precision", ctypes.c_uint8),
                ("scale", ctypes.c_uint8), ("length", ctypes.c_uint32)]


class _Column(ctypes.Structure):
    _fields_ = [("info", ctypes.POINTER(_Info)), ("values", ctypes.c_void_p), ("validity", ctypes.POINTER(ctypes.c_uint64))]


class _Chunk(ctypes.Structure):
    _fields_ = [("rows", ctypes.c_uint64), ("ncolumns", ctypes.c_uint32), ("columns", ctypes.POINTER(_Column))]


class _Report(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_char_p), ("rows", ctypes.c_uint64), ("engine", ctypes.c_char_p), ("why", ctypes.c_char_p),
                ("exact", ctypes.c_int), ("seconds", ctypes.c_double), ("peak_bytes", ctypes.c_uint64)]


def load(build):
    lib = ctypes.CDLL(str(pathlib.Path(build) / "libtcudb.so"))
    pointer = ctypes.c_void_p
    lib.tcudb_open.argtypes = [ctypes.c_char_p, pointer, ctypes.POINTER(pointer), ctypes.POINTER(_Error)]
    lib.tcudb_connect.argtypes = [pointer, ctypes.POINTER(pointer), ctypes.POINTER(_Error)]
    lib.tcudb_query.argtypes = [pointer, ctypes.c_char_p, ctypes.POINTER(pointer), ctypes.POINTER(_Error)]
    for name in ("tcudb_close", "tcudb_disconnect", "tcudb_result_free", "tcudb_interrupt"):
        getattr(lib, name).argtypes = [pointer]
        getattr(lib, name).restype = None
    lib.tcudb_result_columns.argtypes = [pointer]
    lib.tcudb_result_columns.restype = ctypes.c_uint32
    lib.tcudb_result_column.argtypes = [pointer, ctypes.c_uint32]
    lib.tcudb_result_column.restype = ctypes.POINTER(_Info)
    lib.tcudb_result_chunks.argtypes = [pointer]
    lib.tcudb_result_chunks.restype = ctypes.c_uint64
    lib.tcudb_result_chunk.argtypes = [pointer, ctypes.c_uint64]
    lib.tcudb_result_chunk.restype = ctypes.POINTER(_Chunk)
    lib.tcudb_result_report.argtypes = [pointer]
    lib.tcudb_result_report.restype = ctypes.POINTER(_Report)
    lib.tcudb_format.argtypes = [ctypes.POINTER(_Chunk), ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
    lib.tcudb_format.restype = ctypes.c_size_t
    return lib


def _text(raw):
    return raw.decode("utf-8", "replace") if raw else ""


class Connection:
    def __init__(self, database):
        self.database, self.lib = database, database.lib
        self.conn, err = ctypes.c_void_p(), _Error()
        if self.lib.tcudb_connect(database.db, ctypes.byref(self.conn), ctypes.byref(err)) != 0:
            raise RuntimeError(_text(err.message))
        self.buffer = ctypes.create_string_buffer(1 << 16)

    def _value(self, chunk, column, row):
        validity = chunk.contents.columns[column].validity
        if validity and not (validity[row >> 6] >> (row & 63)) & 1:
            return None
        n = self.lib.tcudb_format(chunk, column, row, self.buffer, len(self.buffer))
        if n >= len(self.buffer):
            self.buffer = ctypes.create_string_buffer(n + 1)
            self.lib.tcudb_format(chunk, column, row, self.buffer, n + 1)
        return self.buffer.raw[:n].decode("utf-8", "replace")

    def run(self, sql):
        lib, result, err = self.lib, ctypes.c_void_p(), _Error()
        started, processors = time.perf_counter(), time.process_time()
        status = lib.tcudb_query(self.conn, sql.encode(), ctypes.byref(result), ctypes.byref(err))
        self.seconds, self.processors = time.perf_counter() - started, time.process_time() - processors
        if status != 0:
            return Result([], [], [], Error(_text(err.sqlstate), _text(err.message), err.position))
        columns, rows = range(lib.tcudb_result_columns(result)), []
        infos = [lib.tcudb_result_column(result, c).contents for c in columns]
        names, types = [_text(i.name) for i in infos], [_text(i.type_name) for i in infos]
        for c in range(lib.tcudb_result_chunks(result)):
            chunk = lib.tcudb_result_chunk(result, c)
            rows += [[self._value(chunk, col, row) for col in columns] for row in range(chunk.contents.rows)]
        report = lib.tcudb_result_report(result)
        tag = _text(report.contents.tag) if report else ""
        lib.tcudb_result_free(result)
        return Result(names, types, rows, None, tag)

    def execute(self, sql):
        """Runs without looking at rows; the SQLSTATE of its error, or "". The result is gathered, as tcudb_query does. sql: str, or bytes."""
        result, err = ctypes.c_void_p(), _Error()
        text = sql if isinstance(sql, bytes) else sql.encode()
        status = self.lib.tcudb_query(self.conn, text, ctypes.byref(result), ctypes.byref(err))
        if status == 0:
            self.lib.tcudb_result_free(result)
        return "" if status == 0 else _text(err.sqlstate)

    def close(self):
        self.lib.tcudb_disconnect(self.conn)


class Database:
    def __init__(self, build, path=None):
        self.lib, self.db, err = load(build), ctypes.c_void_p(), _Error()
        if self.lib.tcudb_open(path.encode() if path else None, None, ctypes.byref(self.db), ctypes.byref(err)) != 0:
            raise RuntimeError(_text(err.message))

    def connect(self):
        return Connection(self)

    def close(self):
        self.lib.tcudb_close(self.db)

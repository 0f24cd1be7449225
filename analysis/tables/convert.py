"""Writes tables in another format: convert.py parquet|sqlite [TABLE.columns.new TYPES]... makes of the
columns of each table TABLE.parquet beside it, or a table of results.sqlite.  TYPES is a JSON object
that has the type of each column in order: int64, double or string.  A file of columns has some rows
after the other: their number (8 bytes), then of each column a bit a row, whether it is known, and
the values as Arrow lays them out (sim/cli/results/converted_tables.cpp)."""

import json
import sqlite3
import struct
import sys
from importlib.util import find_spec
from pathlib import Path

if not find_spec("pyarrow"):
    sys.exit("convert: No module named 'pyarrow'; ./setup.sh installs what is missing")
if len(sys.argv) == 2:  # asked whether it can, ahead of all work
    sys.exit()
import pyarrow

ROW_GROUP = 32 << 20  # bytes, about
SQL_TYPES = {"int64": "INTEGER", "double": "REAL", "string": "TEXT"}


def read_column(file, kind, rows):
    known = file.read((rows + 7) // 8)
    if kind != pyarrow.string():
        buffers = [known, file.read(8 * rows)]
    else:
        ends = file.read(4 * (rows + 1))
        buffers = [known, ends, file.read(struct.unpack_from("<i", ends, 4 * rows)[0])]
    return pyarrow.Array.from_buffers(kind, rows, [pyarrow.py_buffer(part) for part in buffers])


def read_batches(path, schema):
    """The rows in batches of some thousand."""
    with open(path, "rb") as file:
        while head := file.read(8):
            rows = struct.unpack("<Q", head)[0]
            columns = [read_column(file, kind, rows) for kind in schema.types]
            yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def row_groups(batches):
    """The same, some batches together."""
    gathered = []
    for batch in batches:
        gathered.append(batch)
        if sum(one.nbytes for one in gathered) >= ROW_GROUP:
            yield pyarrow.Table.from_batches(gathered)
            gathered = []
    if gathered:
        yield pyarrow.Table.from_batches(gathered)


def write_parquet(tables):
    from pyarrow.parquet import ParquetWriter  # which a database does without

    for path, schema in tables:
        place = path.with_name(path.name.split(".")[0] + ".parquet")
        with ParquetWriter(place, schema, compression="zstd") as writer:
            for table in row_groups(read_batches(path, schema)):
                writer.write_table(table.combine_chunks())


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def write_sqlite(tables):
    place = tables[0][0].with_name("results.sqlite")
    place.unlink(missing_ok=True)
    database = sqlite3.connect(place, isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("BEGIN")
    for path, schema in tables:
        table = quoted(path.name.split(".")[0])
        columns = [f"{quoted(field.name)} {SQL_TYPES[str(field.type)]}" for field in schema]
        database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        added = f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})"
        for batch in read_batches(path, schema):
            database.executemany(
                added, zip(*(column.to_pylist() for column in batch.columns), strict=True)
            )
    database.execute("COMMIT")
    database.close()


def main(words):
    write = {"parquet": write_parquet, "sqlite": write_sqlite}[words[0]]
    tables = []
    for path, types in zip(words[1::2], words[2::2], strict=True):
        fields = [(name, pyarrow.type_for_alias(kind)) for name, kind in json.loads(types).items()]
        tables.append((Path(path), pyarrow.schema(fields)))
    try:
        if tables:
            write(tables)
    except (ValueError, OSError, sqlite3.Error) as problem:
        print(f"convert: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

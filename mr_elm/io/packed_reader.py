"""Turn the chunks of a packed split into blocks, with every block accounted for."""
from collections.abc import Iterable, Iterator

from mr_elm.errors import DataFormatError
from mr_elm.io.blocks import Block, RowCounts
from mr_elm.io.formats import RowFormat, RowOptions
from mr_elm.io.kinds import Kind
from mr_elm.io.labels import find_usable
from mr_elm.io.packed import BLOCK_MARK, END_MARK, decode_block, decode_end
from mr_elm.io.parts import number_labels


class PackedReader:
    """Read the packed blocks of one split; the same interface as `LineReader`.

    counts : RowCounts, where lines are rows.
    row_lines : as in `LineReader`.
    packing : what the task that packed these rows counted, one dictionary an end line.
    """

    rejected = ()

    def __init__(self, form: RowFormat, file: str = '', start: int = 0, **_: object) -> None:
        self.form = form
        self.counts = RowCounts(file, start)
        self.packing: list[dict] = []
        self.row_lines = range(0)

    def blocks(self, chunks: Iterable[bytes]) -> Iterator[Block]:
        """Yield the blocks. Raises DataFormatError with the position of a damaged one."""
        for chunk in chunks:
            for line in chunk.split(b'\n'):
                if line:
                    self.counts.records += 1
                    yield from self._read(line)

    def _read(self, line: bytes) -> Iterator[Block]:
        if line.startswith(BLOCK_MARK + b'\t'):
            yield self._decode(line)
        elif line.startswith(END_MARK + b'\t'):
            self._close(line)
        else:
            raise DataFormatError(f'{self._position()}: expected a packed block, found other text')

    def _close(self, line: bytes) -> None:
        try:
            self.packing.append(decode_end(line))
        except ValueError as error:
            raise DataFormatError(f'{self._position()}: the end line of a pack is damaged ({error})') from None

    def _decode(self, line: bytes) -> Block:
        try:
            block = fit_labels(decode_block(line), self.form)
        except ValueError as error:
            raise DataFormatError(f'{self._position()}: {error}') from None
        self.row_lines = range(self.counts.lines, self.counts.lines + len(block))
        self.counts.lines += len(block)
        self.counts.used += len(block)
        return block

    def _position(self) -> str:
        where = f', behind byte {self.counts.start}' if self.counts.start else ''
        return f'{self.counts.file}, record {self.counts.records}{where}'


def fit_labels(block: Block, form: RowFormat) -> Block:
    """Read classes as targets where these are wanted. Raises ValueError when the rows were packed for another task."""
    if form.ignore_label or not block.labelled:
        return block
    if block.targets is not None and not form.numeric_labels:
        raise ValueError('expected classes, found targets of a regression: pack the rows again (mr-elm pack --task '
                         'classification)')
    numbered = number_labels(block, form)
    if numbered.targets is not None and not find_usable(numbered.targets, form).all():
        raise ValueError('expected numbers as labels of a regression, found others: pack the rows again (mr-elm pack '
                         '--task regression)')
    return numbered


def recognise(lines: list[str]) -> bool:
    """Tell whether the first line is a record of a pack."""
    return bool(lines) and lines[0].encode('latin-1').startswith((BLOCK_MARK, END_MARK))


def choose_format(lines: list[str], path: str, options: RowOptions) -> RowFormat:
    """Return the RowFormat: a pack says the rest itself."""
    return RowFormat.of('packed', options)


KIND = Kind(choose_format, recognise, reader=PackedReader)

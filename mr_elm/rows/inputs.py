"""Find the files of a data set, and look at each once."""

import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from mr_elm.errors import DataFormatError
from mr_elm.rows.arrow_blocks import FACTS
from mr_elm.rows.arrow_files import find_cuts
from mr_elm.rows.blocks import Block
from mr_elm.rows.encoding import Encoding
from mr_elm.rows.kinds import find_binary_kind, find_kind
from mr_elm.rows.lines import clean_chunk
from mr_elm.rows.options import AUTO, KINDS, MAX_CATEGORIES, RowOptions
from mr_elm.rows.packs import load_manifest, sum_footer
from mr_elm.rows.selection import SHOWN_NAMES
from mr_elm.rows.splits import CHUNK_BYTES, DAMAGE, decompress, find_ending, hadoop_cuts, read_stream
from mr_elm.rows.storage import MANIFEST, Entry, expand_patterns, is_local, name_folders, open_ranges, store_of
from mr_elm.rows.text import quote, split_lines
from mr_elm.rows.wire_rows import write_block

READERS = 4  # threads that look at files elsewhere; for each file the hadoop command starts a Java
MAGIC_BYTES = 8  # first bytes of a file, which tell its kind
CHARSET_BYTES = 1 << 16  # first bytes of a file, which tell how its text is encoded
MAX_LINES = 200  # lines that are looked at
MIN_LINES = 3  # lines, once as many bytes as one chunk have been read
FOREIGN = {  # how a file begins that holds no rows -> what it is
    r'PK\x03\x04': 'a zip archive: an Excel or OpenDocument workbook, or numpy arrays; save a workbook as csv, give a '
    'zip archive of one csv file a name that ends in .zip',
    r'\x1f\x8b': 'gzip data: give the file a name that ends in .gz',
    r'BZh': 'bzip2 data: give the file a name that ends in .bz2',
    r'\x28\xb5\x2f\xfd': 'zstandard data: give the file a name that ends in .zst',
    r'\xd0\xcf\x11\xe0': 'an old Excel workbook: save it as csv',
    r'\x93NUMPY': 'a numpy array: write it as csv (numpy.savetxt) or as parquet',
    r'version https://git-lfs': 'a pointer of git-lfs to the file: fetch the file itself (git lfs pull)',
    r'\x89HDF|%PDF|HEADER RECORD|MATLAB|<stata_dta>|\$FL2': 'a file of another program: save its table as csv',
    r'(?i)(%.*\n\s*)*@(relation|attribute)\b': 'an ARFF file: leave out the lines above the rows, which begin with % '
    'or @, or convert it to csv',
    r'(?i)<(!doctype|html|\?xml)': 'a web page or XML, perhaps instead of a download that failed',
    r'\{\s*("|$)|\[\s*[\[{]': 'JSON: write its rows as csv or as parquet',
    r'[-+.\d]+( [-+.\d]+)* \|\w* [A-Za-z]\w*:\S': 'rows of Vowpal Wabbit: write them as LIBSVM text',
}
TEXT_CHARACTERS = 4096  # characters that tell what a text is
# first bytes of a text -> its encoding
MARKS = {b'\xff\xfe\0\0': 'utf-32', b'\0\0\xfe\xff': 'utf-32', b'\xff\xfe': 'utf-16', b'\xfe\xff': 'utf-16'}


@dataclass(frozen=True)
class InputFile:
    """Name a file, its size in bytes and the format of its lines.

    uri : where tasks find it when that is not `path`: a copy on the cluster, or of standard input.
    modified : a text that changes when the file is written again.
    cuts : the bytes at which its parts begin, where it can only be cut there. n_rows : where the file says so.
    footer : the checksum of its footer, where it is a file of a pack.
    """

    path: str
    size: int
    format: RowOptions
    uri: str | None = None
    modified: str = ''
    cuts: Sequence[int] = ()
    n_rows: int | None = None
    footer: int | None = None

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return os.path.basename(self.path)


@dataclass(frozen=True)
class InputPlan:
    """List the files of a data set in input order.

    pack : the folder of a packed data set, else None. manifest : what closes a pack, a dictionary.
    encoding : Encoding of rows that are tables, None where it is yet to be chosen, or rows hold only numbers.
    max_categories, dates : how it is chosen, see `choose_encoding`.
    n_rows : how many rows every pass uses, or None before the first one.
    parsed : where the rows are kept that a pass has parsed, for the next one: a folder of this machine, or a name that
        the engine knows; else None.
    """

    files: list
    pack: str | None = None
    manifest: dict | None = None
    encoding: Encoding | None = None
    max_categories: int = MAX_CATEGORIES
    dates: str = AUTO
    n_rows: int | None = None
    parsed: str | None = None

    @property
    def form(self) -> RowOptions:
        """Return how the first file is read."""
        return self.files[0].format

    @property
    def in_parts(self) -> bool:
        """Tell whether tasks can read only splits that the driver has planned, as where the rows are no lines."""
        return bool(find_kind(self.form.kind).magic) or not all(
            hadoop_cuts(file.path, file.format.charset) for file in self.files
        )

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def name(self) -> str:
        """Name the data set for a message."""
        if len(self.files) == 1:
            return self.files[0].path
        return f'{self.files[0].path} and {len(self.files) - 1:,} more'

    @property
    def input_facts(self) -> dict:
        """Return what a reader of similar rows must know: how the rows are written."""
        return replace(self.form, held_out=0.0, tested=False, unseen=0.0, category=(), header_line='').to_json()

    @property
    def needs_encoding(self) -> bool:
        """Tell whether rows are tables whose encoding is yet to be chosen."""
        return self.form.table and self.encoding is None

    @property
    def column_names(self) -> list[str]:
        """Name the columns that are features; x0, x1 and so on where they have no names."""
        return list(self.form.names or (f'x{j}' for j in range(self.form.width)))

    @property
    def n_features(self) -> int | None:
        """Return how many features the rows have once they are encoded, None where a pass has to find out."""
        if self.manifest:
            return self.manifest['n_features']
        if self.encoding is not None:
            return self.encoding.width
        if find_kind(self.form.kind).sparse:
            return self.form.n_features
        return self.form.width

    def to_json(self) -> dict:
        """Return the plan as a dictionary that JSON can hold; `from_json` undoes it."""
        files = [{**vars(file), 'format': file.format.to_json()} for file in self.files]
        return {**vars(self), 'files': files, 'encoding': self.encoding and self.encoding.to_json()}

    @classmethod
    def from_json(cls, record: dict) -> 'InputPlan':
        """Make a plan of what `to_json` returned."""
        files = [InputFile(**{**file, 'format': RowOptions.from_json(file['format'])}) for file in record['files']]
        return cls(
            **{**record, 'files': files, 'encoding': record['encoding'] and Encoding.from_json(record['encoding'])}
        )

    def change_formats(self, **values: Any) -> 'InputPlan':
        """Return the plan of the same files, read otherwise. values : of their RowOptions."""
        return replace(self, files=[replace(file, format=replace(file.format, **values)) for file in self.files])


def describe_inputs(plan: InputPlan) -> str:
    """Say in one line how the files of a data set are read; '' where that had not to be decided."""
    description = find_kind(plan.form.kind).describe(plan.form)
    return description and f'{os.path.basename(plan.name)}: {description}'


def plan_inputs(patterns: Sequence[str | Entry], options: RowOptions, closed: bool = True) -> InputPlan:
    """Make the InputPlan of what the user named.

    patterns : files, folders or globs; one that exists is never a pattern. Names that begin with _ or . are left out
    of folders. An Entry stands for itself.
    options : RowOptions. closed : whether packed rows must have a manifest, or may be files of blocks.
    Raises FileNotFoundError when nothing is there, DataFormatError when it cannot be rows.
    """
    entries = expand_patterns(patterns)
    files = inspect_files(entries, options)
    if not files and len(entries) == 1:
        raise DataFormatError(f'{entries[0].path}: expected rows, the file is empty')
    if not files:
        raise DataFormatError(f'{entries[0].path} and {len(entries) - 1} more: expected rows, all files are empty')
    pack = None
    if files[0].format.kind == 'packed':
        pack = find_pack(files, closed)
    if pack is None:
        return InputPlan(files, encoding=options.encoding, max_categories=options.max_categories, dates=options.dates)
    for name in ('category', 'columns', 'drop'):
        if getattr(options, name):
            raise DataFormatError(f'{pack}: expected rows that are not packed yet for --{name}: say it to mr-elm pack')
    manifest = load_manifest(pack)
    check_files(pack, manifest, files)
    encoding = check_pack(pack, manifest, options)
    packed = RowOptions.from_json(manifest['input'])
    labels = {name: getattr(packed, name) for name in ('targets', 'target_names', 'labels_separator', 'missing_labels')}
    plan = InputPlan(files, pack, manifest, encoding, options.max_categories, options.dates)
    return plan.change_formats(**labels, part_by=options.part_by and packed.part_by)


def check_files(pack: str, manifest: Mapping[str, Any], files: Iterable[InputFile]) -> None:
    """Raise DataFormatError unless the files of a pack are those that its manifest names."""
    packed = {(listed['name'], listed['rows'], listed['footer']) for listed in manifest['files']}
    for name, *_ in sorted(packed ^ {(file.name, file.n_rows, file.footer) for file in files}):
        raise DataFormatError(
            f'{pack}/{name}: expected the files that the manifest of the pack names, as they were packed; this one is '
            'missing, was altered, or is none of them: bring it back, or pack the rows again'
        )


def check_pack(pack: str, manifest: Mapping[str, Any], options: RowOptions) -> Encoding | None:
    """Return the Encoding of packed rows.

    Raises DataFormatError when the user, or a model, expects other columns, targets or labels.
    """
    packed = RowOptions.from_json(manifest['input'])
    encoding = None
    if manifest.get('encoding'):
        encoding = Encoding.from_json(manifest['encoding'])
    if options.encoding not in (None, encoding):
        raise DataFormatError(
            f'{pack}: expected rows whose columns are encoded as in the model, found another '
            'encoding: pack them again (mr-elm pack --like MODEL)'
        )
    task = targets = None
    if options.labelled and not options.ignore_label:
        targets = options.target_names or options.targets
        if not options.numeric_labels:
            task = 'classification'
    for flag, wanted, found in (
        ('--task', task, manifest['task']),
        ('--columns', options.names, packed.names or options.names),
        ('--targets', targets, packed.target_names or packed.targets),
        ('--labels-separator', options.labels_separator, packed.labels_separator),
        ('--part-by', options.part_by, packed.part_names),
    ):
        if wanted and (*map(str, wanted),) != (*map(str, found or ()),):
            raise DataFormatError(
                f'{pack}: expected rows of mr-elm pack {flag} {describe_columns(wanted)}, found '
                f'{describe_columns(found)}: pack them again, for a model by mr-elm pack --like MODEL'
            )
    if missing := sorted(set(manifest['labels']) & set(options.missing_labels or ())):
        raise DataFormatError(
            f'{pack}: expected rows without the missing label {quote(missing[0])}, the pack has '
            'some: pack them again with the same --missing-labels'
        )
    return encoding


def describe_columns(columns: str | Iterable[Any] | None) -> str:
    """Name the first of some columns, or an option, for a message."""
    if isinstance(columns, str):
        return columns
    return ', '.join(map(str, list(columns or ['none'])[:SHOWN_NAMES]))


def inspect_files(entries: Iterable[Entry], options: RowOptions) -> list[InputFile]:
    """Look at each file: the InputFiles of those that are not empty. Columns have the names of the first file.

    Some files that are elsewhere are looked at together, as each waits for its store. Raises DataFormatError unless all
    are of one kind and, as csv, of one width.
    """
    waiting = iter(entries)
    first = next(filter(None, map(partial(inspect_file, options=options), waiting)), None)
    if first is None:
        return []
    form = first.format
    options = replace(options, trained=options.trained or form)
    if form.names is not None:
        kept = ('names', 'label_name', 'weight_name', 'target_names')
        options = replace(options, **{name: getattr(form, name) or getattr(options, name) for name in kept})
    with ThreadPoolExecutor(READERS) as pool:
        others = list(filter(None, pool.map(partial(inspect_file, options=options), waiting)))
    for file in others:
        if file.format.kind != form.kind:
            raise DataFormatError(
                f'{file.path}: expected {form.kind} rows as in {first.path}, found {file.format.kind} rows'
            )
        if form.kind == 'csv' and None in (file.format.names, form.names) and file.format.n_columns != form.n_columns:
            raise DataFormatError(
                f'{file.path}: expected {form.n_columns} fields a row as in {first.path}, found {file.format.n_columns}'
            )
    return [first, *others]


def plan_blocks(path: str, blocks: Iterable[Block]) -> InputPlan:
    """Write blocks of dense rows as lines, and plan these as an input of jobs. Labels are words, or there are none."""
    with open(path, 'wb') as stream:
        stream.writelines(write_block(block.X, *' '.join(block.names).split()) + b'\n' for block in blocks)
    return plan_inputs([path], RowOptions())


def inspect_file(entry: Entry, options: RowOptions) -> InputFile | None:
    """Return the InputFile of an entry, or None when it is empty. Raises DataFormatError when it holds no rows."""
    path = entry.copy or entry.path
    if is_local(path) and not os.path.isfile(path):
        raise DataFormatError(
            f'{path}: expected a file, a pipe or a device cannot be read twice (`-` reads standard input)'
        )
    with store_of(path).open(path) as stream:
        if kind := find_binary_kind(stream.peek(MAGIC_BYTES)[:MAGIC_BYTES]):
            return inspect_parts(entry, kind, options)
        charset = options.charset
        if charset is None:
            first_bytes = b''
            with suppress(*DAMAGE, OSError), store_of(path).open(path) as copy, decompress(copy, entry.path) as plain:
                first_bytes = plain.read(CHARSET_BYTES)  # bytes that are damaged say nothing
            charset = choose_charset(first_bytes, options.trained)
        lines, blank_bytes = take_first_lines(read_stream(stream, entry.path, charset=charset))
    if not lines:
        return None
    form = replace(sniff(lines, entry.path, options, blank_bytes), charset=charset)
    return InputFile(entry.path, entry.size, form, entry.copy, entry.modified)


def choose_charset(first_bytes: bytes, like: RowOptions | None) -> str | None:
    """Return the encoding of a text: as it says itself, or as in the training unless it is plainly UTF-8.

    None stands for UTF-8 with line feeds, which Hadoop reads as well. Text with carriage returns only is in an encoding
    that has to be decoded, too.
    """
    for mark, charset in MARKS.items():
        if first_bytes.startswith(mark):
            return charset
    if b'\r' in first_bytes[:-1] and b'\n' not in first_bytes:
        return 'utf-8'
    if not like or not like.charset or like.charset.startswith('utf'):
        return None
    lines = first_bytes[: first_bytes.rfind(b'\n') + 1]
    if lines.isascii() or '\ufffd' in lines.decode(errors='replace'):  # which stands for bytes that are no UTF-8
        return like.charset
    return None


def take_first_lines(chunks: Iterable[bytes]) -> tuple[list[str], int]:
    """Take the first lines that are not blank from chunks of whole lines: (lines, bytes of the blank lines above).

    They are MAX_LINES, or fewer where lines are long. A byte order mark counts with the blank lines.
    """
    lines: list[str] = []
    size = blank_bytes = 0
    for chunk in chunks:
        if not lines:
            rest = chunk.removeprefix(BOM_UTF8).decode('latin-1').lstrip()
            blank_bytes += chunk.rfind(b'\n', 0, len(chunk) - len(rest)) + 1
        lines += [line for line in split_lines(clean_chunk(chunk)) if line.strip()]
        size += len(chunk)
        if len(lines) >= MAX_LINES or size >= CHUNK_BYTES and len(lines) >= MIN_LINES:
            break
    return lines[:MAX_LINES], blank_bytes


def sniff(lines: list[str], path: str, options: RowOptions, blank_bytes: int = 0) -> RowOptions:
    """Decide the RowOptions of a file.

    lines : its first lines, without blank ones. blank_bytes : of the blank lines above them.
    options : RowOptions of the command line.
    Raises DataFormatError when the lines are no rows at all.
    """
    text = '\n'.join(lines[:20])[:TEXT_CHARACTERS].lstrip(' \t')
    foreign = next((what for pattern, what in FOREIGN.items() if re.match(pattern, text)), None)
    if foreign and options.kind == 'auto':
        raise DataFormatError(f'{path}: expected rows, found {foreign}')
    rows = [line for line in lines if '\0' not in line]  # the others are bad rows
    if '\0' in lines[0] or len(rows) < len(lines) / 2:
        raise DataFormatError(
            f'{path}: expected rows of text, found binary data: text of two bytes a letter needs --encoding utf-16-le '
            'or utf-16-be'
        )
    if options.kind != 'auto':
        kind = find_kind(options.kind)
    else:  # by the lines where no name of a file tells the kind, else by the name, else by the lines
        kinds = [kind for kind in map(find_kind, KINDS) if not kind.magic]
        name = str(path).lower().removesuffix(find_ending(path))
        nameless = [kind for kind in kinds if not kind.endings and kind.recognise(rows)]
        named = [kind for kind in kinds if name.endswith(kind.endings)]
        kind = next(chain(nameless, named, (kind for kind in kinds if kind.recognise(rows))))
    if kind.magic:
        raise DataFormatError(f'{path}: expected {options.kind} rows, found text')
    return replace(kind.choose_format(rows, path, options), blank_bytes=blank_bytes)


def inspect_parts(entry: Entry, kind: str, options: RowOptions) -> InputFile | None:
    """Return the InputFile of a file that is no text, or None when it has no row."""
    footer = None
    with open_ranges(entry.copy or entry.path) as source:
        parts = find_kind(kind).open(source, entry.path)
        if kind == 'parquet' and options.kind != kind and FACTS in (parts.file.metadata.metadata or {}):
            kind, parts, footer = 'packed', find_kind('packed').open(source, entry.path), sum_footer(source)
        if options.kind not in ('auto', kind):
            raise DataFormatError(f'{entry.path}: expected {options.kind} rows, found {kind} rows')
        form = parts.choose_format(options, name_folders(entry))
        cuts = find_cuts(entry.size, parts.sizes)
    if not cuts or parts.n_rows == 0:
        return None
    return InputFile(entry.path, entry.size, form, entry.copy, entry.modified, cuts, parts.n_rows, footer)


def find_pack(files: list[InputFile], closed: bool) -> str | None:
    """Return the folder of a packed data set. Raises DataFormatError when its manifest is missing though `closed`."""
    folder, *others = sorted({os.path.dirname(file.path) for file in files})
    is_closed = store_of(folder).find(f'{folder}/{MANIFEST}') is not None
    if not (closed or is_closed):
        return None
    if others:
        raise DataFormatError(
            f'{others[0]}: expected one pack, {folder} is another: a data set is one pack, so name the '
            'files that were packed, or pack them together; to train, add the other pack by `mr-elm update`'
        )
    if not is_closed:
        raise DataFormatError(f'{folder}: expected a pack with its {MANIFEST}, found none: packing did not finish')
    return folder


def demand_unchanged(plan: InputPlan) -> None:
    """Raise DataFormatError when a file of a plan is gone, or was written since the plan was made."""
    for file in plan.files:
        if file.uri:  # a copy of ours, which nobody else writes
            continue
        entry = store_of(file.path).find(file.path)
        if entry is None or (entry.size, entry.modified) != (file.size, file.modified):
            raise DataFormatError(
                f'{file.path}: the file must stay the same while jobs read it, but it was changed or removed: run the '
                'command again when nothing writes to it'
            )

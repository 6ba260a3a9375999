"""Pack a data set: write its rows as files of Parquet, read them back for their statistics, close with a manifest."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from mr_elm.drivers.summary import demand_rows, learn_encoding, survey, warn_of_labels
from mr_elm.engines.base import Engine
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.option import option
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.blocks import BLOCK_ROWS
from mr_elm.rows.inputs import describe_inputs, plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.packs import write_manifest
from mr_elm.rows.storage import Entry, store_of
from mr_elm.rows.wire import split_key
from mr_elm.streaming.mr_pack import FILE, MRPack
from mr_elm.sums.summary import Summary


@dataclass(frozen=True)
class Packing:
    """Say how rows are packed."""

    dtype: str = option('float64', 'number format of the features', choices=('float64', 'float32'))
    block_rows: int = option(BLOCK_ROWS, 'rows in each block; fewer if rows are wide')


DEFAULT = Packing()


def pack(
    patterns: Sequence[str | Entry],
    folder: str,
    options: RowOptions,
    engine: Engine,
    packing: Packing = DEFAULT,
    bad_rows: str = 'stop',
) -> tuple[Summary, Accounts]:
    """Pack the rows of text files into a folder.

    patterns : files, folders or globs, as of `plan_inputs`. folder : must not exist, or be empty.
    options : RowOptions. packing : how the rows are packed; blocks of wide rows hold fewer.
    Returns (Summary of the packed rows, Accounts of the text). The folder is removed when packing fails.
    """
    store = store_of(folder)
    folder = store.absolute(folder)
    entry = store.find(folder)
    if entry and (not entry.is_folder or store.entries(folder)):
        raise FileExistsError(f'{folder}: expected a new or empty folder, found files in it')
    engine.demand_reach(folder)
    plan = plan_inputs(patterns, options)
    if description := describe_inputs(plan):
        engine.reporter.say(description)
    if plan.pack:
        raise DataFormatError(f'{plan.pack}: expected rows of text, found packed rows')
    text = DataSet(plan, engine, bad_rows)
    if plan.needs_encoding:
        text.encode(learn_encoding(text))
    if entry:
        store.remove(folder)  # Hadoop writes to new folders only
    arguments = ['--dtype', packing.dtype, '--block-rows', str(packing.block_rows)]
    with engine.attempts_folder(folder) as attempts:
        pairs = sorted(text.run(MRPack, ['--into', attempts, *arguments], 'packing'))
        files = [facts for key, facts in pairs if split_key(key)[0] == FILE]
        return close_pack(text, [f'{attempts}/{file["name"]}' for file in files], folder, options, packing)


def close_pack(
    text: DataSet, paths: list[str], folder: str, options: RowOptions, packing: Packing
) -> tuple[Summary, Accounts]:
    """Read the blocks back, check that no row is missing, put the files into their folder, and write the manifest.

    text : DataSet that was packed. paths : of the files that its tasks wrote, in input order.
    """
    plan, accounts = text.plan, text.first
    if accounts is None or not paths:
        raise DataFormatError(f'{plan.name}: expected rows, found none that can be used')
    packed = DataSet(plan_inputs(paths, replace(options, kind='packed', encoding=None), closed=False), text.engine)
    summary = replace(survey(packed), encoding=plan.encoding)
    demand_rows(plan, summary)
    if accounts.used != summary.n_rows:
        raise AccountingError(f'{folder}: {accounts.used} rows were packed, {summary.n_rows} can be read back')
    warn_of_labels(packed, summary)
    files = []
    for number, file in enumerate(packed.plan.files):
        files.append({'name': f'part-{number:05d}.parquet', 'rows': file.n_rows, 'footer': file.footer})
        store_of(folder).move(file.path, f'{folder}/{files[-1]["name"]}')
    task = 'classification'
    if options.numeric_labels:
        task = 'regression'
    write_manifest(
        folder,
        summary.to_manifest(
            {
                **asdict(packing),
                'task': task,
                'input': plan.input_facts,
                'rejected': accounts.reasons,
                'files': files,
            }
        ),
    )
    return summary, accounts

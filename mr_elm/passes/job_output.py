"""Read what a job has written, whoever ran it and when."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mrjob.util import to_lines

from mr_elm.errors import DataFormatError
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.storage import COPY_BYTES, Entry, store_of


@dataclass(frozen=True)
class JobOutput:
    """Give access to the output of a job that has run.

    folder : where its parts are.
    map_input_records : how many lines Hadoop says its map tasks were given; None where nobody counts but the tasks.
    """

    job_class: Any
    folder: str
    map_input_records: int | None = None

    def pairs(self, accounts: Accounts) -> Iterator[tuple[str, Any]]:
        """Yield the output pairs, except those about the input, which `accounts` takes."""
        accounts.map_input_records = self.map_input_records
        for key, value in self.all_pairs():
            if not accounts.take(key, value):
                yield key, value

    def all_pairs(self) -> Iterator[tuple[str, Any]]:
        """Yield the output pairs."""
        return map(self.job_class.OUTPUT_PROTOCOL().read, to_lines(self.chunks()))

    def lines(self, accounts: Accounts) -> Iterator[bytes]:
        """Yield all lines of the output as they are; `accounts` takes the records about the input among them."""
        accounts.map_input_records = self.map_input_records
        for path in self.parts():
            with store_of(path).open(path) as stream:
                yield from self.job_class.watch(stream, accounts.take)

    def write(self) -> str:
        """Return the folder, where the output stands in files: another job may read them."""
        return self.folder

    def parts(self) -> list[str]:
        """List the paths of the parts, sorted."""
        return [entry.path for entry in self.entries()]

    def entries(self) -> list[Entry]:
        """List the parts, sorted by their paths."""
        return sorted(
            (entry for entry in store_of(self.folder).entries(self.folder) if entry.name.startswith('part-')),
            key=lambda entry: entry.path,
        )

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the parts, with an empty chunk behind each. Raises DataFormatError when one is cut."""
        for path in self.parts():
            end = b'\n'
            with store_of(path).open(path) as stream:
                while chunk := stream.read(COPY_BYTES):
                    yield chunk
                    end = chunk[-1:]
            if end != b'\n':
                raise DataFormatError(f'{path}: expected whole lines, the last one is cut short')
            yield b''


def map_input_records(running: Any) -> int | None:
    """Return how many lines Hadoop says its map tasks were given; None when it does not say."""
    counters = running.counters()
    if counters:
        return counters[0].get('Map-Reduce Framework', {}).get('Map input records')
    return None

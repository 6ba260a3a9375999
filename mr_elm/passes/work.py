"""Keep what the jobs of a run have written until its output is there, so that another try goes on where it stopped.

A run has a folder on the cluster, which says which driver works with it and which jobs have finished. A record beside
the output of the run, OUTPUT.work, names this folder. Both vanish with the run, unless it fails in a way that another
try could mend and a job has finished.
"""

import hashlib
import json
import os
import re
import socket
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from getpass import getuser
from pathlib import Path
from typing import Any

from mr_elm.errors import AccountingError
from mr_elm.processes import read_start_time
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.rows.storage import store_of, write_file
from mr_elm.store import write_json

RECORD = {'format': 'mr_elm-work', 'version': 1}
STAGING = re.compile(r'[a-z0-9]+://.*/mr_elm-[^/]+-[0-9a-f]{12}')
LARGE = 100_000_000  # bytes of a file whose copy takes a while
DRIVER = 'driver.json'  # in the folder of a run: which process works with it, and where its record is
NOTE = '.json'  # ends the name of the file that says that a job has finished
DIGITS = 12  # end the name of such a folder
ROOT = 'hdfs:///tmp'  # folder of a cluster for what runs keep, unless a user names another one
FINAL = (ValueError, AccountingError)  # another try would end the same way; DataFormatError is one of them


def new_staging(root: str = ROOT) -> str:
    """Name a folder of the cluster that nobody has."""
    return f'{root.rstrip("/")}/mr_elm-{getuser()}-{uuid.uuid4().hex[:12]}'


@dataclass
class Work:
    """Keep the folder of a run on the cluster, and the record of it.

    staging : the folder.
    reporter : speaks to the user.
    queue : ends jobs that a killed driver left running, as `Yarn` does, or None.
    output : what the run makes; without one there is no record.
    resume : whether to go on with the run of the record.
    jobs : key of a job that has finished -> see `finished`. placed : path of an input -> its copy.
    """

    staging: str
    reporter: Any
    queue: Any = None
    output: str | None = None
    resume: bool = False
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    placed: dict[str, str] = field(default_factory=dict)
    begun: bool = False
    resumed: bool = False

    @cached_property
    def record(self) -> str | None:
        """Return the path of the record."""
        if self.output is None:
            return None
        return f'{store_of(self.output).absolute(self.output)}.work'

    def open(self) -> None:
        """Take up the run of the record, or throw it away. Raises FileExistsError when another driver works with it."""
        staging = self.read()
        if staging is None:
            if self.resume:
                self.reporter.say('--resume: no unfinished run to continue')
            return
        driver = read_driver(staging)
        if driver is not None and is_alive(driver):
            raise FileExistsError(
                f'{self.output}: another run is writing it now (process {driver["pid"]}): wait for it, or end it'
            )
        self.end_jobs(staging)
        if not self.resume:
            self.reporter.say(f'{self.record}: deleting an unfinished run (--resume would continue it)')
            self.remove(staging)
            return
        self.staging = staging
        self.resumed = True
        folder = f'{self.staging}/jobs'
        if store_of(folder).find(folder):
            notes = [entry for entry in store_of(folder).entries(folder) if entry.name.endswith(NOTE)]
            self.jobs = {note.name.removesuffix(NOTE): read_remote(note.path) for note in notes}
        self.begin()
        self.reporter.say(f'{self.record}: continuing an unfinished run, finished jobs: {len(self.jobs)}')

    def read(self) -> str | None:
        """Return the folder that the record names, or None when there is none. Raises ValueError for another file."""
        if self.record is None or store_of(self.record).find(self.record) is None:
            return None
        try:
            record = read_remote(self.record)
            if {**record, **RECORD} != record or not STAGING.fullmatch(record['staging']):
                raise ValueError('another format or version')
            return record['staging']
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f'{self.record}: expected the record of an unfinished run ({error})') from None

    def begin(self) -> None:
        """Write the record before anything is on the cluster, and remove what killed drivers left there."""
        if self.begun:
            return
        if self.record is not None:
            write_remote(self.record, {**RECORD, 'staging': self.staging})
        self.begun = True
        try:
            write_remote(f'{self.staging}/{DRIVER}', {**this_driver(), 'record': self.record})
        except OSError:
            self.begun = False  # no job runs: a cluster that is down is not asked for any
            with suppress(OSError):
                self.remove(self.staging)
            raise
        try:
            for path in self.sweep():
                self.reporter.say(f'{path}: removed, its command was killed')
        except OSError as problem:
            self.reporter.say(f'cannot look for unfinished runs of killed commands ({problem})')

    def sweep(self, resumable: bool = False) -> list[str]:
        """Remove the folders of runs whose drivers ran on this machine and were killed; returns which.

        resumable : those too that --resume could continue.
        """
        root, _, own = self.staging.rpartition('/')
        removed = []
        for entry in store_of(root).entries(root):
            path = f'{root}/{entry.name}'
            if entry.name[:-DIGITS] != own[:-DIGITS] or not STAGING.fullmatch(path) or path == self.staging:
                continue
            driver = read_driver(path)
            if driver is None or driver['host'] != socket.gethostname() or is_alive(driver):
                continue
            run = Work(path, self.reporter, self.queue)
            named = None
            run.record = driver['record']
            with suppress(OSError, ValueError):
                named = run.read()
            if named != path:
                run.record = None  # it is that of another run, if there is one
            elif not resumable:
                continue
            run.end_jobs(path)
            run.remove(path)
            removed.append(path)
        return removed

    def place(self, file: InputFile) -> str:
        """Copy a file of this machine to the cluster unless it is there; returns its URI."""
        if file.path not in self.placed:
            self.begin()
            uri = f'{self.staging}/input/{copy_name(file)}'
            entry = store_of(uri).find(uri) if self.resumed else None
            if entry is None or entry.size != file.size:
                if file.size > LARGE:
                    self.reporter.say(f'{file.path}: copying {file.size / 1e6:,.0f} MB to the cluster')
                store_of(uri).put(file.path, uri)
            self.placed[file.path] = uri
        return self.placed[file.path]

    def folder(self, key: str) -> str:
        """Return where a job writes."""
        return f'{self.staging}/jobs/{key}'

    @property
    def tag(self) -> str:
        """Return what marks the jobs of the run on the cluster."""
        return tag_of(self.staging)

    def finished(self, key: str, folder: str) -> dict[str, Any] | None:
        """Return what is known of a job that has run, {'folder', 'map_input_records'}, or None.

        Whatever one that failed has left is removed.
        """
        job = self.jobs.get(key)
        if job and store_of(job['folder']).find(f'{job["folder"]}/_SUCCESS'):
            return job
        if self.resumed and folder == self.folder(key) and store_of(folder).find(folder):
            store_of(folder).remove(folder)
        return None

    def finish(self, key: str, folder: str, map_input_records: int | None) -> dict[str, Any]:
        """Note beside the folder of a job that it has finished; returns what is known of it."""
        self.jobs[key] = {'folder': folder, 'map_input_records': map_input_records}
        with suppress(OSError):  # --resume runs a job again that has no note
            write_remote(f'{self.folder(key)}{NOTE}', self.jobs[key])
        return self.jobs[key]

    def close(self, error: BaseException | None = None) -> None:
        """End the run: remove it, or, after an error that may be mended, keep what has finished and say so."""
        if not self.begun:
            return
        resumable = bool(self.record and self.jobs) and error is not None and not isinstance(error, FINAL)
        if error is not None and resumable:
            add_note(error, f'{len(self.jobs)} finished job(s) are kept, --resume continues from there')
        try:
            try:
                if error is not None:
                    self.end_jobs(self.staging)
            finally:
                if not resumable:
                    self.remove(self.staging)
        except OSError as problem:
            if error is None:
                self.reporter.say(f'{self.staging}: cannot remove all files of the run ({problem})')
            else:  # the reason comes first
                add_note(error, f'files of the run may be left in {self.staging}')

    def remove(self, staging: str) -> None:
        """Remove the record of a run, which a cluster that does not answer leaves behind, and its folder."""
        for path in (self.record, staging):
            if path is not None and store_of(path).find(path):
                store_of(path).remove(path)

    def end_jobs(self, staging: str) -> None:
        """End the jobs of a run that still run: nobody waits for them."""
        if self.queue:
            self.queue.end(tag_of(staging))


def key_of(job_class: Any, plan: InputPlan, arguments: list[str], code: str) -> str:
    """Name a job by all that decides its output: the class, its arguments, the input files and the code.

    Files among the arguments count by their contents.
    """
    files = [[file.path, file.size, file.modified, file.format.to_json()] for file in plan.files]
    return digest([job_class.__name__, [content_of(text) for text in arguments], files, code])


def copy_name(file: InputFile) -> str:
    """Name the copy of an input file: by what tells one state of it from another, and whether it is compressed."""
    ending = ''.join(end for end in ('.gz', '.bz2') if file.path.endswith(end))
    return f'{digest([file.path, file.size, file.modified])}{ending}'


def content_of(argument: str) -> str:
    """Return the digest of a file that an argument names, or the argument."""
    if not (os.path.isabs(argument) and os.path.isfile(argument)):
        return argument
    return hashlib.sha256(Path(argument).read_bytes()).hexdigest()


def digest(value: Any) -> str:
    """Hash what JSON can hold."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]


def tag_of(staging: str) -> str:
    """Return what marks the jobs of a run on the cluster. staging : the folder of the run."""
    return f'mr_elm-{staging[-DIGITS:]}'


def read_driver(staging: str) -> dict[str, Any] | None:
    """Return which driver works with a folder, None where the folder does not say."""
    try:
        driver = read_remote(f'{staging}/{DRIVER}')
        return {name: driver[name] for name in ('host', 'pid', 'started', 'record')}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_remote(path: str) -> Any:
    """Return the value in a file of JSON, wherever that is."""
    with store_of(path).open(path) as stream:
        return json.load(stream)


def write_remote(path: str, value: Any) -> None:
    """Write a value as JSON to a file, wherever that is."""
    with write_file(path) as local:
        write_json(local, value)


def this_driver() -> dict[str, Any]:
    """Say which process this is."""
    return {'host': socket.gethostname(), 'pid': os.getpid(), 'started': read_start_time(os.getpid())}


def is_alive(driver: dict[str, Any]) -> bool:
    """Tell whether the process that wrote a record still runs; of other machines nothing is known."""
    return (
        driver['host'] == socket.gethostname()
        and driver['started'] is not None
        and read_start_time(driver['pid']) == driver['started']
    )


def add_note(error: BaseException, text: str) -> None:
    """Add a sentence to an error, as BaseException.add_note does from Python 3.11 on."""
    error.__notes__ = [*getattr(error, '__notes__', ()), text]

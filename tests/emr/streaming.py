"""Hadoop Streaming in small: run a mapper, sort by bytes, run a reducer, as the arguments of a step say.

It follows Hadoop where users could notice: the rule of splits, the order in which they are numbered, how a command is
taken apart, which variables tasks see, the tab behind a line without one, attempts. A file system is a dictionary-like
object: path -> bytes.
"""

import bz2
import gzip
import os
import re
import shutil
import subprocess
import tarfile
import threading
import time
import zlib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from reference.lines import hadoop_split

REPORT = re.compile(rb'^reporter:(counter|status):(.*)$')
BLOCK = 128 << 20
SLOP = 1.1  # Hadoop lets the last split be a tenth longer
STARTING = threading.Lock()  # a program that a forked process still holds open for writing cannot be started
PLAIN = {'.gz': gzip.decompress, '.bz2': bz2.decompress}


@dataclass
class Attempt:
    """Hold what an attempt of a task did."""

    name: str
    split: str
    code: int
    output: list
    stderr: bytes
    left: set


@dataclass
class Streaming:
    """Run one job.

    arguments : those of the streaming jar. store : path -> bytes. folder : where tasks work. job : its id.
    cancelled : tells whether the job is to write nothing.
    """

    arguments: list
    store: object
    folder: Path
    job: str
    cancelled: object = lambda: False
    attempts: list = field(default_factory=list)
    counters: dict = field(default_factory=lambda: defaultdict(int))

    def __post_init__(self):
        self.options, self.conf, self.environment = defaultdict(list), {}, {}
        for name, value in zip(self.arguments[::2], self.arguments[1::2], strict=True):
            if name in ('-D', '-cmdenv'):
                key, _, text = value.partition('=')
                {'-D': self.conf, '-cmdenv': self.environment}[name][key] = text
            else:
                self.options[name].append(value)
        self.shipped = self.fetch_files()

    def run(self):
        """Run the job; returns whether it succeeded. Raises FileNotFoundError when an input is missing."""
        output = self.options['-output'][0].rstrip('/')
        if any(path.startswith(f'{output}/') for path in self.store):
            raise FileExistsError(f'org.apache.hadoop.mapred.FileAlreadyExistsException: {output} already exists')
        try:
            parts = self.run_tasks()
        finally:
            self.remove_lock()
        if None in parts or self.cancelled():
            return False
        for number, lines in enumerate(parts):
            self.store[f'{output}/part-{number:05d}'] = joined(lines)
        self.store[f'{output}/_SUCCESS'] = b''
        return True

    def run_tasks(self):
        """Run the tasks: the pairs of each part of the output, None for one that failed."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            mapped = list(pool.map(self.map_task, range(len(self.splits)), self.splits))
            if self.n_reduces == 0 or None in mapped:
                return mapped
            return list(pool.map(self.reduce_task, range(self.n_reduces), self.shuffled(mapped)))

    def remove_lock(self):
        """Remove what mrjob's wrapper leaves on a machine: a lock in /tmp."""
        wrapper = self.shipped / 'setup-wrapper.sh'  # there is none for a bundle
        for lock in re.findall(r'^exec 9>(\S+)', wrapper.read_text() if wrapper.exists() else '', re.MULTILINE):
            Path(lock).unlink(missing_ok=True)

    @property
    def n_reduces(self):
        """Return how many reduce tasks there are."""
        return int(self.conf.get('mapreduce.job.reduces', 1)) if '-reducer' in self.options else 0

    @cached_property
    def splits(self):
        """List (path, start, length), the longest first, as FileInputFormat cuts and the job client sorts them."""
        paths = [path for pattern in self.options['-input'] for path in named(pattern)]
        for path in paths:
            if path not in self.store:
                raise FileNotFoundError(
                    f'org.apache.hadoop.mapred.InvalidInputException: Input Pattern {path} matches 0 files'
                )
        total = sum(len(self.store[path]) for path in paths)
        least = int(self.conf.get('mapreduce.input.fileinputformat.split.minsize', 1))
        size = max(least, min(BLOCK, total // int(self.conf.get('mapreduce.job.maps', 2))))
        splits = [(path, *piece) for path in paths for piece in self.pieces(path, size)]
        return sorted(splits, key=lambda split: -split[2])

    def pieces(self, path, size):
        """Yield (start, length) of the splits of a file; compressed ones are not cut."""
        start, length = 0, len(self.store[path])
        while not path.endswith(tuple(PLAIN)) and (length - start) / size > SLOP:
            yield start, size
            start += size
        yield start, length - start

    def map_task(self, number, split):
        """Run a mapper over a split: the pairs it wrote, or None when it failed."""
        path, start, length = split
        plain = next((PLAIN[end] for end in PLAIN if path.endswith(end)), None)
        data = self.store[path]
        lines = hadoop_split(plain(data), 0, 1 << 60) if plain else hadoop_split(data, start, length)
        self.counters['Map-Reduce Framework', 'Map input records'] += len(lines)
        seen = {
            'mapreduce_map_input_file': path,
            'mapreduce_map_input_start': str(start),
            'mapreduce_map_input_length': str(length),
        }
        text = b''.join(line.removesuffix(b'\n').removesuffix(b'\r') + b'\n' for line in lines)
        pairs = self.task('m', number, '-mapper', text, f'{path}:{start}+{length}', seen)
        if pairs is None or '-combiner' not in self.options:
            return pairs
        return self.task('m', number, '-combiner', joined(pairs), '', {})

    def shuffled(self, mapped):
        """Deal the pairs out to the reducers by key, each in the order of the bytes of its keys."""
        heaps = [[] for _ in range(self.n_reduces)]
        for key, value in (pair for pairs in mapped for pair in pairs):
            heaps[zlib.crc32(key) % self.n_reduces].append((key, value))
        return [sorted(heap, key=lambda pair: pair[0]) for heap in heaps]

    def reduce_task(self, number, pairs):
        """Run a reducer: the pairs it wrote, or None when it failed."""
        return self.task('r', number, '-reducer', joined(pairs), '', {})

    def task(self, kind, number, command, text, split, seen):
        """Run a command until an attempt succeeds: the pairs it wrote, or None."""
        most = int(self.conf.get(f'mapreduce.{"map" if kind == "m" else "reduce"}.maxattempts', 4))
        for attempt in range(most):
            name = f'{self.job.replace("job", "attempt", 1)}_{kind}_{number:06d}_{attempt}'
            self.attempts.append(self.run_command(name, split_command(self.options[command][0]), text, split, seen))
            if self.attempts[-1].code == 0:
                return self.attempts[-1].output
        return None

    def run_command(self, name, command, text, split, seen):
        """Run an attempt in a folder of its own; no shell is between."""
        folder = self.folder / f'{name}-{len(self.attempts)}'
        variables = {re.sub(r'\W', '_', key): value for key, value in self.conf.items()}
        environment = {
            'PATH': os.environ['PATH'],
            'HOME': str(folder),
            'mapreduce_task_attempt_id': name,
            **variables,
            **seen,
            **self.environment,
        }
        start = time.monotonic()
        with STARTING:
            shutil.copytree(self.shipped, folder, symlinks=True)
            process = subprocess.Popen(
                command,
                env=environment,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        out, err = process.communicate(text)
        self.count(err)
        kind = 'map' if '_m_' in name else 'reduce'
        self.counters['Job Counters ', f'Total vcore-milliseconds taken by all {kind} tasks'] += round(
            1000 * (time.monotonic() - start)
        )
        left = set(os.listdir(folder)) - set(os.listdir(self.shipped))
        shutil.rmtree(folder)
        pairs = [line.partition(b'\t')[::2] for line in out.split(b'\n')[:-1]]
        return Attempt(name, split, process.returncode, pairs, err, left)

    def count(self, stderr):
        """Add up the counters that a task reported."""
        for line in stderr.split(b'\n'):
            if (found := REPORT.match(line)) and found.group(1) == b'counter':
                group, name, amount = found.group(2).decode().split(',')
                self.counters[group, name] += int(amount)

    def fetch_files(self):
        """Download what the step ships to every task: a folder with each file under the name behind its #."""
        folder = self.folder / 'shipped'
        folder.mkdir(parents=True)
        for option, keep in (('-files', write_file), ('-archives', unpack)):
            for uri in ','.join(self.options[option]).split(','):
                path, _, name = uri.partition('#')
                if path:
                    keep(folder / name, self.store[path])
        return folder


def named(pattern):
    """List the paths that FileInputFormat takes a pattern for, which names one file or several: a,b but not {\\,}."""
    paths, depth = [''], 0
    for letter in pattern:
        depth += {'{': 1, '}': -1}.get(letter, 0)
        if letter == ',' and not depth:
            paths.append('')
        else:
            paths[-1] += letter
    return [re.sub(r'\\(.)', r'\1', path.replace(r'{\,}', ',')) for path in paths]


def write_file(path, data):
    """Write a file that may be run."""
    path.write_bytes(data)
    path.chmod(0o755)


def unpack(path, data):
    """Unpack a tar archive to a folder."""
    archive = path.with_suffix('.archive')
    archive.write_bytes(data)
    with tarfile.open(archive) as tar:
        tar.extractall(path)
    archive.unlink()


def joined(pairs):
    """Write pairs as lines."""
    return b''.join(key + b'\t' + value + b'\n' for key, value in pairs)


def split_command(command):
    """Take a command apart as PipeMapRed.splitArgs does: quotes end a word, and nothing escapes them."""
    words, start, quote = [], 0, None
    for end, letter in enumerate(command + ' '):
        if letter in '\'"' and quote in (None, letter):
            ends, quote = True, None if quote else letter
        else:
            ends = letter == ' ' and quote is None or end == len(command)
        if ends:
            words += [command[start:end]] if end > start else []
            start = end + 1
    return words

"""Run commands in trouble: their processes are killed, their disk is full or dies, their clock jumps, memory runs out.

All processes of a command carry a mark in their environment, by which they are found, whoever started them.
"""

import os
import random
import resource
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow.parquet

PROGRAM = Path(sys.executable).with_name('mr-elm')
MARK = 'MR_ELM_FAULTS'
PATIENCE_SECONDS = 300  # then a command hangs
FAREWELL_SECONDS = 20  # that Java takes to clean up, at most
RUNNERS = {
    'inline': ('-r', 'inline', '-D', 'mapreduce.job.maps={}'),
    'local': ('-r', 'local', '--jobs', '2', '-D', 'mapreduce.job.maps={}'),
    'spark': ('-r', 'spark', '--master', 'local[2]', '--partitions-of-rows', '{}'),
}
TASKS = {'local': b'mr_elm.engines.tasks', 'spark': b'pyspark.daemon'}  # runner -> a word of the processes of tasks
# bytes, in which arrays and libraries find no room. Without memory for an int, an exception makes CPython 3.11 loop for
# ever (`exception_unwind` in ceval.c), and nothing in that process can end it
SMALL_OBJECTS = 1 << 24
SMALL_DISK = (
    'mount -t tmpfs -o size=$1 small "$2" || exit 9; shift 2; "$@"; status=$?; ls -A "$OUT" >"$LEFT"; exit $status'
)


class Command:
    """Run `mr-elm` in a folder of its own, as a context.

    words : of the command and its method, inputs and options. n_tasks : of its maps. out : the name of what it makes.
    disk : bytes of the disk on which one folder is: small, out or scratch (the temporary files).
    memory : kilobytes that each process may have. variables : more of its environment.
    """

    def __init__(
        self, folder, words, runner='local', n_tasks=2, out='m.npz', small='out', disk=None, memory=None, **variables
    ):
        folder, self.mark, self.runner = folder / uuid.uuid4().hex[:8], uuid.uuid4().hex, runner
        self.scratch, self.folder, self.left = folder / 'scratch', folder / 'out', folder / 'left'
        self.scratch.mkdir(parents=True), self.folder.mkdir()
        self.out = self.folder / out
        option = '--model' if words[0] == 'train' else '-o'
        program = [PROGRAM, *words, option, self.out, '-q', *(word.format(n_tasks) for word in RUNNERS[runner])]
        if memory is not None:
            program = ['sh', '-c', 'ulimit -v "$0"; exec "$@"', memory, *program]
        if disk is not None:
            program = ['unshare', '-rm', 'sh', '-c', SMALL_DISK, 'sh', disk, folder / small, *program]
        self.process = subprocess.Popen(
            list(map(str, program)),
            env={
                **os.environ,
                **variables,
                MARK: self.mark,
                'TMPDIR': str(self.scratch),
                'SPARK_LOCAL_DIRS': str(self.scratch),
                'OUT': str(self.folder),
                'LEFT': str(self.left),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        self.process.communicate()

    def processes(self):
        """Return the processes of the command that run: id -> (that of its parent, command line)."""
        running = {}
        for folder in Path('/proc').glob('[0-9]*'):
            try:
                if self.mark.encode() in (folder / 'environ').read_bytes():
                    parent = int((folder / 'stat').read_text().rpartition(')')[2].split()[1])
                    running[int(folder.name)] = parent, (folder / 'cmdline').read_bytes()
            except OSError:  # it has ended
                continue
        return running

    def tasks(self):
        """Return the processes that run tasks: id -> that of the parent."""
        found = {pid: parent for pid, (parent, words) in self.processes().items() if TASKS[self.runner] in words}
        if self.runner == 'spark':  # one forks the others
            return {pid: parent for pid, parent in found.items() if parent in found}
        return found

    def strike(self, blow, seed, n=1, seconds=0.5):
        """Give n of the processes of tasks a blow, each at a random moment, until the command ends; returns how many.

        blow : a function of the ids of a process and of its parent. seconds : between two blows, at most.
        """
        choose, struck = random.Random(seed), 0
        while struck < n and self.process.poll() is None:
            time.sleep(choose.uniform(0, seconds))
            tasks = self.tasks()
            if tasks:
                with suppress(ProcessLookupError, FileNotFoundError):  # it has just ended
                    blow(*choose.choice(sorted(tasks.items())))
                    struck += 1
        return struck

    def judge(self, wanted):
        """Demand the bits of an undisturbed command, or one sentence and no output: (status, what it said).

        wanted : the output of the undisturbed command.
        """
        said = self.process.communicate(timeout=PATIENCE_SECONDS)[1]
        status = self.process.returncode
        end = time.monotonic() + FAREWELL_SECONDS
        while (running := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        assert not running, (running, said)
        left = self.left.read_text().split() if self.left.exists() else os.listdir(self.folder)
        if self.runner == 'spark':  # what killed tasks leave goes with the next command, what Java leaves is not ours
            subprocess.run([PROGRAM, 'clean', '-q'], env={**os.environ, 'TMPDIR': str(self.scratch)}, check=True)
            assert list(self.scratch.glob('mr_elm-*')) == [], said
        else:
            assert os.listdir(self.scratch) == [], said
        if status == 0:
            assert said == '' and read_output(self.out) == read_output(wanted)
        else:
            assert status == 1 and said.startswith('mr-elm: ') and said.count('\n') == 1, (status, said)
            assert left == []
        return status, said


def read_output(path):
    """Return what an output holds, but for how it was made: the arrays of a model, the rows of a pack, or bytes."""
    if path.is_dir():
        return pyarrow.parquet.read_table(path).to_pydict()
    if path.suffix != '.npz':
        return path.read_bytes()
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name].tobytes() for name in archive.files if name != 'header'}
    sums = path.with_suffix('.sums.npz')
    if sums.exists():
        with np.load(sums, allow_pickle=False) as archive:
            arrays |= {f'sums/{name}': archive[name].tobytes() for name in archive.files if name != 'header'}
    return arrays


def kill(pid, parent):
    """Kill a process."""
    os.kill(pid, signal.SIGKILL)


def kill_parent(pid, parent):
    """Kill what has started a process."""
    os.kill(parent, signal.SIGKILL)


def take_memory(pid, parent):
    """Let a process have no more memory than it has, but for SMALL_OBJECTS."""
    size = int(Path(f'/proc/{pid}/statm').read_text().split()[0]) * resource.getpagesize() + SMALL_OBJECTS
    resource.prlimit(pid, resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))  # it may be struck twice

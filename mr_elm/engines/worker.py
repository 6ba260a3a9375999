"""Run tasks one after another in one process, so that Python and the libraries start once and not for each task.

A request is a line of JSON on standard input, the keyword arguments of `run_task`; the answer is a line on standard
output, the exit status of the task.
"""
import json
import os
import runpy
import subprocess
import sys
import traceback
from typing import IO

FLAGS = (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)  # of standard input, output and error


class Worker:
    """Start such a process and hand it tasks, one at a time.

    folder, environment : where it starts, and with which variables; a module of the user's folder must not be imported.
    """

    def __init__(self, folder: str, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen([sys.executable, '-m', 'mr_elm.engines.worker'], cwd=folder, env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, words: list[str], files: list[str], folder: str, environment: dict[str, str]) -> int:
        """Run a task as `run_task` does; returns its exit status, or that of the process if it has ended."""
        assert self.process.stdin is not None and self.process.stdout is not None
        request = {'words': words, 'files': files, 'folder': folder, 'environment': environment}
        try:
            self.process.stdin.write(json.dumps(request).encode() + b'\n')
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = b''
        return int(answer) if answer else self.process.wait() or -1

    def is_running(self) -> bool:
        """Return whether it can run another task."""
        return self.process.poll() is None

    def kill(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()

    def close(self) -> None:
        """Let the process end, which has no task."""
        self.process.communicate()


def run_task(words: list[str], files: list[str], folder: str, environment: dict[str, str]) -> int:
    """Run a Python script as if in a process of its own; returns its exit status.

    words : the path of the script and its arguments. files : names of standard input, output and error.
    folder : where it runs. environment : its variables.
    """
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, (name, flags) in enumerate(zip(files, FLAGS, strict=True)):
        connect(number, name, flags)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode, closefd=False) for number, mode in enumerate('rww'))
    sys.argv, sys.path[0] = words, folder
    try:
        runpy.run_path(words[0], run_name='__main__')
        return 0
    except SystemExit as stop:
        return read_status(stop)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def connect(number: int, name: str, flags: int) -> None:
    """Let a file descriptor stand for a file."""
    opened = os.open(name, flags)
    os.dup2(opened, number)
    os.close(opened)


def read_status(stop: SystemExit) -> int:
    """Return the exit status that a SystemExit asks for; a text goes to standard error, as Python does it."""
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return 1


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Run the tasks that are asked for, until there are no more."""
    for line in requests:
        answers.write(b'%d\n' % run_task(**json.loads(line)))
        answers.flush()


if __name__ == '__main__':
    serve(os.fdopen(os.dup(0), 'rb'), os.fdopen(os.dup(1), 'wb'))

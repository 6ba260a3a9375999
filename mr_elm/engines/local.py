"""Run the tasks of a job on the cores of this machine, so that a task that is killed ends the job."""
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

from mrjob.local import LocalMRJobRunner, _TaskFailedException


class LocalRunner(LocalMRJobRunner):
    """Start each task from the driver itself.

    mrjob's own starts them from a pool of processes: when one of these is killed, as by a machine that is short of
    memory, the driver waits for it for ever, and its task runs on.
    """

    def _run_multiple(self, funcs, num_processes=None):
        """Call functions, each of which runs a task, as many at a time as there are cores."""
        self._tasks = Tasks()
        with ThreadPoolExecutor(self._num_cores()) as pool:
            try:
                for call in [pool.submit(function) for function in funcs]:
                    call.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self._tasks.end()
                raise

    def _invoke_task_func(self, task_type, step_num, task_num):
        """Return the function that runs a task as a process."""
        arguments, tasks = self._substep_args(step_num, task_type), self._tasks

        def invoke(stdin, stdout, stderr, wd, env):
            try:
                tasks.run(arguments, stdin=stdin, stdout=stdout, stderr=stderr, cwd=wd, env=env)
            except (subprocess.CalledProcessError, OSError) as error:
                raise _TaskFailedException(str(error), step_num, self._num_steps(), task_type=task_type,
                                           task_num=task_num) from None
        return invoke


class Tasks:
    """Know the processes that run, so that all can be ended at once."""

    def __init__(self):
        self.lock, self.running, self.ended = threading.Lock(), set(), False

    def run(self, arguments, **options):
        """Run a process to its end. Raises CalledProcessError when it fails, or when all have been ended."""
        with self.lock:
            if self.ended:
                raise subprocess.CalledProcessError(-9, arguments)
            process = subprocess.Popen(arguments, **options)
            self.running.add(process)
        status = process.wait()
        with self.lock:
            self.running.discard(process)
        if status:
            raise subprocess.CalledProcessError(status, arguments)

    def end(self):
        """Kill what runs, and start nothing more."""
        with self.lock:
            self.ended = True
            for process in self.running:
                process.kill()

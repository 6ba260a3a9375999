"""Run a method once on so many nodes, and account for its seconds and bytes by stage."""
import hashlib
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.scaling.data import GeneratedRows
from benchmarks.scaling.methods import METHODS
from benchmarks.scaling.runs import Point, Run
from benchmarks.scaling.testbeds import LocalTestbed
from benchmarks.timing import run_mr_elm
from mr_elm.store import load_arrays


def measure(point: Point, testbed: LocalTestbed, rows: GeneratedRows, options: Sequence[str]) -> Run:
    """Run a Point: its Run.

    testbed : one of TESTBEDS. options : more words of mr-elm, such as runner options of mrjob.
    """
    method = METHODS[point.method]
    packed = rows.packed(method.kind, point.problem)
    size = sum(file.stat().st_size for file in packed.iterdir())
    on_nodes = testbed.provide(point.nodes, size, point.maps_per_node)
    names = {'data': testbed.put(packed), 'hidden': point.problem.hidden}
    if '{base}' in method.words:
        names['base'] = rows.base(method.kind, point.problem)
    words = [word.format(**names) for word in method.words] + on_nodes
    with tempfile.TemporaryDirectory(prefix='mr_elm-') as folder:
        model, trace = Path(folder, 'model.npz'), Path(folder, 'trace')
        began = time.perf_counter()
        run_mr_elm(*words, '--model', model, '--trace', trace, *options)
        seconds = time.perf_counter() - began
        jobs = [json.loads(line) for line in trace.read_text().splitlines()]
        return describe_run(point, testbed.alias, seconds, jobs, digest(model))


def describe_run(point: Point, runner: str, seconds: float, jobs: list[dict], model: str) -> Run:
    """Sum up what the jobs of a run took."""
    stages = {f'{stage}_seconds': sum(job.get(f'{stage}_seconds', 0) for job in jobs)
              for stage in ('start', 'map', 'reduce')}
    sent = {f'{stage}_bytes': sum(job.get(f'{stage}_bytes', 0) for job in jobs)
            for stage in ('input', 'shuffle', 'output')}
    stages = {name: round(value, 3) for name, value in stages.items()}
    problem = point.problem
    return Run(point.experiment, runner, point.method, point.nodes, problem.rows, problem.features, problem.hidden,
               point.repeat, seconds=round(seconds, 3), **stages,
               driver_seconds=round(seconds - sum(job['seconds'] for job in jobs), 3), **sent, jobs=len(jobs),
               maps=sum(len(job.get('map_tasks', ())) for job in jobs),
               map_tasks='|'.join(';'.join(f'{task:.3f}' for task in job.get('map_tasks', ())) for job in jobs),
               model=model)


def digest(path: Path) -> str:
    """Return a digest of the arrays of a model; its header tells when it was made."""
    arrays = load_arrays(path)[1]
    found = hashlib.sha256()
    for name in sorted(arrays):
        found.update(f'{name} {arrays[name].dtype} {arrays[name].shape}'.encode() + arrays[name].tobytes())
    return found.hexdigest()[:16]

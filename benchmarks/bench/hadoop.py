"""Measure PESVM on a Hadoop against the bare Streaming job and against -r local.

Needs a Hadoop (HADOOP_HOME); two map tasks run at once. The bare job is the same mapper and reducer submitted with
`hadoop jar`, its environment in HDFS already; the empty job is Streaming with nothing to do.
"""
import re
import subprocess
import uuid
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import numpy as np
from mrjob.hadoop import HadoopJobRunner

from benchmarks.bench.context import Bench
from benchmarks.bench.kelm import draw, write_csv
from benchmarks.bench.pesvm import D, L, draw_layer, save_layer
from benchmarks.bench.spark import MASTER, has_spark
from benchmarks.scaling.data import put_pack
from benchmarks.scaling.testbeds import write_properties
from benchmarks.timing import judge_ratio, measure_in_turn, run_mr_elm
from benchmarks.verdict import Claim, at_least, at_most
from mr_elm.data.generators import generate, write_rows
from mr_elm.engines.bundle import UNPACKED, make_bundle
from mr_elm.engines.hadoop.yarn import get_json
from mr_elm.engines.progress import Reporter
from mr_elm.json_file import write_json
from mr_elm.rows.hdfs import find_command, find_home, read_configuration
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.storage import store_of
from mr_elm.streaming import mr_gram
from mr_elm.sums.gram import GridSteps

ROWS = 1_000_000
STAGES = {'map': 'avgMapTime', 'shuffle': 'avgShuffleTime', 'merge': 'avgMergeTime', 'reduce': 'avgReduceTime'}


class HadoopBench:
    """Keep rows, here and in HDFS, and the environment of the tasks, while measuring."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.remote = f'hdfs:///tmp/mr_elm-bench-{uuid.uuid4().hex[:8]}'
        self.bundle = make_bundle(f'{self.remote}/bundle', Reporter())
        self.configuration = read_configuration(find_home())

    def pack(self, times: int) -> tuple[Path, str]:
        """Pack the rows of one csv file so many times over, here and in HDFS; returns both folders."""
        files = [self.folder / f'{i}.csv' for i in range(times)]
        if not files[0].exists():
            write_rows(generate('ndc', ROWS, D, 1), files[0])
        for file in files[1:]:
            file.hardlink_to(files[0])
        local, remote = self.folder / f'{times}.packed', f'{self.remote}/{times}.packed'
        run_mr_elm('pack', *files, '-o', local)
        put_pack(local, remote)
        return local, remote

    def two_maps(self, folder: str) -> list[str]:
        """Return the properties that cut a folder of HDFS into two map tasks."""
        size = sum(entry.size for entry in store_of(folder).entries(folder))
        return write_properties({'mapreduce.job.maps': 2, 'mapreduce.job.reduces': 1,
                                 'mapreduce.input.fileinputformat.split.minsize': size // 2 + 1})

    def train(self, rows: object, *options: object) -> str:
        """Train from the command line; returns what it said."""
        return run_mr_elm('train', 'pesvm', rows, '--hidden', L, '--model', self.folder / 'model.npz', '--overwrite',
                          *options)

    def on_hadoop(self, rows: str) -> str:
        """Train on the cluster; returns what it said."""
        return self.train(rows, '-r', 'hadoop', '--bundle', self.bundle, *self.two_maps(rows))

    def streaming(self, rows: str, mapper: str, reducer: str, files: Sequence[object] = ()) -> str:
        """Submit a Streaming job by hand; returns what Hadoop said."""
        command = [find_command(), 'jar', HadoopJobRunner().get_hadoop_streaming_jar(), *self.two_maps(rows),
                   '-D', 'stream.num.map.output.key.fields=1',
                   *(['-files', ','.join(map(str, files))] if files else []), '-archives', f'{self.bundle}#{UNPACKED}',
                   '-cmdenv', 'OPENBLAS_NUM_THREADS=1', '-mapper', mapper, '-reducer', reducer, '-input', rows,
                   '-output', f'{self.remote}/out-{uuid.uuid4().hex[:8]}']
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f'{" ".join(map(str, command))}: {done.stderr}')
        return done.stderr

    def bare(self, rows: str) -> str:
        """Run the map and reduce tasks of the Gram job, nothing else."""
        layer = save_layer(draw_layer(D), self.folder)
        plan = write_json(str(self.folder / 'plan.json'), plan_inputs([rows], RowOptions()).to_json())
        grid = write_json(str(self.folder / 'grid.json'), astuple(GridSteps.of(1.0)))
        words = ['--step-num=0', '--layer', layer.name, '--plan', 'plan.json', '--grid', 'grid.json']
        task = ' '.join([f'{UNPACKED}/bin/python', 'mr_gram.py', *words])
        return self.streaming(rows, f'{task} --mapper', f'{task} --reducer',
                              [mr_gram.__file__, layer, plan, grid])

    def empty(self) -> str:
        """Run a job over one line that does nothing."""
        line = self.folder / 'line'
        line.write_text('0\n')
        store_of(self.remote).put(str(line), f'{self.remote}/line/0')
        return self.streaming(f'{self.remote}/line', 'cat', 'cat')

    def stages(self, said: str) -> tuple[dict[str, float], float]:
        """Return the seconds of a job's stages, by the history server, and how long the job took there."""
        job = re.findall(r'application_(\d+_\d+)', said)[-1]
        address = self.configuration['mapreduce.jobhistory.webapp.address']
        facts = get_json(f'http://{address}/ws/v1/history/mapreduce/jobs/job_{job}')['job']
        seconds = {name: facts[key] / 1000 for name, key in STAGES.items()}
        return seconds, (facts['finishTime'] - facts['submitTime']) / 1000

    def close(self) -> None:
        """Remove what was put into HDFS."""
        store_of(self.remote).remove(self.remote)


def compare_with_bare(bench: Bench) -> list[Claim]:
    """Compare training on 1,000,000 packed rows with the bare Streaming job."""
    cluster = bench.shared(HadoopBench)
    _, rows = cluster.pack(1)
    said = []
    cluster.empty()  # once uncounted: the first job unpacks the environment
    ours, bare = measure_in_turn([lambda: said.append(cluster.on_hadoop(rows)), lambda: cluster.bare(rows)])
    stages, jobs = zip(*map(cluster.stages, said), strict=True)
    overheads = [whole - job for whole, job in zip(ours, jobs, strict=True)]
    parts = ', '.join(f'{name} {value:.1f} s' for name, value in stages[int(np.argmin(ours))].items())
    return [judge_ratio('train on 1,000,000 x 50 packed rows in HDFS, against the bare Streaming job', ours, bare,
                        at_most(1.5), f'a task: {parts}'),
            Claim("seconds of the driver's own, everything but the job", min(overheads), at_most(6.0), [overheads],
                  f'the jobs {", ".join(f"{job:.1f} s" for job in jobs)}')]


def compare_with_local(bench: Bench) -> list[Claim]:
    """Compare training on 4,000,000 packed rows with an empty job and -r local."""
    cluster = bench.shared(HadoopBench)
    local, remote = cluster.pack(4)
    ours, here, empty = measure_in_turn([lambda: cluster.on_hadoop(remote),
                                         lambda: cluster.train(local, '-r', 'local', '--num-cores', '2'),
                                         cluster.empty], 2)
    limit = min(empty) + 1.5 * min(here)
    return [Claim('time to train on 4,000,000 rows divided by (empty job + 1.5 x -r local)', min(ours) / limit,
                  at_most(1.0), [ours, here, empty],
                  f'{min(ours):.1f} s against {min(empty):.1f} s + 1.5 x {min(here):.1f} s')]


def compare_with_spark(bench: Bench) -> list[Claim]:
    """Compare trainings by many passes on Spark with the same on the cluster."""
    if not has_spark():
        return []
    n, n_kernel = bench.pick((20_000, 2_000), (200_000, 60_000))
    rows, kernel_rows = bench.folder / 'passes.csv', bench.folder / 'kernel.csv'
    write_rows(generate('ndc', n, D, 1), rows)
    write_csv(kernel_rows, *draw(n_kernel))
    return [race_spark(bench, f'{n:,} x {D} rows', rows, 'pesvm', '--hidden', L, '--solver', 'passes'),
            race_spark(bench, f'{n_kernel:,} x {D} rows', kernel_rows, 'mr-kelm', '--solver', 'cg')]


def race_spark(bench: Bench, size: str, rows: Path, *words: object) -> Claim:
    """Time a training on a file on Spark and on the cluster, once each: on the cluster it takes minutes."""
    cluster = bench.shared(HadoopBench)
    folder = f'{cluster.remote}/{rows.stem}'
    store_of(folder).put(str(rows), f'{folder}/{rows.name}')
    model = '--model', bench.folder / 'model.npz', '--overwrite'
    spark, hadoop = measure_in_turn([
        lambda: run_mr_elm('train', *words, rows, *model, '-r', 'spark', '--master', MASTER),
        lambda: run_mr_elm('train', *words, folder, *model, '-r', 'hadoop', '--bundle', cluster.bundle,
                           *cluster.two_maps(folder))], 1)
    return judge_ratio(f'train {" ".join(map(str, words))} on {size}: the cluster against {MASTER}',
                       spark, hadoop, at_least(3.0))


PARTS = {'bare': compare_with_bare, 'local': compare_with_local, 'spark': compare_with_spark}

"""Use a server of Spark Connect in a process of its own, which can have no other session: print results as JSON.

python connect_client.py SERVER FOLDER      FOLDER holds packed rows, and bad.csv, whose row 50 is too short
"""

import json
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas

import mr_elm.spark
from mr_elm.engines import make_engine
from mr_elm.engines.spark import data_frames, job
from mr_elm.errors import TaskError
from mr_elm.passes.data_set import DataSet
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from reference.commands import elm
from reference.spark_stages import MRKilled, MRSlow, MRWrong


def run(engine, folder, stage, *words):
    """Run a stage over the packed rows; returns how many rows it counted, or why it failed."""
    data = DataSet(plan_inputs([str(folder / 'packed')], RowOptions()), engine)
    try:
        return sum(value['rows'] for _, value in data.run(stage, [*map(str, words)], 'counting'))
    except TaskError as error:
        return str(error)


def interrupt(engine, folder):
    """Interrupt a stage whose tasks write to a file while they run; returns what was raised, and whether they end."""
    mark = folder / 'beats'
    threading.Thread(target=lambda: (wait_for(mark), signal.raise_signal(signal.SIGINT))).start()
    try:
        run(engine, folder, MRSlow, '--mark', mark)
    except KeyboardInterrupt:
        size = None
        for _ in range(100):
            before, size = size, mark.stat().st_size
            if size == before:
                return True
            time.sleep(1)
    return False


def wait_for(path):
    """Wait for a file."""
    while not path.exists():
        time.sleep(0.1)


def train_on_frame(session, folder):
    """Train on a DataFrame and predict it, from files and from partitions: how many labels differ, and are right."""
    X = np.random.default_rng(0).standard_normal((300, 2))
    df = session.createDataFrame(pandas.DataFrame({'y': (X[:, 0] > 0).astype(int), 'a': X[:, 0], 'b': X[:, 1]}))
    predictions = []
    for runs_here in (data_frames.runs_here, lambda session: False):
        data_frames.runs_here = runs_here
        model = mr_elm.spark.train(df, hidden=20, probabilities=True)
        rows = model.transform(df).select('y', 'prediction', 'probability').collect()
        predictions.append(np.array([row.probability for row in rows]))
    right = sum(row.y == row.prediction for row in rows) / len(rows)
    return float(np.abs(predictions[0] - predictions[1]).max()), right


def main(server, folder):
    """Do all."""
    spark = '-r', 'spark', '--master', server
    job.FAN_IN, job.CLOSURE_BYTES = 3, 100  # a tree of sums, and a layer that is an artifact
    train = ['train', 'pesvm', folder / 'packed', '--hidden', 300, '-q', *spark, '--model']
    results = {
        'trained': [elm(*train, folder / f'{n}.npz', '--partitions-of-rows', n) for n in (1, 7)],
        'bad': elm('train', 'pesvm', folder / 'bad.csv', '--hidden', 4, '--model', folder / 'b.npz', '-q', *spark),
        'predicted': elm('predict', folder / '7.npz', folder / 'packed', '-o', folder / 'labels', '-q', *spark),
    }
    with make_engine('spark', (*spark[2:], '--partitions-of-rows', '2')) as engine:
        results['place'] = type(engine).__name__
        results['killed'] = run(engine, folder, MRKilled, '--mark', folder / 'mark')
        results['wrong'] = run(engine, folder, MRWrong), run(engine, folder, MRWrong, '--reduce')
        results['frame'] = train_on_frame(engine.session, folder)
        results['interrupted'] = interrupt(engine, folder)
    print(json.dumps(results))


if __name__ == '__main__':
    main(sys.argv[1], Path(sys.argv[2]))

"""What a run writes down of its jobs."""
import json

import numpy as np


def test_a_trace_accounts_for_every_job_and_task(elm, write, csv_of, rng, tmp_path):
    rows = write('rows.csv', csv_of(rng.integers(2, size=300), rng.standard_normal((300, 3))))
    trace = tmp_path / 'trace'
    for number in (1, 2):
        done = elm('train', 'pesvm', rows, '--hidden', 5, '--model', tmp_path / f'{number}.npz', '-q', '--trace', trace,
                   '-r', 'inline', '-D', f'mapreduce.job.maps={number}')
        assert done.status == 0, done.err
        jobs = [json.loads(line) for line in trace.read_text().splitlines()][-2:]
        assert [job['stage'] for job in jobs] == ['statistics', 'Gram']
        for job in jobs:
            assert job['runner'] == 'inline' and len(job['map_tasks']) == number and job['reduce_tasks']
            assert job['input_bytes'] == rows.stat().st_size and min(job['shuffle_bytes'], job['output_bytes']) > 0
            assert min(job['start_seconds'], job['map_seconds'], job['reduce_seconds']) >= 0
            assert np.isclose(job['seconds'], job['start_seconds'] + job['map_seconds'] + job['reduce_seconds'])
            assert max(job['map_tasks']) <= job['map_seconds'] + 1e-6
    assert len(trace.read_text().splitlines()) == 4

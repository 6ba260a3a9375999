"""Which of a failed task's logs says why."""

import pytest

from mr_elm.engines.task_logs import choose_cause

PIPE = 'BrokenPipeError: [Errno 32] Broken pipe'
RAISED = 'noise\nTraceback (most recent call last):\n  File "x.py", line 1, in f\n{}\n'
STREAMING = 'java.lang.RuntimeException: PipeMapRed.waitOutputThreads(): subprocess failed with code {}'
FULL = 'org.apache.hadoop.hdfs.protocol.DSQuotaExceededException: The DiskSpace quota of /x is exceeded'
SYSLOG = f'2026-01-01 WARN [Thread-14] org.apache.hadoop.streaming.PipeMapRed: {{}}\n{FULL}\n\tat x\n{STREAMING}\n'


@pytest.mark.parametrize(
    'stderr, syslog, diagnostics, cause',
    [
        (RAISED.format('ValueError: no'), SYSLOG, STREAMING.format(1), 'ValueError: no'),
        (RAISED.format(PIPE), SYSLOG, f'Error: {STREAMING.format(1)}\n\tat y', FULL),
        ('', SYSLOG, f'Error: {STREAMING.format(120)}', FULL),
        (RAISED.format(PIPE), '', 'Killed by the preemptor', 'Killed by the preemptor'),
        ('', '', STREAMING.format(120), STREAMING.format(120)),
        ('', SYSLOG, STREAMING.format(1), STREAMING.format(1)),
        (
            '',
            SYSLOG,
            STREAMING.format(137),
            f'{STREAMING.format(137)}: the system killed it, perhaps because memory ran out',
        ),
        ('', '', STREAMING.format(127), f'{STREAMING.format(127)}: the node has no program of this name, see --python'),
    ],
)
def test_the_cause_is_what_the_user_can_mend(stderr, syslog, diagnostics, cause):
    assert choose_cause(stderr, syslog, diagnostics) == cause

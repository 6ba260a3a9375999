"""Search for inputs that break the properties, led by the code that they reach: each property with fuzzed choices.

    PYTHONPATH=tests python tests/fuzz.py MINUTES [WORDS OF PYTEST...]

The minutes are shared by all properties, as many at a time as there are cores. What fails is printed, and the
input stays in build/fuzz: it belongs into the tests. The exit status is 1 when there was one.

As a plugin of pytest (`-p fuzz`) it lets atheris draw the choices of hypothesis, once fixtures are there.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import walk_packages

import pytest
from hypothesis import given, settings

ROOT = Path(__file__).parents[1]
OUT = ROOT / 'build/fuzz'  # inputs that reached new code, a folder a property, and those that failed
ROOMS = 'rows', 'store', 'model', 'option', 'cli'  # what reads files and words; numba compiles none of it
SECONDS = 'MR_ELM_FUZZ_SECONDS'  # of the property of this process
MAX_BYTES = 4096  # of the choices of one example

if SECONDS in os.environ:
    import atheris

    with atheris.instrument_imports(include=[f'mr_elm.{name}' for name in ROOMS]):
        for room in map(import_module, (f'mr_elm.{name}' for name in ROOMS)):
            for module in walk_packages(getattr(room, '__path__', []), f'{room.__name__}.'):
                import_module(module.name)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Let atheris run a property until its time is over; it ends the process."""
    handle = pyfuncitem.obj.hypothesis
    inner = handle.inner_test
    names = signature(inner).parameters.keys() & pyfuncitem.funcargs.keys()
    fixtures = {name: pyfuncitem.funcargs[name] for name in names}

    @settings(deadline=None, database=None)
    @given(**handle._given_kwargs)  # `fuzz_one_input` draws all arguments, so the fixtures are no more among them
    def run(**drawn):
        inner(**fixtures, **drawn)

    words = [f'-max_total_time={os.environ[SECONDS]}', f'-max_len={MAX_BYTES}', '-len_control=0', '-timeout=300']
    corpus = OUT / pyfuncitem.nodeid.translate(str.maketrans('/:[] ', '_____'))
    corpus.mkdir(parents=True, exist_ok=True)
    atheris.Setup(['fuzz', *words, f'-artifact_prefix={corpus}-', str(corpus)], run.hypothesis.fuzz_one_input)
    pyfuncitem.config.pluginmanager.getplugin('capturemanager').suspend_global_capture(in_=True)
    atheris.Fuzz()


def list_properties(words):
    """List the properties that hypothesis tests, by their names in pytest."""
    collect = [sys.executable, '-m', 'pytest', '-m', 'hypothesis', '--collect-only', '-n0', *words]
    printed = subprocess.run(collect, capture_output=True, text=True, cwd=ROOT).stdout
    return [line for line in printed.splitlines() if '::' in line]


def fuzz(name, seconds):
    """Fuzz a property in a process of its own; returns (its exit status, what it printed last)."""
    words = [sys.executable, '-m', 'pytest', '-p', 'fuzz', '-p', 'no:timeout', '-n0', '-m', 'hypothesis', name]
    environment = os.environ | {SECONDS: str(seconds), 'PYTHONPATH': str(ROOT / 'tests')}
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment)
    return done.returncode, (done.stderr + done.stdout)[-3000:]


def main(minutes, *words):
    """Fuzz all properties; returns the exit status."""
    names, n_together, n_failed = list_properties(words or ['tests/properties']), os.cpu_count() or 1, 0
    seconds = max(int(60 * float(minutes) * n_together / len(names)), 1)
    with ThreadPoolExecutor(n_together) as threads:
        for name, (status, text) in zip(names, threads.map(lambda name: fuzz(name, seconds), names), strict=True):
            n_failed += status != 0
            shown = text if status else text.splitlines()[-1]  # `Done N runs in S second(s)`
            print(f'{name}: {shown}', flush=True)
    print(f'{len(names)} properties, {seconds} s each, {n_failed} failed')
    return int(n_failed > 0)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))

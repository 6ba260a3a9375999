"""Take the first steps of the README with an installed program: python first_steps.py FOLDER

FOLDER holds the `mr-elm` and the `python` to try. Exits with 1 where they print something else than the manual shows.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from reference.console import differences
from reference.readme import README, blocks_of


def run(command, folder, programs, given=None):
    """Run a command of the shell in a folder; returns what it prints."""
    done = subprocess.run(command, input=given, shell=True, cwd=folder, text=True, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, 'PATH': f'{programs}:{os.environ["PATH"]}'})
    return done.stdout


def main(programs):
    """Run the blocks of the section and compare; returns the exit status."""
    section = README.partition('\n## First steps\n')[2].partition('\n## ')[0]
    with tempfile.TemporaryDirectory() as folder:
        print(run('mr-elm --version', folder, programs), end='')
        for tag, body in blocks_of(section):
            if tag == 'python':
                run('python -', folder, programs, body)
            elif tag == 'console':
                for part in re.split(r'^\$ ', body, flags=re.MULTILINE)[1:]:
                    command, _, shown = part.partition('\n')
                    if wrong := differences(shown, run(command, folder, programs)):
                        print(f'{command}: {wrong}', file=sys.stderr)
                        return 1
                    print(f'{command}: as the manual shows')
    return 0


if __name__ == '__main__':
    sys.exit(main(Path(sys.argv[1]).resolve()))

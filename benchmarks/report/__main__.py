"""Write one HTML page of all tables and figures that are in a folder, the machine, versions, seeds and commands.

    python -m benchmarks.report build/report.html

Takes what lies beside OUT.html, and names what is absent with the command that makes it.
"""
import sys
from datetime import datetime, timezone
from html import escape
from pathlib import Path
from string import Template

from benchmarks.report.page import embed_figure, render_markdown, write_link, write_pairs
from benchmarks.report.sections import SECTIONS, Section
from mr_elm.scaling.machine import describe

SEEDS = {
    'random nodes and landmarks': '0; of a trial, its number',
    'generated rows': '1; 2 for rows that come later; 0 and 1 where the kernel ELM is compared with bare arithmetic',
    'halves of a trial': 'its number; outer folds: 0',
    'folds': 'a hash of the row with 0',
    'subsets of large sets, and rows on which parameters are chosen': '0',
}


def write_section(part: Section, folder: Path) -> str:
    """Return the HTML of a Section."""
    here = [folder / name for name in part.files if (folder / name).exists()]
    absent = [name for name in part.files if not (folder / name).exists()]
    body = [render_markdown(path.read_text(encoding='utf-8'), folder) if path.suffix == '.md' else embed_figure(path)
            for path in here]
    body += [f'<p class="absent">{escape(name)} is not there: <code>{escape(part.command)}</code> makes it.</p>'
             for name in absent]
    if here:
        data = [write_link(folder / name) for name in part.data if (folder / name).exists()]
        body.append(f'<p class="source">By <code>{escape(part.command)}</code>, written {describe_time(here[0])}'
                    + (f'; data: {", ".join(data)}' if data else '') + '</p>')
    return (f'<section id="{part.key}"><h2>{escape(part.title)}</h2><p class="about">{escape(part.about)}</p>'
            + '\n'.join(body) + '</section>')


def describe_time(path: Path) -> str:
    """Say when a file was written."""
    return datetime.fromtimestamp(path.stat().st_mtime, timezone.utc).strftime('%Y-%m-%d %H:%M UTC')


def write_contents(folder: Path) -> str:
    """Return links to the sections; what is absent is marked."""
    there = {part.key: any((folder / name).exists() for name in part.files) for part in SECTIONS}
    return ''.join(f'<li{"" if there[part.key] else " class=absent"}>'
                   f'<a href="#{part.key}">{escape(part.title)}</a></li>' for part in SECTIONS)


def write_page(folder: Path) -> str:
    """Return the whole page."""
    template = Template(Path(__file__).with_name('page.html').read_text(encoding='utf-8'))
    return template.substitute(contents=write_contents(folder), machine=write_pairs(describe()),
                               seeds=write_pairs(SEEDS),
                               sections='\n'.join(write_section(part, folder) for part in SECTIONS),
                               commands=write_pairs({part.title: part.command for part in SECTIONS}))


def main(out: str) -> None:
    """Write the page."""
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(write_page(path.parent), encoding='utf-8')
    print(path)


if __name__ == '__main__':
    main(sys.argv[1])

"""Check the links of a built site: python links.py FOLDER

Every link to the site must lead to a file and an anchor, an address elsewhere must be well-formed, and no page may load
anything from elsewhere.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Collect the anchors of a page, its links, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(path.read_text(encoding='utf-8'))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the anchor and the target of an element."""
        named = {name: value for name, value in attrs if value}
        self.anchors.update(named[name] for name in ('id', 'name') if name in named)
        if 'href' in named:
            (self.loaded if tag == 'link' else self.links).add(named['href'])
        if 'src' in named:
            self.loaded.add(named['src'])


def find_faults(site: Path) -> Iterator[str]:
    """Yield a sentence for every link that is wrong."""
    pages = {path: Page(path) for path in site.resolve().glob('**/*.html')}
    for path, page in pages.items():
        for link in sorted(page.links | page.loaded):
            if fault := find_fault(link, path, pages, link in page.loaded):
                yield f'{path.relative_to(site.resolve())}: {link}: {fault}'


def find_fault(link: str, path: Path, pages: dict[Path, Page], loads: bool) -> str:
    """Return what is wrong with a link of a page, '' for nothing."""
    parts = urlsplit(link)
    if parts.scheme == 'data' or parts.scheme == 'mailto' and not loads:
        return ''
    if parts.scheme or parts.netloc:
        return 'loaded from elsewhere' if loads else '' if is_address(parts.scheme, parts.netloc) else 'not an address'
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return 'no such file'
    anchors = pages[target].anchors if target in pages else {''}
    return '' if not parts.fragment or unquote(parts.fragment) in anchors else 'no such anchor'


def is_address(scheme: str, host: str) -> bool:
    """Return whether an address elsewhere has the form of one."""
    return scheme in ('http', 'https') and '.' in host


if __name__ == '__main__':
    faults = list(find_faults(Path(sys.argv[1])))
    sys.exit('\n'.join(faults) if faults else 0)

#!/usr/bin/env python3
"""Makes the documentation as a static site: make_site.py [FOLDER [PROGRAM]] (build/site/pages, build/release/gradrace).

Its pages are the texts of the project, README first, and what `gradrace list NAME` says of everything that has a name.  MkDocs builds them; a
link or an anchor that leads nowhere ends this with 1.  The site needs no server and no network."""

import html
import html.parser
import pathlib
import re
import shutil
import sys
import tempfile
import urllib.parse

from command_help import listed
from make_wheel import said, tools

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
STYLE = ".told code { white-space: pre-wrap; }\n"  # of what `gradrace list` says
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
TITLES = {
    "README.md": "Start",
    "guide/README.md": "Questions and answers",
    "guide/models_in_python.md": "Models in Python",
    "python/README.md": "Python package",
    "scenarios/README.md": "Scenarios",
    "protocols/README.md": "Protocols",
    "distributions/cluster/README.md": "Clusters",
    "analysis/papers/README.md": "Papers",
    "scripts/README.md": "Several machines",
    "models/gpu/README.md": "GPU",
    "bench/results/README.md": "Measured",
    "bench/peers/README.md": "Measured by yourself",
    "tests/README.md": "Tests",
    "EXTENDING.md": "Extending",
    "CHANGELOG.md": "Changes",
}


def link_targets(page):
    """Files and folders of the project to which a page links."""
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            yield (page.parent / target).resolve()


def stage_texts(pages):
    """The texts at their places, and beside them what they link to."""
    for name in TITLES:
        for source in (ROOT / name, *link_targets(ROOT / name)):
            if source.suffix != ".md" and source.is_file():
                place = pages / source.relative_to(ROOT)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, place)
        place = pages / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(with_folders_named(ROOT / name), encoding="utf-8")


def with_folders_named(page):
    """Its text, in which what is a folder, hidden, or a text that is no page, is no link: a site shows none of these."""

    def link(found):
        target = (page.parent / found[2]).resolve()
        is_text = target.suffix == ".md" and str(target.relative_to(ROOT)) not in TITLES
        shown = target.is_file() and not is_text and not target.name.startswith(".")
        return found[0] if "://" in found[2] or shown else found[1]

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(?:#[^)\s]*)?\)", link, page.read_text("utf-8"))


def stage_catalogue(pages, program):
    """A page for each name; gives the entries of the navigation."""
    entries = []
    (pages / "list").mkdir()
    groups = {**listed(program), "words": ["columns", "glossary"]}
    for group, names in groups.items():
        paths = {name: f"list/{name}.md" for name in names}
        for name, path in paths.items():
            text = html.escape(said(program, "list", name).rstrip(), quote=False)
            page = f'# {name}\n\n<pre class="told"><code>{text}\n</code></pre>\n'
            (pages / path).write_text(page, encoding="utf-8")
        entries.append((group, list(paths.items())))
    return entries


def settings(pages, folder, entries):
    """The text of mkdocs.yml."""
    lines = [
        "site_name: gradrace",
        f"docs_dir: {pages}",
        f"site_dir: {folder}",
        "use_directory_urls: false",
        "theme: {name: material, font: false, features: [navigation.top, navigation.prune, content.code.copy]}",
        "plugins: [search]",
        "extra_css: [style.css]",
        "validation: {nav: {omitted_files: ignore}, links: {not_found: warn, anchors: warn, unrecognized_links: warn}}",
        "markdown_extensions:",
        "  - pymdownx.superfences",
        "  - tables",
        "  - toc: {slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}}",
        "nav:",
        *(f"  - {title}: {name}" for name, title in TITLES.items()),
        "  - What exists:",
    ]
    for group, paths in entries:
        lines.append(f"    - {group}:")
        lines += [f'      - "{name}": {path}' for name, path in paths]
    return "\n".join(lines) + "\n"


class Page(html.parser.HTMLParser):
    """What a page links to, and the places in it that have a name."""

    def __init__(self, path):
        super().__init__()
        self.links, self.names = [], {"", "__skip"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.names.add(attrs.get("id") or attrs.get("name") or "")
        if tag != "link" or attrs.get("rel") == "stylesheet":
            self.links += [attrs[key] for key in ("href", "src") if attrs.get(key)]


def dead_links(folder):
    """[(page, link)] that lead to no file, or to no place in it."""
    known = {path.resolve(): Page(path) for path in folder.rglob("*.html")}
    dead = []
    for path, page in known.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            place = urllib.parse.unquote(parts.path)
            target = (path.parent / place).resolve() if place else path
            named = urllib.parse.unquote(parts.fragment)
            is_there = target.is_file() and (target not in known or named in known[target].names)
            if not is_there and path.name != "404.html":  # whose links are those of a server's root
                dead.append((path.relative_to(folder.resolve()), link))
    return dead


def main(folder=ROOT / "build/site/pages", program=ROOT / "build/release/gradrace"):
    folder = pathlib.Path(folder).resolve()
    programs = tools(ROOT / "build/site/tools", HERE / "site_requirements.txt")
    with tempfile.TemporaryDirectory() as place:
        pages = pathlib.Path(place) / "pages"
        pages.mkdir()
        (pages / "style.css").write_text(STYLE, encoding="utf-8")
        stage_texts(pages)
        entries = stage_catalogue(pages, program)
        file = pathlib.Path(place) / "mkdocs.yml"
        file.write_text(settings(pages, folder, entries), encoding="utf-8")
        said(programs / "mkdocs", "build", "--quiet", "--strict", "--config-file", file)
    dead = dead_links(folder)
    for page, link in dead:
        print(f"{page}: {link}: leads nowhere", file=sys.stderr)
    print(f"{folder}/index.html: {len(list(folder.rglob('*.html')))} pages")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

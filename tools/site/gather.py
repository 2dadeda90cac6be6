#!/usr/bin/env python3
# Copyright (c) 2026, the flakeid developers

"""gather.py SOURCE PAGES

Copies the Markdown pages of the source tree to the new directory PAGES, at the same
paths, so that links between them stay right: those of docs/, and those that can be
reached from README.md by links.  Files that they link to are copied, too; what a
browser would not show gets the ending .txt.  A link to a directory becomes plain text.
Comments for t/docs.pl are left out.  A link that leads nowhere is kept, and MkDocs
complains.
"""

import os
import re
import shutil
import sys
from pathlib import Path

SHOWN = {'.svg', '.png', '.csv', '.txt'}

FENCED = re.compile(r'^```.*?^```[ ]*$', re.M | re.S)
CODE = re.compile(r'(`+)(?!`).+?(?<!`)\1(?!`)', re.S)
TEST = re.compile(r'^<!-- test:.*?-->[ ]*\n', re.M | re.S)
LINK = re.compile(r'\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<target>[^()\s]+)\)'
                  r'|<img src="(?P<image>[^"]+)"')


class Pages:
    def __init__(self, source, pages):
        self.source = source
        self.pages = pages
        self.waiting = [Path('README.md')]
        self.waiting += sorted(path.relative_to(source) for path in source.glob('docs/**/*.md'))
        self.seen = set(self.waiting)

    def gather(self):
        while self.waiting:
            page = self.waiting.pop()
            self.write(page, self.converted(page))

    def write(self, name, text):
        path = self.pages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')

    def converted(self, page):
        text = (self.source / page).read_text(encoding='utf-8')
        code = []

        def hide(match):
            code.append(match[0])
            return f'\0{len(code) - 1}\0'

        def show(text):
            return re.sub('\0(\\d+)\0', lambda match: show(code[int(match[1])]), text)

        text = FENCED.sub(hide, text)
        text = TEST.sub('', text)
        text = CODE.sub(hide, text)
        return show(LINK.sub(lambda match: self.link(page, match), text))

    def link(self, page, match):
        """What stands for a link in a page."""
        target = match['target'] or match['image']
        if re.match(r'[a-z]+:|#', target):
            return match[0]

        name = Path(os.path.normpath(page.parent / target.partition('#')[0]))
        path = self.source / name
        if path.is_dir():
            return match['text']
        if name.parts[0] == '..' or not path.is_file():
            return match[0]
        if name.suffix == '.md':
            if name not in self.seen:
                self.seen.add(name)
                self.waiting.append(name)
            return match[0]

        ending = '' if name.suffix in SHOWN else '.txt'
        copy = self.pages / f'{name}{ending}'
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        if not ending:
            return match[0]
        return f"[{match['text']}]({target.partition('#')[0]}{ending})"


Pages(Path(sys.argv[1]), Path(sys.argv[2])).gather()

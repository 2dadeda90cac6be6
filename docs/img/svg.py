# Copyright (c) 2026, the flakeid developers

"""What the pictures have in common: colors for light and for dark pages, text, and how
they are written.  They need nothing but Python 3.

    python3 docs/img/draw_anatomy.py [DIRECTORY]

writes anatomy.svg, to docs/img if no directory is given. To look at it:
rsvg-convert docs/img/anatomy.svg >/tmp/anatomy.png
"""

import re
import sys
from html import escape
from pathlib import Path
from string import Template

# name: on light pages, on dark pages
COLORS = {
    'text': ('#24292f', '#e6edf3'),
    'grey': ('#57606a', '#9da7b3'),
    'grid': ('#d0d7de', '#30363d'),
    'area': ('#f6f8fa', '#161b22'),
    'card': ('#ffffff', '#0d1117'),
    'blue': ('#0060a0', '#79c0ff'),
    'brown': ('#a84300', '#ffa066'),
    'green': ('#00704f', '#3ddbb0'),
}

RULES = '''\
text { font-family: sans-serif; font-size: 14px; fill: $text }
.card { fill: $card }
.small { font-size: 12px; fill: $grey }
.middle { text-anchor: middle }
.end { text-anchor: end }
.line { fill: none; stroke: $grey }
'''


def style(rules):
    """CSS of rules that name colors: what has a color again for dark pages."""
    light, dark = ({name: pair[i] for name, pair in COLORS.items()} for i in (0, 1))
    colored = []
    for selector, declarations in re.findall(r'^(.+?) \{ (.+?) \}$', rules, re.M):
        kept = [part for part in declarations.split('; ') if '$' in part]
        if kept:
            colored.append(f'{selector} {{ {"; ".join(kept)} }}\n')
    return (Template(rules).substitute(light)
            + '@media (prefers-color-scheme: dark) {\n'
            + Template(''.join(colored)).substitute(dark) + '}')


class Picture:
    def __init__(self, width, height, title, description, rules):
        """Rules are CSS, a rule a line, with $NAME for a color of COLORS."""
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" role="img" aria-labelledby="title desc">',
            f'<!-- made by {Path(sys.argv[0]).name} -->',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="desc">{escape(description)}</desc>',
            f'<style>\n{style(RULES + rules)}\n</style>']
        self.rect('card', 0, 0, width, height)

    def add(self, element):
        self.parts.append(element)

    def text(self, x, y, what, kind=''):
        name = f' class="{kind}"' if kind else ''
        self.add(f'<text{name} x="{x:g}" y="{y:g}">{escape(what, quote=False)}</text>')

    def rect(self, kind, x, y, width, height, radius=0):
        corners = f' rx="{radius}"' if radius else ''
        self.add(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}"'
                 f' height="{height:g}"{corners}/>')

    def path(self, kind, path):
        self.add(f'<path class="{kind}" d="{path}"/>')

    def save(self):
        """Writes NAME.svg, if the script that is running is draw_NAME.py."""
        script = Path(sys.argv[0])
        directory = Path(sys.argv[1]) if len(sys.argv) > 1 else script.resolve().parent
        name = script.stem.removeprefix('draw_').replace('_', '-') + '.svg'
        (directory / name).write_text('\n'.join(self.parts + ['</svg>', '']), encoding='utf-8')


def points(*pairs):
    """A path through points."""
    return 'M' + ' L'.join(f'{x:g},{y:g}' for x, y in pairs)

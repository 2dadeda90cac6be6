#!/usr/bin/env python3
"""Draws docs/img/system.svg: the parts of flakeid, and the way of an id.

    python3 docs/img/draw_system.py

It needs nothing but Python 3, and the picture is legible on light and on dark
pages. To look at it: rsvg-convert docs/img/system.svg >/tmp/system.png
"""

import os

WIDTH, HEIGHT = 800, 440

STYLE = """\
text { font-family: sans-serif; font-size: 14px; fill: #24292f }
.mono { font-family: monospace; font-size: 13px }
.name { font-size: 15px; font-weight: bold }
.small { font-size: 12.5px; fill: #57606a }
.number { font-size: 13px; font-weight: bold; text-anchor: middle; fill: #ffffff }
.card { fill: #ffffff }
.area { fill: #f6f8fa; stroke: #d0d7de }
.box { fill: #ffffff; stroke-width: 1.5 }
.session { stroke: #57606a } .slot { stroke: #a84300 } .horizon { stroke: #0060a0 }
.wal { stroke: #00704f } .standby { stroke: #00704f }
.arrow { fill: none; stroke: #24292f; stroke-width: 1.5; marker-end: url(#head) }
.dashed { stroke-dasharray: 4 3 }
.head, .disc { fill: #24292f }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.small { fill: #9da7b3 }
.number { fill: #0d1117 }
.card { fill: #0d1117 }
.area { fill: #161b22; stroke: #30363d }
.box { fill: #0d1117 }
.session { stroke: #9da7b3 } .slot { stroke: #ffa066 } .horizon { stroke: #79c0ff }
.wal, .standby { stroke: #3ddbb0 }
.arrow { stroke: #e6edf3 }
.head, .disc { fill: #e6edf3 }
}"""

parts = []


def escaped(text):
    return text.replace('&', '&amp;').replace('<', '&lt;')


def text(x, y, line, kind=''):
    name = f' class="{kind}"' if kind else ''
    parts.append(f'<text{name} x="{x}" y="{y}">{escaped(line)}</text>')


def box(x, y, width, height, kind, name, *lines):
    """A thing: its name, and under it what it is."""
    parts.append(f'<rect class="box {kind}" x="{x}" y="{y}" width="{width}" '
                 f'height="{height}" rx="5"/>')
    text(x + 10, y + 21, name, 'name')
    for i, line in enumerate(lines):
        text(x + 10, y + 41 + 18 * i, line, 'small')


def area(x, y, width, height, name):
    """What surrounds things: a server, its memory, its disk."""
    parts.append(f'<rect class="area" x="{x}" y="{y}" width="{width}" '
                 f'height="{height}" rx="8"/>')
    text(x + 12, y + 20, name, 'small')


def arrow(path, number=None, at=None, dashed=False):
    kind = 'arrow dashed' if dashed else 'arrow'
    parts.append(f'<path class="{kind}" d="{path}"/>')
    if number:
        parts.append(f'<circle class="disc" cx="{at[0]}" cy="{at[1]}" r="10"/>')
        text(at[0], at[1] + 4.5, str(number), 'number')


area(196, 12, 592, 278, 'primary')
area(208, 42, 262, 236, 'shared memory')
area(528, 42, 248, 236, 'disk')
area(528, 318, 248, 110, 'standby')

box(16, 72, 140, 50, 'session', 'session', 'flake_id(5)')
box(16, 134, 140, 50, 'session', 'session', 'flake_id(5)')
box(16, 214, 140, 50, 'session', 'clock', 'of the machine')

box(224, 72, 230, 68, 'slot', 'slot of shard 5', 'the last id handed out;', 'one for each shard')
box(224, 196, 230, 68, 'horizon', 'horizon', 'no id goes beyond it;', 'one for each generator')

box(544, 72, 216, 68, 'horizon', "generator's sequence", 'layout, and horizon on disk;', 'after a start ids begin above it')
box(544, 196, 216, 68, 'wal', 'WAL', 'flushed before an id beyond', 'the old horizon is handed out')

box(544, 348, 216, 68, 'standby', 'WAL, sequence, rows', 'the horizon that covers an id', 'comes before the row with it')

arrow('M156,97 H218', 1, (187, 97))
arrow('M156,137 C186,137 190,128 218,128')
arrow('M339,140 V190', 2, (339, 167))
arrow('M454,212 H482 V106 H538')
arrow('M482,212 H538', 3, (482, 212))
arrow('M544,248 H460', 4, (500, 248))
arrow('M652,264 V342', 5, (652, 300))
arrow('M86,214 V190', dashed=True)

steps = [
    '1  A session swaps the last id for the next, greater one.',
    '2  Is that beyond the horizon? Then the horizon moves first, by 5 s:',
    '3  it is written to the sequence and to WAL, and WAL is flushed;',
    '4  only then may ids go up to it.',
    '5  WAL arrives in order, so a standby goes on above, too.',
    'The clock says how far to jump; no id is more than 15 s ahead.',
]
for i, step in enumerate(steps):
    text(16, 324 + 20 * i, step)

description = (
    'Sessions claim ids from the slot of their shard in shared memory. No id goes beyond the '
    'horizon of the generator. Whoever moves the horizon writes it to WAL and to the '
    'sequence of the generator, flushes, and then lets others see it. Standbys receive it in the WAL, '
    'before the rows with the ids that it covers.')
picture = '\n'.join([
    f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
    f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title desc">',
    '<title id="title">The parts of flakeid, and the way of an id</title>',
    f'<desc id="desc">{description}</desc>',
    '<!-- made by draw_system.py -->',
    f'<style>\n{STYLE}\n</style>',
    '<defs><marker id="head" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" '
    'orient="auto"><path class="head" d="M0,0 L10,5 L0,10 z"/></marker></defs>',
    f'<rect class="card" width="{WIDTH}" height="{HEIGHT}"/>',
    *parts, '</svg>', ''])

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'system.svg'), 'w') as file:
    file.write(picture)

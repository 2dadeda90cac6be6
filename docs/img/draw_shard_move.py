#!/usr/bin/python3
# Copyright (c) 2026, the flakeid developers

"""Draws docs/img/shard-move.svg: what a move of a shard means for writers, readers,
both servers and the map, step by step.  The steps are those of flakeid-move-shard.

    docs/img/draw_shard_move.py > docs/img/shard-move.svg
"""

from html import escape

LEFT, RIGHT = 88, 784           # of the lanes
WIDTH, HEIGHT = 800, 384
LANE_HEIGHT = 30

# Each step's name and width.
STEPS = [('check', 54), ('publish', 62), ('prepare', 66), ('copy', 58),
         ('catch up', 68), ('fence', 54), ('last change', 90), ('attach', 58),
         ('map', 46), ('clean up', 140)]

TITLE = 'The move of shard 17 from server alpha to server beta'
DESCRIPTION = (
    'Ten steps: check, publish, prepare, copy, catch up, fence, last change, attach, map, clean up.'
    ' Writers are served by alpha until the fence, refused with error 55000 from the fence to the map,'
    ' for 0.05 to 0.3 seconds as measured, and served by beta after that.'
    ' Readers are served all the time, by alpha until the map and by beta after it.'
    ' alpha mints the shard until the fence, and keeps the old rows.'
    ' beta is detached from the step prepare on, gets the rows from the step copy on,'
    ' and mints above the bound from the step attach on.'
    ' A failure before the step attach has alpha let writers in again;'
    ' from then on the move is finished by running the program again.')

STYLE = '''\
text { font-family: sans-serif; font-size: 13px; fill: #24292f }
.name { font-size: 14px; font-weight: bold }
.small { font-size: 12px; fill: #57606a }
.middle { text-anchor: middle }
.on { fill: #ffffff }
.card { fill: #ffffff }
.alpha { fill: #0060a0 } .refused { fill: #a84300 } .beta { fill: #00704f }
.idle { fill: #ffffff; stroke: #57606a; stroke-dasharray: 4 3 }
.line { fill: none; stroke: #57606a }
.grid { stroke: #d0d7de }
.head { fill: #57606a }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.small { fill: #9da7b3 }
.on { fill: #0d1117 }
.card { fill: #0d1117 }
.alpha { fill: #79c0ff } .refused { fill: #ffa066 } .beta { fill: #3ddbb0 }
.idle { fill: #0d1117; stroke: #9da7b3 }
.line { stroke: #9da7b3 }
.grid { stroke: #30363d }
.head { fill: #9da7b3 }
}'''

out = []


def text(x, y, what, kind=''):
    out.append(f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(what)}</text>')


def bar(kind, left, right, y, what=''):
    out.append(f'<rect class="{kind}" x="{left + 1:g}" y="{y:g}" width="{right - left - 2:g}"'
               f' height="{LANE_HEIGHT}" rx="4"/>')
    if what:
        text((left + right) / 2, y + 20, what,
             'middle' if kind == 'idle' else 'middle on')


def arrow(points):
    """A line through the points, with a head at its end, which points downwards."""
    x, y = points[-1]
    out.append('<path class="line" d="M' + ' L'.join(f'{a:g},{b:g}' for a, b in points) + '"/>')
    out.append(f'<path class="head" d="M{x - 4:g},{y - 7:g} h8 l-4,8 z"/>')


def bracket(left, right, y, *lines):
    out.append(f'<path class="line" d="M{left + 2:g},{y:g} v8 H{right - 2:g} v-8"/>')
    for i, line in enumerate(lines):
        text((left + right) / 2, y + 26 + 17 * i, line, 'small middle')


# Where each step begins.
at = {}
x = LEFT
for name, width in STEPS:
    at[name] = x
    x += width
assert x == RIGHT, x

out.append(f'''\
<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title desc">
<title id="title">{escape(TITLE)}</title>
<desc id="desc">{escape(DESCRIPTION)}</desc>
<style>
{STYLE}
</style>
<rect class="card" width="{WIDTH}" height="{HEIGHT}"/>''')

# The steps
for i, (name, width) in enumerate(STEPS):
    text(at[name] + width / 2, 28, str(i + 1), 'name middle')
    text(at[name] + width / 2, 46, name, 'small middle')
    out.append(f'<path class="grid" d="M{at[name]:g},14 V318"/>')

# The lanes
lanes = {}
for i, name in enumerate(['writers', 'readers', 'alpha', 'beta', 'map']):
    lanes[name] = 64 + 48 * i + (22 if i >= 3 else 0)
    text(16, lanes[name] + 20, name, 'name')

bar('alpha', LEFT, at['fence'], lanes['writers'], 'served by alpha')
bar('refused', at['fence'], at['clean up'], lanes['writers'], 'refused: error 55000, try again')
bar('beta', at['clean up'], RIGHT, lanes['writers'], 'served by beta')

bar('alpha', LEFT, at['clean up'], lanes['readers'], 'served by alpha')
bar('beta', at['clean up'], RIGHT, lanes['readers'], 'served by beta')

bar('alpha', LEFT, at['fence'], lanes['alpha'], 'mints shard 17')
bar('idle', at['fence'], RIGHT, lanes['alpha'], 'fenced: mints no more, keeps the old rows')

bar('idle', at['prepare'], at['copy'], lanes['beta'], 'closed')
bar('idle', at['copy'], at['attach'], lanes['beta'], 'gets the rows, may not mint')
bar('beta', at['attach'], RIGHT, lanes['beta'], 'mints shard 17 above the bound')

bar('alpha', LEFT, at['clean up'], lanes['map'], '17 is on alpha')
bar('beta', at['clean up'], RIGHT, lanes['map'], '17 is on beta')

# What goes from server to server
below, above = lanes['alpha'] + LANE_HEIGHT, lanes['beta']
for name in ['copy', 'catch up']:
    middle = at[name] + dict(STEPS)[name] / 2
    arrow([(middle, below + 3), (middle, above - 3)])
text(at['copy'] - 4, below + 24, 'rows', 'small')
out[-1] = out[-1].replace('class="small"', 'class="small" text-anchor="end"')
arrow([(at['fence'] + 40, below + 3), (at['fence'] + 40, below + 19),
       (at['attach'] + 28, below + 19), (at['attach'] + 28, above - 3)])
text(at['last change'] + 45, below + 14, 'the bound', 'small middle')

# What a failure means
bracket(LEFT, at['attach'], 324, 'fails or is killed here: alpha lets writers in again,',
        'and the move can be resumed or undone')
bracket(at['attach'], RIGHT, 324, 'fails or is killed here:', 'run it again, and it goes on')

out.append('</svg>')
print('\n'.join(out))

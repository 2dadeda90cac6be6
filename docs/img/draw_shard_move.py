#!/usr/bin/env python3
# Copyright (c) 2026, the flakeid developers

"""Draws shard-move.svg: what a move of a shard means for writers, readers, both servers
and the map, step by step.  The steps are those of flakeid-move-shard."""

from svg import Picture, points

LEFT, RIGHT = 88, 784           # of the lanes
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

RULES = '''\
text { font-size: 13px }
.name { font-size: 14px; font-weight: bold }
.on { fill: $card }
.alpha { fill: $blue }
.refused { fill: $brown }
.beta { fill: $green }
.idle { fill: $card; stroke: $grey; stroke-dasharray: 4 3 }
.grid { stroke: $grid }
.head { fill: $grey }
'''

picture = Picture(800, 384, TITLE, DESCRIPTION, RULES)


def bar(kind, left, right, y, what):
    picture.rect(kind, left + 1, y, right - left - 2, LANE_HEIGHT, 4)
    picture.text((left + right) / 2, y + 20, what, 'middle' if kind == 'idle' else 'middle on')


def arrow(*path):
    """A line through the points, with a head at its end, which points downwards."""
    x, y = path[-1]
    picture.path('line', points(*path))
    picture.path('head', f'M{x - 4:g},{y - 7:g} h8 l-4,8 z')


def bracket(left, right, y, *lines):
    picture.path('line', f'M{left + 2:g},{y:g} v8 H{right - 2:g} v-8')
    for i, line in enumerate(lines):
        picture.text((left + right) / 2, y + 26 + 17 * i, line, 'small middle')


# Where each step begins
at = {}
x = LEFT
for name, width in STEPS:
    at[name] = x
    x += width
assert x == RIGHT, x

# The steps
for i, (name, width) in enumerate(STEPS):
    picture.text(at[name] + width / 2, 28, str(i + 1), 'name middle')
    picture.text(at[name] + width / 2, 46, name, 'small middle')
    picture.path('grid', f'M{at[name]:g},14 V318')

# The lanes
lanes = {}
for i, name in enumerate(['writers', 'readers', 'alpha', 'beta', 'map']):
    lanes[name] = 64 + 48 * i + (22 if i >= 3 else 0)
    picture.text(16, lanes[name] + 20, name, 'name')

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
    arrow((middle, below + 3), (middle, above - 3))
picture.text(at['copy'] - 4, below + 24, 'rows', 'small end')
arrow((at['fence'] + 40, below + 3), (at['fence'] + 40, below + 19),
      (at['attach'] + 28, below + 19), (at['attach'] + 28, above - 3))
picture.text(at['last change'] + 45, below + 14, 'the bound', 'small middle')

# What a failure means
bracket(LEFT, at['attach'], 324, 'fails or is killed here: alpha lets writers in again,',
        'and the move can be resumed or undone')
bracket(at['attach'], RIGHT, 324, 'fails or is killed here:', 'run it again, and it goes on')

picture.save()

#!/usr/bin/env python3
# Copyright (c) 2026, the flakeid developers

"""Draws system.svg: the parts of flakeid, and the way of an id."""

from svg import Picture

TITLE = 'The parts of flakeid, and the way of an id'
DESCRIPTION = (
    'Sessions claim ids from the slot of their shard in shared memory. No id goes beyond the '
    'horizon of the generator. Whoever moves the horizon writes it to WAL and to the '
    'sequence of the generator, flushes, and then lets others see it. Standbys receive it in the WAL, '
    'before the rows with the ids that it covers.')

RULES = '''\
.name { font-size: 15px; font-weight: bold }
.small { font-size: 12.5px }
.number { font-size: 13px; font-weight: bold; text-anchor: middle; fill: $card }
.area { fill: $area; stroke: $grid }
.box { fill: $card; stroke-width: 1.5 }
.session { stroke: $grey }
.slot { stroke: $brown }
.horizon { stroke: $blue }
.wal, .standby { stroke: $green }
.arrow { fill: none; stroke: $text; stroke-width: 1.5; marker-end: url(#head) }
.dashed { stroke-dasharray: 4 3 }
.head, .disc { fill: $text }
'''

picture = Picture(800, 440, TITLE, DESCRIPTION, RULES)
picture.add('<defs><marker id="head" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7"'
            ' markerHeight="7" orient="auto"><path class="head" d="M0,0 L10,5 L0,10 z"/>'
            '</marker></defs>')


def box(x, y, width, height, kind, name, *lines):
    """A thing: its name, and under it what it is."""
    picture.rect(f'box {kind}', x, y, width, height, 5)
    picture.text(x + 10, y + 21, name, 'name')
    for i, line in enumerate(lines):
        picture.text(x + 10, y + 41 + 18 * i, line, 'small')


def area(x, y, width, height, name):
    """What surrounds things: a server, its memory, its disk."""
    picture.rect('area', x, y, width, height, 8)
    picture.text(x + 12, y + 20, name, 'small')


def arrow(path, number=None, at=None, dashed=False):
    picture.path('arrow dashed' if dashed else 'arrow', path)
    if number:
        picture.add(f'<circle class="disc" cx="{at[0]}" cy="{at[1]}" r="10"/>')
        picture.text(at[0], at[1] + 4.5, str(number), 'number')


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
    picture.text(16, 324 + 20 * i, step)

picture.save()

#!/usr/bin/env python3
# Copyright (c) 2026, the flakeid developers

"""Draws clock-step.svg: what becomes of the times in ids when the server's clock is set
back, once by less than flakeid.max_ahead and once by more.  The lines follow from the
rules (docs/internals/design.md) and the default settings; nothing is measured."""

from svg import Picture, points

MAX_AHEAD = 15      # s, flakeid.max_ahead
MAX_WAIT = 10       # s, flakeid.max_wait
STEP_AT = 20        # s on the axis of true time
LAST = 60           # s, the end of that axis

HEIGHT = 420
PANEL_WIDTH, PANEL_HEIGHT = 330, 230
PANEL_TOP = 92
PANEL_LEFT = (54, 444)
LOWEST, HIGHEST = -15, 70       # s, the axis of the clock and of ids

TITLE = 'What a clock that is set back does to ids'
DESCRIPTION = (
    'Two charts of the time in the ids of one shard. If the clock is set back by'
    ' 10 s, ids go on one by one where they were, until the clock is there again after 10 s.'
    ' If it is set back by 30 s, minting is an error for 5 s, callers wait during the next 10 s,'
    ' and then ids go on where they were.')

RULES = '''\
.title { font-size: 16px; font-weight: bold }
.head { font-size: 19px }
.axis { stroke: $grey; fill: none }
.grid { stroke: $grid; fill: none }
.clock { stroke: $grey; stroke-width: 2; stroke-dasharray: 6 4; fill: none }
.band { fill: $blue; fill-opacity: 0.14 }
.ids { stroke: $blue; stroke-width: 3; fill: none }
.wait { fill: $brown; fill-opacity: 0.24 }
.error { fill: $brown; fill-opacity: 0.58 }
.blue { fill: $blue }
.brown { fill: $brown }
'''

picture = Picture(800, HEIGHT, TITLE, DESCRIPTION, RULES)


class Panel:
    """One clock that is set back by so many seconds."""

    def __init__(self, left, step):
        self.left = left
        self.step = step
        # When the shard's last id is so near to the clock again that callers
        # wait instead of failing, get ids again, and ids follow the clock.
        self.waits_at = max(STEP_AT, STEP_AT + step - MAX_AHEAD - MAX_WAIT)
        self.mints_at = max(STEP_AT, STEP_AT + step - MAX_AHEAD)
        self.follows_at = STEP_AT + step

    def x(self, true_time):
        return round(self.left + PANEL_WIDTH * true_time / LAST, 1)

    def y(self, time):
        return round(PANEL_TOP + PANEL_HEIGHT * (HIGHEST - time) / (HIGHEST - LOWEST), 1)

    def line(self, kind, *pairs, end=''):
        picture.path(kind, points(*((self.x(x), self.y(y)) for x, y in pairs)) + end)

    def area(self, kind, since, upto):
        picture.rect(kind, self.x(since), PANEL_TOP, self.x(upto) - self.x(since), PANEL_HEIGHT)

    def draw(self, title):
        clock = [(0, 0), (STEP_AT, STEP_AT), (STEP_AT, STEP_AT - self.step),
                 (LAST, LAST - self.step)]
        ahead = [(x, y + MAX_AHEAD) for x, y in clock]
        bottom = PANEL_TOP + PANEL_HEIGHT

        picture.text(self.left, PANEL_TOP - 14, title, 'title')
        for time in (0, 20, 40, 60):
            self.line('grid', (0, time), (LAST, time))
            picture.text(self.left - 8, self.y(time) + 4, str(time), 'small end')
            picture.text(self.x(time), bottom + 18, str(time), 'small middle')
        if self.waits_at > STEP_AT:
            self.area('error', STEP_AT, self.waits_at)
        if self.mints_at > self.waits_at:
            self.area('wait', self.waits_at, self.mints_at)
        self.line('band', *clock, *reversed(ahead), end=' Z')
        self.line('clock', *clock)
        self.line('ids', (0, 0), (STEP_AT, STEP_AT))
        self.line('ids', (self.mints_at, STEP_AT), (self.follows_at, STEP_AT),
                  (LAST, LAST - self.step))
        self.line('axis', (0, HIGHEST), (0, LOWEST), (LAST, LOWEST))
        picture.text(self.x(LAST), bottom + 36, 'true time, seconds', 'small end')


def key_line(x, y, kind, what):
    picture.path(kind, f'M{x},{y - 5} H{x + 28}')
    picture.text(x + 36, y, what, 'small')


def key_area(x, y, kind, what):
    picture.rect(kind, x, y - 12, 28, 16)
    picture.text(x + 36, y, what, 'small')


picture.text(16, 34, "The time in the ids of a shard, when the server's clock is set back", 'head')
near = Panel(PANEL_LEFT[0], 10)
far = Panel(PANEL_LEFT[1], 30)
near.draw('by 10 s: ids go on')
far.draw('by 30 s: refused at first')

# What happens where, in the charts
for panel, since, clock_at in (near, STEP_AT, 27), (far, far.mints_at, 44):
    picture.text(panel.x(17), panel.y(21), 'ids', 'small blue end')
    picture.text(panel.x(since) + 4, panel.y(STEP_AT) - 8, 'one by one', 'small blue')
    picture.text(panel.x(clock_at), panel.y(clock_at - panel.step - 7), 'clock', 'small')
top = PANEL_TOP + 16
picture.text(far.x(STEP_AT) - 6, top, 'error 53400', 'small brown end')
picture.text((far.x(far.waits_at) + far.x(far.mints_at)) / 2, top, 'wait', 'small brown middle')

base = HEIGHT - 38
key_line(16, base, 'ids', 'time in the newest id of the shard')
key_line(290, base, 'clock', "the server's clock")
key_area(470, base, 'band', f'allowed: up to {MAX_AHEAD} s ahead (max_ahead)')
key_area(16, base + 24, 'error', f'error: the wait would exceed {MAX_WAIT} s (max_wait)')
key_area(470, base + 24, 'wait', 'callers wait, and get their ids')

picture.save()

# python3 docs/img/draw_clock_step.py
#
# Draws docs/img/clock-step.svg: what becomes of the times in ids when the server's
# clock is set back, once by less than flakeid.max_ahead and once by more. The
# lines follow from the rules (docs/internals/design.md) and the default settings;
# nothing is measured.

import os

MAX_AHEAD = 15      # s, flakeid.max_ahead
MAX_WAIT = 10       # s, flakeid.max_wait
STEP_AT = 20        # s on the axis of true time
LAST = 60           # s, the end of that axis

WIDTH, HEIGHT = 800, 420
PANEL_WIDTH, PANEL_HEIGHT = 330, 230
PANEL_TOP = 92
PANEL_LEFT = (54, 444)
LOWEST, HIGHEST = -15, 70       # s, the axis of the clock and of ids

STYLE = """
text { font-family: sans-serif; font-size: 14px; fill: #24292f }
.title { font-size: 16px; font-weight: bold }
.small { font-size: 12px; fill: #57606a }
.card { fill: #ffffff }
.axis { stroke: #57606a; fill: none }
.grid { stroke: #d8dee4; fill: none }
.clock { stroke: #57606a; stroke-width: 2; stroke-dasharray: 6 4; fill: none }
.band { fill: #0060a0; fill-opacity: 0.12 }
.ids { stroke: #0060a0; stroke-width: 3; fill: none }
.wait { fill: #a84300; fill-opacity: 0.22 }
.error { fill: #a84300; fill-opacity: 0.55 }
.blue { fill: #0060a0 } .brown { fill: #a84300 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.small { fill: #9da7b3 }
.card { fill: #0d1117 }
.axis { stroke: #9da7b3 }
.grid { stroke: #30363d }
.clock { stroke: #9da7b3 }
.band { fill: #79c0ff; fill-opacity: 0.16 }
.ids { stroke: #79c0ff }
.wait { fill: #ffa066; fill-opacity: 0.25 }
.error { fill: #ffa066; fill-opacity: 0.6 }
.blue { fill: #79c0ff } .brown { fill: #ffa066 }
}
"""


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

    def path(self, points):
        return 'M' + ' L'.join(f'{self.x(x)},{self.y(y)}' for x, y in points)

    def line(self, kind, points):
        return f'<path class="{kind}" d="{self.path(points)}"/>'

    def area(self, kind, since, upto):
        return (f'<rect class="{kind}" x="{self.x(since)}" y="{PANEL_TOP}"'
                f' width="{round(self.x(upto) - self.x(since), 1)}" height="{PANEL_HEIGHT}"/>')

    def draw(self, title):
        clock = [(0, 0), (STEP_AT, STEP_AT), (STEP_AT, STEP_AT - self.step),
                 (LAST, LAST - self.step)]
        band = clock + [(x, y + MAX_AHEAD) for x, y in reversed(clock)]
        end = LAST - self.step
        bottom = PANEL_TOP + PANEL_HEIGHT

        yield f'<text class="title" x="{self.left}" y="{PANEL_TOP - 14}">{title}</text>'
        for time in (0, 20, 40, 60):
            yield self.line('grid', [(0, time), (LAST, time)])
            yield (f'<text class="small" x="{self.left - 8}" y="{self.y(time) + 4}"'
                   f' text-anchor="end">{time}</text>')
            yield (f'<text class="small" x="{self.x(time)}" y="{bottom + 18}"'
                   f' text-anchor="middle">{time}</text>')
        if self.waits_at > STEP_AT:
            yield self.area('error', STEP_AT, self.waits_at)
        if self.mints_at > self.waits_at:
            yield self.area('wait', self.waits_at, self.mints_at)
        yield f'<path class="band" d="{self.path(band)} Z"/>'
        yield self.line('clock', clock)
        yield self.line('ids', [(0, 0), (STEP_AT, STEP_AT)])
        yield self.line('ids', [(self.mints_at, STEP_AT), (self.follows_at, STEP_AT),
                                (LAST, end)])
        yield self.line('axis', [(0, HIGHEST), (0, LOWEST), (LAST, LOWEST)])


def key(x, y, mark, text):
    return [mark.format(x=x, y=y, middle=y - 5, right=x + 28, top=y - 12),
            f'<text class="small" x="{x + 36}" y="{y}">{text}</text>']


def main():
    near = Panel(PANEL_LEFT[0], 10)
    far = Panel(PANEL_LEFT[1], 30)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"'
        f' viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title desc">',
        '<title id="title">What a clock that is set back does to ids</title>',
        '<desc id="desc">Two charts of the time in the ids of one shard. If the clock is set back by'
        ' 10 s, ids go on one by one where they were, until the clock is there again after 10 s.'
        ' If it is set back by 30 s, minting is an error for 5 s, callers wait during the next 10 s,'
        ' and then ids go on where they were.</desc>',
        f'<style>{STYLE}</style>',
        f'<rect class="card" width="{WIDTH}" height="{HEIGHT}"/>',
        '<text style="font-size: 19px" x="16" y="34">The time in the ids of a shard,'
        ' when the server\'s clock is set back</text>',
    ]
    out += near.draw('by 10 s: ids go on')
    out += far.draw('by 30 s: refused at first')

    # What happens where, in the charts.
    for panel in (near, far):
        out.append(f'<text class="small blue" x="{panel.x(17)}" y="{panel.y(21)}"'
                   ' text-anchor="end">ids</text>')
    out.append(f'<text class="small blue" x="{near.x(STEP_AT) + 4}" y="{near.y(STEP_AT) - 8}">'
               'one by one</text>')
    for panel, time in (near, 27), (far, 44):
        out.append(f'<text class="small" x="{panel.x(time)}" y="{panel.y(time - panel.step - 7)}">'
                   'clock</text>')
    top = PANEL_TOP + 16
    out.append(f'<text class="small brown" x="{far.x(STEP_AT) - 6}" y="{top}" text-anchor="end">'
               'error 53400</text>')
    out.append(f'<text class="small brown" x="{(far.x(25) + far.x(35)) / 2}" y="{top}"'
               ' text-anchor="middle">wait</text>')
    out.append(f'<text class="small blue" x="{far.x(35) + 4}" y="{far.y(STEP_AT) - 8}">'
               'one by one</text>')
    for panel in (near, far):
        out.append(f'<text class="small" x="{panel.x(LAST)}" y="{PANEL_TOP + PANEL_HEIGHT + 36}"'
                   ' text-anchor="end">true time, seconds</text>')

    base = HEIGHT - 38
    out += key(16, base, '<path class="ids" d="M{x},{middle} H{right}"/>',
               'time in the newest id of the shard')
    out += key(290, base, '<path class="clock" d="M{x},{middle} H{right}"/>', "the server's clock")
    out += key(470, base, '<rect class="band" x="{x}" y="{top}" width="28" height="16"/>',
               f'allowed: up to {MAX_AHEAD} s ahead (max_ahead)')
    out += key(16, base + 24, '<rect class="error" x="{x}" y="{top}" width="28" height="16"/>',
               f'error: the wait would exceed {MAX_WAIT} s (max_wait)')
    out += key(470, base + 24, '<rect class="wait" x="{x}" y="{top}" width="28" height="16"/>',
               'callers wait, and get their ids')
    out.append('</svg>')

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'clock-step.svg')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(out) + '\n')


main()

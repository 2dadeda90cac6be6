#!/usr/bin/env python3
# Copyright (c) 2026, the flakeid developers

"""Draws anatomy.svg: the bits of an id of the default layout, and what they mean."""

from datetime import datetime, timedelta

from svg import Picture

ID = 11637205501278089
EPOCH = datetime(2011, 8, 24, 21, 7, 1, 721000)
FIELDS = [('time', 41), ('shard', 13), ('sequence', 10)]

LEFT, TOP = 16, 64              # of the bits
BIT = 11.5                      # width
PAD, GAP = 4, 3                 # within a field, between fields

RULES = '''\
.id { font-family: monospace; font-size: 22px }
.bit { font-family: monospace; font-size: 13px; text-anchor: middle; fill: $card }
.name { font-size: 16px; font-weight: bold }
.small { font-size: 13px }
.time { fill: $blue }
.shard { fill: $brown }
.sequence { fill: $green }
'''


def utc(time):
    return time.isoformat(' ', 'milliseconds') + ' UTC'


bits = f'{ID:064b}'
value = {}
start = 0
for field, width in FIELDS:
    value[field] = int(bits[start:start + width], 2)
    start += width
time = utc(EPOCH + timedelta(milliseconds=value['time']))

picture = Picture(800, 270, f'The bits of the id {ID}', (
    f'64 bits. The first 41 are the time, {value["time"]} milliseconds since {utc(EPOCH)},'
    f' which is {time}. The next 13 are the shard, {value["shard"]}.'
    f' The last 10 are the sequence, {value["sequence"]}.'), RULES)
picture.text(LEFT, 42, str(ID), 'id')
picture.text(784, 42, 'a bigint: 64 bits', 'small end')

x = LEFT
start = 0
for field, count in FIELDS:
    width = count * BIT + 2 * PAD
    picture.rect(field, x, TOP, width, 32, 4)
    for i in range(count):
        picture.text(x + PAD + (i + 0.5) * BIT, TOP + 21, bits[start + i], 'bit')
    left = x + 1
    picture.path('line', f'M{left:g},104 v8 h{width - 2:g} v-8')
    picture.text(left, 140, field, f'name {field}')
    picture.text(left, 162, f'{count} bits', 'small')
    if field == 'time':
        picture.text(left, 194, f'{value[field]} milliseconds')
        picture.text(left, 218, f'since {utc(EPOCH)}:', 'small')
        picture.text(left, 242, time)
    else:
        picture.text(left, 194, str(value[field]))
        picture.text(left, 218, f'of 0 to {2 ** count - 1}', 'small')
    x += width + GAP
    start += count

picture.save()

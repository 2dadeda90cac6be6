# gnuplot -c bench/throughput.gnuplot RESULTS PICTURE CAPTION
#
# Draws ids per second by number of clients. RESULTS are those of bench/report.sql
# with tabs: section, contender, clients, unit, median. bench/run calls this.

results = ARG1
section = '10,000 ids per statement'

# What is drawn: name in RESULTS, label, colour. Contenders that are not in RESULTS
# are left out. A line leads from the end of each to its label, in its colour; all colours
# have a contrast of 4.5 or more on white, and differ in lightness as well as in hue.
series = 8
array name[series] = [ \
    'flake_id(a shard each)', 'flake_id(shard)', 'nextval() CACHE 32', \
    'nextval() CACHE 1', 'gen_random_uuid()', 'uuidv7()', 'PL/pgSQL', \
    'what one shard has' ]
array label[series] = [ \
    'flake_id(), a shard per client', 'flake_id(), one shard, in a burst', \
    'nextval(), CACHE 32', 'nextval()', 'gen_random_uuid()', 'uuidv7()', \
    'published PL/pgSQL', 'flake_id(), one shard, sustained' ]
array color[series] = [ \
    0x003f7d, 0x0072b2, 0x00704f, 0xa84300, 0x57606a, 0x8a5a00, 0x8c3d70, 0x0072b2 ]
array end[series]
array place[series]
array done[series]

set datafile separator tab
set datafile missing NaN
set encoding utf8

# A value of RESULTS, if this row is of that contender, else another.
of_row(contender, else) = \
    strcol(1) eq section && strcol(2) eq contender ? column(5) / 1e6 : else

stats results using (strcol(1) eq section ? column(3) : 0) nooutput
most_clients = STATS_max
do for [i = 1:series] {
    done[i] = 0
    stats results using (column(3) == most_clients ? of_row(name[i], 0) : 0) nooutput
    end[i] = STATS_max
}
# The default layout has 1,024 ids in a millisecond, and takes no measuring.
end[series] = 1.024
highest = 0
do for [i = 1:series] {
    stats results using (of_row(name[i], 0)) nooutput
    highest = STATS_max > highest ? STATS_max : highest
}

# Labels that would be nearer to each other than this move upwards, the lowest first.
top = highest * 1.06
gap = top * 0.058
below = -gap
measured = ''
do for [turn = 1:series] {
    lowest = 0
    do for [i = 1:series] {
        if (done[i] == 0 && (lowest == 0 || end[i] < end[lowest])) { lowest = i }
    }
    done[lowest] = 1
    if (end[lowest] > 0) {
        place[lowest] = end[lowest] > below + gap ? end[lowest] : below + gap
        below = place[lowest]
        if (lowest < series) { measured = measured . lowest . ' ' }
        set label lowest sprintf('%s  %.1f', label[lowest], end[lowest]) \
            at graph 1.04, first place[lowest] textcolor rgb color[lowest]
        set arrow lowest from graph 1, first end[lowest] \
            to graph 1.03, first place[lowest] nohead linecolor rgb color[lowest]
    }
}

set terminal svg noenhanced size 800,460 font 'sans-serif,14' background '#ffffff'
set output ARG2
set lmargin at screen 0.06
set rmargin at screen 0.61
set tmargin at screen 0.83
set bmargin at screen 0.195
set border 1 linecolor rgb '#57606a'
set tics textcolor rgb '#24292f' nomirror scale 0
set grid ytics linetype 1 linecolor rgb '#d8dee4'
set logscale x 2
set xtics 2
set xlabel 'clients at a time' textcolor rgb '#24292f' offset 0, 0.3
set xrange [1:most_clients]
set yrange [0:top]
unset key
set label 101 'Ids per second, in millions' at screen 0.022, 0.945 \
    font ',19' textcolor rgb '#24292f'
set label 102 'taken in bulk, 10,000 in a statement; one server' at screen 0.022, 0.885 \
    textcolor rgb '#57606a'
set label 103 ARG3 at screen 0.022, 0.035 font ',12' textcolor rgb '#57606a'

plot for [i in measured] results using 3:(of_row(name[int(i)], NaN)) \
        with linespoints linewidth (int(i) <= 2 ? 3 : 2) pointtype 7 pointsize 0.5 \
        linecolor rgb color[int(i)], \
    end[series] with lines dashtype 2 linewidth 2 linecolor rgb color[series]

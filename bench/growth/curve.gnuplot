# gnuplot -c bench/growth/curve.gnuplot POINTS SERIES PICTURE CAPTION TITLE SUBTITLE X LOG_X LOG_Y
#
# Draws a curve for each contender. POINTS and SERIES are those of points.sql. LOG_X and LOG_Y
# are 1 for a logarithmic axis. bench/growth/run calls this.

points = ARG1
log_x = int(ARG8)
log_y = int(ARG9)

set datafile separator tab
set datafile missing NaN
set encoding utf8

stats points using 1 nooutput
series = int(STATS_max)
stats points using 2 nooutput
first_x = STATS_min
last_x = STATS_max
stats points using 3 nooutput
highest = STATS_max
lowest_y = STATS_min

array end[series]
array end_x[series]
array place[series]
array done[series]
array color[series]
array dashed[series]
array name[series]
field(i, n) = system(sprintf("sed -n '%dp' %s | cut -f %d | tr -d '\"'", i, ARG2, n))

tic(x) = x >= 1e6 ? sprintf('%g M', x / 1e6) : \
    x >= 1000 ? sprintf('%d,%03d', int(x) / 1000, int(x) % 1000) : sprintf('%d', int(x))

# A label is beside the last point of its curve, in its colour.
do for [i = 1:series] {
    color[i] = int(field(i, 1))
    dashed[i] = int(field(i, 2))
    name[i] = field(i, 3)
    done[i] = 0
    stats points using (column(1) == i ? column(2) : NaN) nooutput
    end_x[i] = STATS_max
    stats points using (column(1) == i && column(2) == end_x[i] ? column(3) : NaN) nooutput
    end[i] = STATS_max
}

# Heights are those of the axis: logarithms, if it has them.
top = log_y ? highest * 1.3 : highest * 1.06
bottom = log_y ? lowest_y / 1.3 : 0
height(y) = log_y ? log10(y / bottom) / log10(top / bottom) : y / top
gap = 0.062

# Labels that would be nearer to each other than this move upwards, the lowest first.
below = -gap
do for [turn = 1:series] {
    lowest = 0
    do for [i = 1:series] {
        if (done[i] == 0 && (lowest == 0 || end[i] < end[lowest])) { lowest = i }
    }
    done[lowest] = 1
    place[lowest] = height(end[lowest]) > below + gap ? height(end[lowest]) : below + gap
    below = place[lowest]
    stops = end_x[lowest] < last_x ? ' at ' . tic(end_x[lowest]) : ''
    set label lowest sprintf('%s  %.3g%s', name[lowest], end[lowest], stops) \
        at graph 1.04, graph place[lowest] textcolor rgb color[lowest]
    set arrow lowest from first end_x[lowest], graph height(end[lowest]) \
        to graph 1.03, graph place[lowest] nohead linecolor rgb color[lowest] dashtype 3
}

set terminal svg noenhanced size 800,420 font 'sans-serif,14' background '#ffffff'
set output ARG3
set lmargin at screen 0.075
set rmargin at screen 0.63
set tmargin at screen 0.82
set bmargin at screen 0.2
set border 1 linecolor rgb '#57606a'
set tics textcolor rgb '#24292f' nomirror scale 0
set grid ytics linetype 1 linecolor rgb '#d8dee4'
if (log_x) { set logscale x 10 }
if (log_y) {
    set logscale y 10
    set ytics ()
    do for [decade = -3:6] {
        do for [digit in '1 2 5'] { set ytics add (real(digit) * 10 ** decade) }
    }
}
set format y '%g'
set xlabel ARG7 textcolor rgb '#24292f' offset 0, 0.3
set xrange [first_x:last_x]
set yrange [bottom:top]
unset key
set label 101 ARG5 at screen 0.022, 0.945 font ',19' textcolor rgb '#24292f'
set label 102 ARG6 at screen 0.022, 0.88 textcolor rgb '#57606a'
set label 103 ARG4 at screen 0.022, 0.035 font ',12' textcolor rgb '#57606a'

set xtics ()
do for [x in system(sprintf("cut -f 2 %s | sort -nu", ARG1))] {
    set xtics add (tic(real(x)) real(x))
}

do for [i = 1:series] {
    if (dashed[i]) {
        set style line i linecolor rgb color[i] linewidth 2 dashtype 2 pointtype 7 pointsize 0.5
    } else {
        set style line i linecolor rgb color[i] linewidth 3 pointtype 7 pointsize 0.5
    }
}
plot for [i = 1:series] points using (column(1) == i ? column(2) : NaN):3 \
    with linespoints linestyle i title name[i]

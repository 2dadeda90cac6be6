# gnuplot -c bench/insert.gnuplot RESULTS PICTURE CAPTION
#
# Draws how long inserting a million rows takes, and how large the primary key's
# index is then. RESULTS are those of bench/report.sql with tabs: section,
# contender, clients, unit, median. bench/run calls this.

results = ARG1
section = 'inserting a million rows'

# What is drawn, from the top down: name in RESULTS, label. Contenders that are not
# in RESULTS are left out.
series = 6
array name[series] = [ \
    'flake_id(5)', 'nextval() CACHE 32', 'nextval() CACHE 1', 'uuidv7()', \
    'gen_random_uuid()', 'PL/pgSQL' ]
array label[series] = [ \
    'flake_id()', 'nextval(), CACHE 32', 'nextval()', 'uuidv7()', \
    'gen_random_uuid()', 'published PL/pgSQL' ]

set datafile separator tab
set encoding utf8

of_row(unit, contender) = strcol(1) eq section && strcol(2) eq contender && \
    strcol(4) eq unit ? column(5) : 0

set terminal svg noenhanced size 800,360 font 'sans-serif,14' background '#ffffff'
set output ARG2
set multiplot
set tmargin at screen 0.75
set bmargin at screen 0.13
unset key
unset border
unset tics
set style fill solid noborder
set boxwidth 0.66

set label 101 'A million rows, one INSERT' at screen 0.022, 0.93 \
    font ',19' textcolor rgb '#24292f'
set label 102 'into a table with a primary key that defaults to' at screen 0.022, 0.855 \
    textcolor rgb '#57606a'
set label 103 ARG3 at screen 0.022, 0.045 font ',12' textcolor rgb '#57606a'

do for [panel = 1:2] {
    unit = panel == 1 ? 'ms' : 'MB of index'
    scale = panel == 1 ? 1000.0 : 1.0
    digits = panel == 1 ? '%.2f' : '%.1f'
    set lmargin at screen (panel == 1 ? 0.245 : 0.665)
    set rmargin at screen (panel == 1 ? 0.56 : 0.9)
    set label 104 (panel == 1 ? 'time in seconds' : 'index in MB') \
        at graph 0, 1.04 textcolor rgb '#24292f'

    # stats minds the ranges.
    set xrange [*:*]
    set yrange [*:*]
    rows = 0
    widest = 0
    do for [i = 1:series] {
        stats results using (of_row(unit, name[i])) nooutput
        long = STATS_max / scale
        if (long > 0) {
            rows = rows + 1
            widest = long > widest ? long : widest
            own = i == 1
            set object rows rectangle from 0, -rows - 0.33 to long, -rows + 0.33 \
                fillcolor rgb (own ? '#0072b2' : '#8c959f') fillstyle solid noborder
            set label 10 + rows sprintf(digits, long) at long, -rows \
                offset character 0.6, 0 textcolor rgb '#24292f'
            if (panel == 1) {
                set label 30 + rows label[i] at screen 0.235, first -rows right \
                    textcolor rgb (own ? '#0072b2' : '#24292f')
            }
        }
    }
    set xrange [0:widest]
    set yrange [-rows - 0.5:-0.5]
    # The objects are the picture; something must be plotted for them to appear.
    plot NaN linecolor rgb '#57606a'
    do for [label_of_first_panel = 31:30 + rows] { unset label label_of_first_panel }
    unset label 101
    unset label 102
    unset label 103
}
unset multiplot

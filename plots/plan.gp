# SPDX-License-Identifier: Apache-2.0
# A plan: memory of one device by part against what the device has, and the times of a step by what
# bounds it. Redraw it by hand with: gnuplot plan.gp
load 'settings.gp'
set encoding utf8
set datafile separator "\t"
set datafile commentschars ''
unset key
set tics nomirror
INK = 0x2b2b2b; GRID = 0xe4e4e4
set multiplot
set style fill solid 1 noborder
set bmargin at screen panel_bottom; set tmargin at screen panel_top
set border 3 lc rgb INK lw 1
unset xtics
set xrange [0:devices]
set grid ytics lc rgb GRID lw 0.7 dt solid back

set lmargin at screen memory_left; set rmargin at screen memory_right
set yrange [0:memory_max]
set ytics auto format '%.0f' textcolor rgb INK scale 0.6
set ylabel 'memory of one device [GB]' textcolor rgb INK
plot 'memory.dat' skip 1 using 1:2:3:4:5:6:7 with boxxyerror lc rgb variable notitle, \
     'capacity.dat' skip 1 using 1:2 with lines lc rgb INK lw 2 dt (10,6) notitle, \
     'totals.dat' skip 1 using 1:2:3 with labels center tc rgb INK notitle

set lmargin at screen time_left; set rmargin at screen time_right
set logscale y
set yrange [time_min:time_max]
set ytics 1e-12,10 nomirror format '%.0s %cs' textcolor rgb INK scale 0.6,0.3
set mytics 10
set ylabel 'time of a step, by what it is spent on' textcolor rgb INK
plot 'times.dat' skip 1 using 1:2:3:4:5:6:7 with boxxyerror lc rgb variable notitle

unset logscale; unset grid; unset border; unset tics; unset ylabel
set lmargin at screen 0; set rmargin at screen 1; set bmargin at screen 0; set tmargin at screen 1
set xrange [0:width]; set yrange [0:height]
plot 'title.dat' skip 1 using 1:2:3 with labels left font title_font tc rgb INK notitle, \
     'key_boxes.dat' skip 1 using 1:2:3:4:5:6:7 with boxxyerror lc rgb variable notitle, \
     'key.dat' skip 1 using 1:2:3 with labels left font small_font tc rgb INK notitle, \
     'names.dat' skip 1 using 1:2:3 with labels center font small_font tc rgb INK notitle, \
     'caption.dat' skip 1 using 1:2:3 with labels left font small_font tc rgb 0x666666 notitle
unset multiplot

# SPDX-License-Identifier: Apache-2.0
# Rooflines of several devices in one picture. Redraw it by hand with: gnuplot compare.gp
load 'settings.gp'
set encoding utf8
set datafile separator "\t"
set datafile commentschars ''
unset key
set tics nomirror
INK = 0x2b2b2b; GRID = 0xe4e4e4
set multiplot
set lmargin at screen main_left; set rmargin at screen main_right
set bmargin at screen main_bottom; set tmargin at screen main_top
set logscale xy
set xrange [x_min:x_max]; set yrange [y_min:y_max]
set border 3 lc rgb INK lw 1
set xtics 1e-12,10 nomirror format '%g' textcolor rgb INK scale 0.6,0.3
set ytics 1,10 nomirror format '%.0s %c' textcolor rgb INK scale 0.6,0.3
set mxtics 10; set mytics 10
set grid xtics ytics lc rgb GRID lw 0.7 dt solid back
set xlabel 'arithmetic intensity [FLOP per DRAM byte]' textcolor rgb INK offset 0,0.5
set ylabel 'performance [FLOP/s]' textcolor rgb INK offset -0.3,0
plot 'roofs.dat' skip 1 using 1:2:3 with lines lc rgb variable lw 2.6 notitle, \
     'roofs_vector.dat' skip 1 using 1:2:3 with lines lc rgb variable lw 1.6 dt (7,4) notitle, \
     'ridges.dat' skip 1 using 1:2:3 with lines lc rgb variable lw 1 dt (2,3) notitle, \
     'ridge_points.dat' skip 1 using 1:2:(2.2*font_px*0.25*point_scale):3 with points pt 7 ps variable lc rgb variable notitle, \
     'labels.dat' skip 1 using 1:2:3:4 with labels left tc rgb variable notitle
unset logscale; unset grid; unset border; unset tics; unset xlabel; unset ylabel
set lmargin at screen 0; set rmargin at screen 1; set bmargin at screen 0; set tmargin at screen 1
set xrange [0:width]; set yrange [0:height]
plot 'title.dat' skip 1 using 1:2:3 with labels left font title_font tc rgb INK notitle, \
     'key_discs.dat' skip 1 using 1:2:(font_px*0.42*point_scale):3 with points pt 7 ps variable lc rgb variable notitle, \
     'key.dat' skip 1 using 1:2:3 with labels left tc rgb INK notitle, \
     'key_small.dat' skip 1 using 1:2:3 with labels left font small_font tc rgb 0x666666 notitle
unset multiplot

# SPDX-License-Identifier: Apache-2.0
# A roofline from the data files beside this script. Redraw it by hand with: gnuplot roofline.gp
# settings.gp holds the terminal, the ranges and the places; edit it, or this, as you like.
load 'settings.gp'
set encoding utf8
set datafile separator "\t"
set datafile commentschars ''
set datafile missing 'nan'
unset key
set tics nomirror
INK = 0x2b2b2b; GRID = 0xe4e4e4

set multiplot

# --- kernels without FLOPs: how much of the level's bandwidth they reach
if (has_strip) {
    set lmargin at screen strip_left; set rmargin at screen strip_right
    set bmargin at screen main_bottom; set tmargin at screen main_top
    set border 3 lc rgb INK lw 1
    set xrange [0:1]; set yrange [0:strip_max]
    unset xtics
    set ytics 0.25 format '%g' textcolor rgb INK
    set ytics add ('0' 0, '25%%' 0.25, '50%%' 0.5, '75%%' 0.75, '100%%' 1)
    set ylabel strip_title textcolor rgb INK offset 1.2,0
    set arrow 1 from 0,1 to 1,1 nohead lc rgb 0x0072B2 lw 2 back
    plot 'strip.dat' skip 1 using 2:3:($4*point_scale):5:6 with points pt variable ps variable lc rgb variable notitle, \
         'strip_numbers.dat' skip 1 using 1:2:3:4 with labels center tc rgb variable notitle
    unset arrow; unset ylabel; set ytics autofreq
}

# --- the roofline
set lmargin at screen main_left; set rmargin at screen main_right
set bmargin at screen main_bottom; set tmargin at screen main_top
set logscale xy
set xrange [x_min:x_max]; set yrange [y_min:y_max]
set border 3 lc rgb INK lw 1
set xtics 1e-12,x_step nomirror format '%g' textcolor rgb INK scale 0.6,0.3
set ytics 1,y_step nomirror format '%.0s %c' textcolor rgb INK scale 0.6,0.3
set mxtics 10; set mytics 10
set grid xtics ytics lc rgb GRID lw 0.7 dt solid back
set xlabel x_title textcolor rgb INK offset 0,0.5
set ylabel 'performance [FLOP/s]' textcolor rgb INK offset -0.3,0
plot 'tint_memory.dat' skip 1 using 1:2 with filledcurves closed fc rgb 0xE8F1F8 fs solid notitle, \
     'tint_compute.dat' skip 1 using 1:2 with filledcurves closed fc rgb 0xFBEDE3 fs solid notitle, \
     'roofs_other.dat' skip 1 using 1:2 with lines lc rgb 0xa8a8a8 lw 1.4 dt (6,4) notitle, \
     'roofs_used.dat' skip 1 using 1:2 with lines lc rgb INK lw 2.4 notitle, \
     'ridge.dat' skip 1 using 1:2 with lines lc rgb 0x707070 lw 1.2 dt (2,3) notitle, \
     'levels.dat' skip 1 using 1:2 with lines lc rgb 0xa0a0a0 lw 1 notitle, \
     'levels.dat' skip 1 using 1:2:($3*point_scale):4:5 with points pt variable ps variable lc rgb variable notitle, \
     'kernels.dat' skip 1 using 2:3:(($4+1.5)*point_scale) with points pt 7 ps variable lc rgb 0xffffff notitle, \
     'kernels.dat' skip 1 using 2:3:($4*point_scale):5:6 with points pt variable ps variable lc rgb variable lw 2 notitle, \
     'roof_labels.dat' skip 1 using 1:2:3:4:5 with labels right rotate variable tc rgb variable notitle, \
     'roof_labels_slanted.dat' skip 1 using 1:2:3:4:5 with labels left rotate variable tc rgb variable notitle, \
     'kernel_numbers.dat' skip 1 using 1:2:3:4 with labels center tc rgb variable notitle

# --- title, caption, key: a plane of pixels over the whole picture
unset logscale; unset grid; unset border; unset tics; unset xlabel; unset ylabel
set lmargin at screen 0; set rmargin at screen 1; set bmargin at screen 0; set tmargin at screen 1
set xrange [0:width]; set yrange [0:height]
set style textbox opaque noborder
plot 'title.dat' skip 1 using 1:2:3 with labels left font title_font tc rgb INK notitle, \
     'key_discs.dat' skip 1 using 1:2:($3*point_scale):4:5 with points pt variable ps variable lc rgb variable lw 2 notitle, \
     'key.dat' skip 1 using 1:2:3 with labels left tc rgb INK notitle, \
     'legend.dat' skip 1 using 1:2:3 with labels left font small_font tc rgb 0x444444 notitle, \
     'key_small.dat' skip 1 using 1:2:3 with labels left font small_font tc rgb 0x666666 notitle
unset multiplot

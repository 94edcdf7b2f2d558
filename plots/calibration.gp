# SPDX-License-Identifier: Apache-2.0
# A calibration: the measured roofline with the points of the sweep, and the share of theory of each
# ceiling. Redraw it by hand with: gnuplot calibration.gp
load 'settings.gp'
set encoding utf8
set datafile separator "\t"
set datafile commentschars ''
unset key
set tics nomirror
INK = 0x2b2b2b; GRID = 0xe4e4e4
set multiplot
set lmargin at screen 0.07; set rmargin at screen (bars > 0 ? 0.66 : 0.97)
set bmargin at screen 0.12; set tmargin at screen 0.92
set logscale xy
set xrange [x_min:x_max]; set yrange [y_min:y_max]
set border 3 lc rgb INK lw 1
set xtics 1e-12,10 nomirror format '%g' textcolor rgb INK scale 0.6,0.3
set ytics 1,10 nomirror format '%.0s %c' textcolor rgb INK scale 0.6,0.3
set mxtics 10; set mytics 10
set grid xtics ytics lc rgb GRID lw 0.7 dt solid back
set xlabel 'arithmetic intensity [FLOP per DRAM byte]' textcolor rgb INK offset 0,0.5
set ylabel 'performance [FLOP/s, OP/s]' textcolor rgb INK offset -0.3,0
plot 'roofs.dat' skip 1 using 1:2:3 with lines lc rgb variable lw 2.2 notitle, \
     'points.dat' skip 1 using 1:2 with points pt 7 ps 1.6*font_px*0.1*point_scale lc rgb INK notitle, \
     'roof_labels.dat' skip 1 using 1:2:3:4 with labels right font small_font tc rgb variable notitle
unset logscale; unset grid; unset ylabel; unset mxtics; unset mytics
if (bars > 0) {
    set lmargin at screen 0.70; set rmargin at screen 0.98
    set border 1 lc rgb INK lw 1
    unset ytics
    set xrange [0:share_max]; set yrange [0:bars]
    set xtics 0,0.25 nomirror format '%.2g' textcolor rgb INK scale 0.6
    set xlabel 'share of theory at the clock observed' textcolor rgb INK offset 0,0.5
    set style fill solid 1 noborder
    set arrow 1 from 1,0 to 1,bars nohead lc rgb INK lw 1 dt (4,4) front
    plot 'bars.dat' skip 1 using 1:2:3:4:5:6:7 with boxxyerror lc rgb variable notitle, \
         'bar_labels.dat' skip 1 using 1:2:3:4 with labels left font small_font tc rgb variable notitle
    unset arrow 1
}
unset border; unset tics; unset xlabel
set lmargin at screen 0; set rmargin at screen 1; set bmargin at screen 0; set tmargin at screen 1
set xrange [0:width]; set yrange [0:height]
plot 'title.dat' skip 1 using 1:2:3 with labels left font title_font tc rgb INK notitle, \
     'caption.dat' skip 1 using 1:2:3 with labels left font small_font tc rgb 0x666666 notitle
unset multiplot

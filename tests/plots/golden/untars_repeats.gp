# Eight untars of one tree, one after another
# Run beside its data: gnuplot untars_repeats.gp draws untars_repeats.png; gnuplot -e 'format="svg"' untars_repeats.gp, or "text", the others.
if (!exists("format")) format = "png"
if (format eq "png") {
  set terminal pngcairo noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "untars_repeats.png"
}
if (format eq "svg") {
  set terminal svg noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "untars_repeats.svg"
}
if (format eq "text") {
  set terminal dumb nofeed noenhanced mono size 72,26
  set output "untars_repeats.txt"
}
if (format ne "text") { set bmargin 5.4 }
set title (format eq "text") ? 'Eight untars of one tree, one after another'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s;'."\n".'memory.dirty_bytes = 500MB; 3 repeats' : 'Eight untars of one tree, one after another'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s; memory.dirty_bytes = 500MB; 3 repeats'
if (format ne "text") {
set xlabel "untar, in start order"
set xrange [0.4:8.6]
set xtics 1,1 nomirror
set ytics nomirror
set yrange [0:*]
set y2range [0:105]
set y2tics 0,20,100
set ylabel "elapsed (s)"
set y2label "CPU (% of one core)"
set grid ytics lt 1 lw 0.5 lc rgb "#CCCCCC"
set key outside bottom center horizontal
set boxwidth 0.6
set style fill solid 0.45 border lc rgb "#000000"
plot "untars.dat" using 1:2 axes x1y1 with boxes lc rgb "#0072B2" title "elapsed (left axis)", \
     "" using 1:3:(0):($4-$3) axes x1y1 with vectors nohead lw 2 lc rgb "#000000" notitle, \
     "" using 1:5 axes x1y2 with linespoints lw 2 pt 7 ps 1.3 lc rgb "#D55E00" title "CPU (right axis)", \
     "" using 1:6:(0):($7-$6) axes x1y2 with vectors nohead lw 4 lc rgb "#D55E00" notitle
} else {
set xlabel "untar, in start order"
set xrange [0.4:8.6]
set xtics 1,1 nomirror
set ytics nomirror
set yrange [0:*]
set y2range [0:105]
set y2tics 0,20,100
set ylabel "s"
set y2label "%"
set key outside bottom center horizontal
set boxwidth 0.5
plot "untars.dat" using 1:2 axes x1y1 with boxes title "elapsed (s, left)", \
     "" using 1:5 axes x1y2 with points pt 1 title "CPU (%, right)"
}

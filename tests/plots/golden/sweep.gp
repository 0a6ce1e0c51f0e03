# Eight untars: when the last one ends
# Run beside its data: gnuplot sweep.gp draws sweep.png; gnuplot -e 'format="svg"' sweep.gp, or "text", the others.
if (!exists("format")) format = "png"
if (format eq "png") {
  set terminal pngcairo noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "sweep.png"
}
if (format eq "svg") {
  set terminal svg noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "sweep.svg"
}
if (format eq "text") {
  set terminal dumb nofeed noenhanced mono size 72,26
  set output "sweep.txt"
}
if (format ne "text") { set bmargin 5.4 }
set title (format eq "text") ? 'Eight untars: when the last one ends'."\n".'Predicted by the simulated box, Linux 6.18' : 'Eight untars: when the last one ends'."\n".'Predicted by the simulated box, Linux 6.18'
if (format ne "text") {
set xlabel 'memory.dirty_bytes (MB)'
set ylabel 'untars end (s)'
set yrange [0:26.3574]
set logscale x 2
set xrange [108.6957:1150]
set xtics ('125MB' 125, '250MB' 250, '500MB' 500, '1000MB' 1000)
set grid ytics lt 1 lw 0.5 lc rgb "#CCCCCC"
set key outside bottom center horizontal
plot "sweep1.dat" using 1:2 with linespoints lw 2 dt 1 pt 7 ps 1.2 lc rgb "#0072B2" title 'replay.writers 1', \
     "sweep1.dat" using 1:3:(0):($4-$3) with vectors nohead lw 1.5 lc rgb "#0072B2" notitle, \
     "sweep2.dat" using 1:2 with linespoints lw 2 dt (8,4) pt 5 ps 1.2 lc rgb "#D55E00" title 'replay.writers 2', \
     "sweep2.dat" using 1:3:(0):($4-$3) with vectors nohead lw 1.5 lc rgb "#D55E00" notitle, \
     "sweep3.dat" using 1:2 with linespoints lw 2 dt (3,3) pt 9 ps 1.2 lc rgb "#009E73" title 'replay.writers 4', \
     "sweep3.dat" using 1:3:(0):($4-$3) with vectors nohead lw 1.5 lc rgb "#009E73" notitle
} else {
set xlabel 'memory.dirty_bytes (MB)'
set ylabel 'untars end (s)'
set yrange [0:26.3574]
set logscale x 2
set xrange [108.6957:1150]
set xtics ('125MB' 125, '250MB' 250, '500MB' 500, '1000MB' 1000)
set key outside bottom center horizontal
plot "sweep1.dat" using 1:2 with linespoints lt 1 title 'replay.writers 1', \
     "sweep2.dat" using 1:2 with linespoints lt 2 title 'replay.writers 2', \
     "sweep3.dat" using 1:2 with linespoints lt 3 title 'replay.writers 4'
}

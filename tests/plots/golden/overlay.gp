# Predicted over measured: when each untar ends
# Run beside its data: gnuplot overlay.gp draws overlay.png; gnuplot -e 'format="svg"' overlay.gp, or "text", the others.
if (!exists("format")) format = "png"
if (format eq "png") {
  set terminal pngcairo noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "overlay.png"
}
if (format eq "svg") {
  set terminal svg noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "overlay.svg"
}
if (format eq "text") {
  set terminal dumb nofeed noenhanced mono size 72,26
  set output "overlay.txt"
}
if (format ne "text") { set bmargin 6.8 }
set title (format eq "text") ? 'Predicted over measured: when each untar ends'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s;'."\n".'memory.dirty_bytes = 500MB; 3 repeats' : 'Predicted over measured: when each untar ends'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s; memory.dirty_bytes = 500MB; 3 repeats'
if (format ne "text") {
set xlabel "untar, in start order"
set xrange [0.6:8.4]
set xtics 1,1
set yrange [0:*]
set ylabel "finished after (s)"
set grid ytics lt 1 lw 0.5 lc rgb "#CCCCCC"
set key outside bottom center horizontal maxrows 2
plot "overlay.dat" using 1:3:4 with filledcurves fs solid 0.3 noborder lc rgb "#56B4E9" title "measured, least to greatest", \
     "" using 1:2 with linespoints lw 2 pt 7 lc rgb "#0072B2" title "measured, median", \
     "" using 1:5 with linespoints lw 2 dt (8,4) pt 4 ps 1.6 lc rgb "#D55E00" title "predicted by the simulated box", \
     "" using 1:6 with linespoints lw 1.5 dt (2,4) pt 2 lc rgb "#000000" title "null model"
} else {
set xlabel "untar, in start order"
set xrange [0.6:8.4]
set xtics 1,1
set yrange [0:*]
set ylabel "s"
set key outside bottom center horizontal maxrows 2
plot "overlay.dat" using 1:2 with lines lt 1 title "measured", \
     "" using 1:5 with points pt 1 title "predicted", \
     "" using 1:6 with points pt 2 title "null model"
}

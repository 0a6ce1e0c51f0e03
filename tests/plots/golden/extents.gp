# Extents of a file: 1.13 in the mean
# Run beside its data: gnuplot extents.gp draws extents.png; gnuplot -e 'format="svg"' extents.gp, or "text", the others.
if (!exists("format")) format = "png"
if (format eq "png") {
  set terminal pngcairo noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "extents.png"
}
if (format eq "svg") {
  set terminal svg noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "extents.svg"
}
if (format eq "text") {
  set terminal dumb nofeed noenhanced mono size 72,26
  set output "extents.txt"
}
if (format ne "text") { set bmargin 4 }
set title (format eq "text") ? 'Extents of a file: 1.13 in the mean'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s;'."\n".'memory.dirty_bytes = 500MB' : 'Extents of a file: 1.13 in the mean'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s; memory.dirty_bytes = 500MB'
set xlabel 'extents'
set ylabel 'files (count)'
set yrange [0:1265]
unset key
set xtics nomirror scale 0
set grid ytics lt 1 lw 0.5 lc rgb "#CCCCCC"
set boxwidth 0.65
set style fill solid 0.5 border lc rgb "#000000"
set offsets 0.6, 0.6, 0, 0
plot "extents.dat" using 0:2:xtic(1) with boxes lc rgb "#0072B2", \
     "" using 0:2:($2 >= 1000 ? sprintf("%.0f", $2) : sprintf("%.3g", $2)) with labels offset 0,0.7

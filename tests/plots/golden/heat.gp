# Eight untars: when the last one ends
# Run beside its data: gnuplot heat.gp draws heat.png; gnuplot -e 'format="svg"' heat.gp, or "text", the others.
if (!exists("format")) format = "png"
if (format eq "png") {
  set terminal pngcairo noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "heat.png"
}
if (format eq "svg") {
  set terminal svg noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "heat.svg"
}
if (format eq "text") {
  set terminal dumb nofeed noenhanced mono size 72,26
  set output "heat.txt"
}
if (format ne "text") { set bmargin 4 }
set title (format eq "text") ? 'Eight untars: when the last one ends'."\n".'Predicted by the simulated box, Linux 6.18' : 'Eight untars: when the last one ends'."\n".'Predicted by the simulated box, Linux 6.18'
set xlabel 'memory.dirty_bytes (MB)'
set ylabel 'replay.writers'
set cblabel 'untars end (s)' offset 2,0
set xtics ('125MB' 0, '250MB' 1, '500MB' 2, '1000MB' 3) nomirror scale 0
set ytics ('1' 0, '2' 1, '4' 2) nomirror scale 0
set xrange [-0.5:3.5]
set yrange [-0.5:2.5]
unset key
set rmargin 14
set palette defined (0 "#00224E", 0.25 "#434E6C", 0.5 "#7D7C78", 0.75 "#BCAF6F", 1 "#FEE838")
plot "heat.dat" using 1:2:3 with image pixels, \
     "" using 1:2:($3 >= 14.52597 ? sprintf("%.3g", $3) : "") with labels textcolor rgb "#000000", \
     "" using 1:2:($3 < 14.52597 ? sprintf("%.3g", $3) : "") with labels textcolor rgb "#FFFFFF"

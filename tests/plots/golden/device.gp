# Where the device's time went, from the first untar to durable
# Run beside its data: gnuplot device.gp draws device.png; gnuplot -e 'format="svg"' device.gp, or "text", the others.
if (!exists("format")) format = "png"
if (format eq "png") {
  set terminal pngcairo noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "device.png"
}
if (format eq "svg") {
  set terminal svg noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "device.svg"
}
if (format eq "text") {
  set terminal dumb nofeed noenhanced mono size 72,26
  set output "device.txt"
}
if (format ne "text") { set bmargin 4 }
set title (format eq "text") ? 'Where the device''s time went, from the first untar to durable'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s;'."\n".'memory.dirty_bytes = 500MB' : 'Where the device''s time went, from the first untar to durable'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s; memory.dirty_bytes = 500MB'
set xlabel 'what the device did'
set ylabel 'share of its time (%)'
set yrange [0:48.3]
unset key
set xtics nomirror scale 0
set grid ytics lt 1 lw 0.5 lc rgb "#CCCCCC"
set boxwidth 0.65
set style fill solid 0.5 border lc rgb "#000000"
set offsets 0.6, 0.6, 0, 0
plot "device.dat" using 0:2:xtic(1) with boxes lc rgb "#0072B2", \
     "" using 0:2:($2 >= 1000 ? sprintf("%.0f", $2) : sprintf("%.3g", $2)) with labels offset 0,0.7

# Where the time went, over time: Eight untars of one tree, one after another
# Run beside its data: gnuplot account_time.gp draws account_time.png; gnuplot -e 'format="svg"' account_time.gp, or "text", the others.
if (!exists("format")) format = "png"
if (format eq "png") {
  set terminal pngcairo noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "account_time.png"
}
if (format eq "svg") {
  set terminal svg noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "account_time.svg"
}
if (format eq "text") {
  set terminal dumb nofeed noenhanced mono size 72,26
  set output "account_time.txt"
}
if (format ne "text") { set bmargin 6.8 }
set title (format eq "text") ? 'Where the time went, over time: Eight untars of one tree, one after'."\n".'another'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s;'."\n".'memory.dirty_bytes = 500MB' : 'Where the time went, over time: Eight untars of one tree, one after another'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s; memory.dirty_bytes = 500MB'
set xlabel "time since the first untar began (s)"
set ylabel "untars' time in each 0.5 s (s)"
set yrange [0:*]
set grid ytics lt 1 lw 0.5 lc rgb "#CCCCCC"
set key outside bottom center horizontal maxrows 2
set style data histograms
set style histogram rowstacked
set boxwidth 1
set xtics nomirror
plot "account_time.dat" using 2:xtic(int(column(0)) % 2 == 0 ? strcol(1) : "") fs pattern 3 border lc rgb "#000000" lc rgb "#0072B2" title "system", \
     "" using 3 fs pattern 4 border lc rgb "#000000" lc rgb "#D55E00" title "throttled", \
     "" using 4 fs pattern 5 border lc rgb "#000000" lc rgb "#009E73" title "device", \
     "" using 5 fs pattern 0 border lc rgb "#000000" lc rgb "#000000" title "unknown"

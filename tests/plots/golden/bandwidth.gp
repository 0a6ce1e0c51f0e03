# What the kernel thinks the device writes, and what it writes
# Run beside its data: gnuplot bandwidth.gp draws bandwidth.png; gnuplot -e 'format="svg"' bandwidth.gp, or "text", the others.
if (!exists("format")) format = "png"
if (format eq "png") {
  set terminal pngcairo noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "bandwidth.png"
}
if (format eq "svg") {
  set terminal svg noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "bandwidth.svg"
}
if (format eq "text") {
  set terminal dumb nofeed noenhanced mono size 72,26
  set output "bandwidth.txt"
}
if (format ne "text") { set bmargin 5.4 }
set title (format eq "text") ? 'What the kernel thinks the device writes, and what it writes'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s;'."\n".'memory.dirty_bytes = 500MB' : 'What the kernel thinks the device writes, and what it writes'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s; memory.dirty_bytes = 500MB'
if (format ne "text") {
set xlabel "time since the first untar began (s)"
set yrange [0:115.28]
set xrange [0:*]
set ylabel "MB/s"
set grid ytics lt 1 lw 0.5 lc rgb "#CCCCCC"
set key outside bottom center horizontal
plot "bandwidth.dat" using 1:3 with lines lw 2.5 lc rgb "#000000" title "written by the device (mean of 1 s)", \
     "" using 1:2 with lines lw 2 dt (8,4) lc rgb "#D55E00" title "the kernel's estimate"
} else {
set xlabel "time since the first untar began (s)"
set yrange [0:115.28]
set xrange [0:*]
set ylabel "MB/s"
set key outside bottom center horizontal
plot "bandwidth.dat" using 1:3 with lines lt 1 title "written", \
     "" using 1:2 with lines lt 2 title "estimated"
}

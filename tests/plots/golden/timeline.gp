# Eight untars of one tree, one after another
# Run beside its data: gnuplot timeline.gp draws timeline.png; gnuplot -e 'format="svg"' timeline.gp, or "text", the others.
if (!exists("format")) format = "png"
if (format eq "png") {
  set terminal pngcairo noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "timeline.png"
}
if (format eq "svg") {
  set terminal svg noenhanced size 1000,600 font "DejaVu Sans,11" background "#FFFFFF"
  set output "timeline.svg"
}
if (format eq "text") {
  set terminal dumb nofeed noenhanced mono size 72,26
  set output "timeline.txt"
}
if (format ne "text") { set bmargin 8.2 }
set title (format eq "text") ? 'Eight untars of one tree, one after another'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s;'."\n".'memory.dirty_bytes = 500MB' : 'Eight untars of one tree, one after another'."\n".'Measured on the real box, Linux 6.18.44; loop over loop, 40 MiB/s; memory.dirty_bytes = 500MB'
if (format ne "text") {
set xlabel "time since the first untar began (s)"
set xrange [0:29.43]
set yrange [0:559.9986]
set arrow from first 0, graph 0 to first 0, graph 1 nohead back lc rgb "#999999" dt (2,3)
set arrow from first 0.18, graph 0 to first 0.18, graph 1 nohead back lc rgb "#999999" dt (2,3)
set arrow from first 0.34, graph 0 to first 0.34, graph 1 nohead back lc rgb "#999999" dt (2,3)
set arrow from first 1.65, graph 0 to first 1.65, graph 1 nohead back lc rgb "#999999" dt (2,3)
set arrow from first 3.58, graph 0 to first 3.58, graph 1 nohead back lc rgb "#999999" dt (2,3)
set arrow from first 6.92, graph 0 to first 6.92, graph 1 nohead back lc rgb "#999999" dt (2,3)
set arrow from first 10.63, graph 0 to first 10.63, graph 1 nohead back lc rgb "#999999" dt (2,3)
set arrow from first 14.36, graph 0 to first 14.36, graph 1 nohead back lc rgb "#999999" dt (2,3)
set arrow from first 18.03, graph 0 to first 18.03, graph 1 nohead back lc rgb "#999999" dt (2,3)
set label '1-3' at first 0, graph 1 left offset 0.3,-0.7 font ",9"
set label '4' at first 1.65, graph 1 left offset 0.3,-0.7 font ",9"
set label '5' at first 3.58, graph 1 left offset 0.3,-0.7 font ",9"
set label '6' at first 6.92, graph 1 left offset 0.3,-0.7 font ",9"
set label '7' at first 10.63, graph 1 left offset 0.3,-0.7 font ",9"
set label '8' at first 14.36, graph 1 left offset 0.3,-0.7 font ",9"
set label 'sync' at first 18.03, graph 1 left offset 0.3,-0.7 font ",9"
set ylabel "MB"
set grid ytics lt 1 lw 0.5 lc rgb "#DDDDDD"
set key outside bottom center horizontal maxrows 3
plot "timeline.dat" using 1:4 with lines lw 2.5 lc rgb "#000000" title "dirty + writeback", \
     "" using 1:2 with lines lw 1.5 dt (8,3) lc rgb "#0072B2" title "dirty", \
     "" using 1:3 with lines lw 1.5 dt (3,2) lc rgb "#E69F00" title "under writeback", \
     "" using 1:7 with lines lw 2 dt (12,4) lc rgb "#D55E00" title "limit", \
     "" using 1:6 with lines lw 2 dt (12,4,3,4) lc rgb "#009E73" title "freerun ends (throttling begins)", \
     "" using 1:5 with lines lw 2 dt (2,4) lc rgb "#56B4E9" title "background (flusher begins)"
} else {
set xlabel "time since the first untar began (s)"
set xrange [0:29.43]
set yrange [0:624.9984]
set label '|1-4' at first 0, graph 1 left offset 0,-1
set label '|5' at first 3.58, graph 1 left offset 0,-1
set label '|6' at first 6.92, graph 1 left offset 0,-1
set label '|7' at first 10.63, graph 1 left offset 0,-1
set label '|8' at first 14.36, graph 1 left offset 0,-1
set label '|sync' at first 18.03, graph 1 left offset 0,-1
set ylabel "MB"
set key outside bottom center horizontal maxrows 3
plot "timeline.dat" using 1:4 with lines lt 1 title "dirty + writeback", \
     "" using 1:3 with lines lt 2 title "under writeback", \
     "" using 1:7 with lines lt 3 title "limit", \
     "" using 1:6 with lines lt 4 title "freerun", \
     "" using 1:5 with lines lt 5 title "background"
}

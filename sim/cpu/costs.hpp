#pragma once
/// What the kernel's paths cost in CPU time on one box. A profile replaces any of them; the defaults describe no machine
/// in particular. Source marks: cited (fact sheet, section 7), measured (which run), assumed.

#include "sim/units.hpp"

namespace spillway::sim {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

struct CpuCosts {
  // -- a program that writes files -------------------------------------------------------------------------------
  /// Buffered write of one fresh 4 KiB page by a large write(2), copy included. cited: 0.65 us at 64 KiB calls.
  Duration write_page = nanoseconds{650};
  /// Reading one cached 4 KiB page with read(2), copy included. assumed: a pure copy, 0.4 us.
  Duration read_page = nanoseconds{400};
  /// One system call of a read or write: entry, checks, folio look-up. assumed: 0.6 us (2 to 5 us for whole 4 KiB calls).
  Duration io_call = nanoseconds{600};
  /// Creating, stamping and closing one empty file, kernel side. cited: 10 to 25 us with closing.
  Duration create_file = microseconds{20};
  /// The extra transaction when a file that was written is closed (trimming what lies past its end). assumed.
  Duration close_written = microseconds{5};
  Duration unlink_file = microseconds{20};      ///< cited: 36 us of wall time with the inactivation's share.
  Duration make_directory = microseconds{30};   ///< assumed
  /// The program's own work for each file (parsing a header, printing a name). assumed.
  Duration user_per_file = microseconds{2};
  /// Starting and ending a process: fork, exec, exit. assumed: 1 ms, a fifth of it in user mode.
  Duration process = microseconds{1000};
  /// Between the end of one untar and the start of the next in its lane: whoever starts them waits, notes and forks.
  /// measured: 2 ms in the reference runs.
  Duration between_untars = microseconds{2000};

  // -- memory ------------------------------------------------------------------------------------------------------
  /// First touch of one anonymous page. assumed: 0.25 us clearing plus 0.35 us fault.
  Duration page_fault = nanoseconds{600};
  /// One pass of balance_dirty_pages that does not sleep. cited: 1 to 2 us.
  Duration balance_dirty = nanoseconds{1500};
  /// Taking up work again after a sleep of milliseconds: wake-up, idle exit, cold caches. assumed; on a virtual machine
  /// far above a bare context switch.
  Duration wake_after_sleep = microseconds{10};

  /// Returning one anonymous page to the system when the process ends. assumed.
  Duration free_page = nanoseconds{40};
  /// Bringing one page into the cache for a read from a device: allocation, look-up tables, I/O. assumed.
  Duration read_ahead_page = nanoseconds{300};
  /// kswapd, for each page that it frees. assumed.
  Duration reclaim_page = nanoseconds{200};
  /// On a box with several NUMA nodes, over the costs above and for each page: the copy's source is on another node, its
  /// destination is, a freshly faulted page is. assumed: about what remote memory costs at one and a half times the latency.
  Duration remote_source = nanoseconds{250};
  Duration remote_destination = nanoseconds{500};
  Duration remote_fault = nanoseconds{250};

  // -- scheduler ---------------------------------------------------------------------------------------------------
  Duration context_switch = microseconds{3};    ///< cited: 2 to 5 us.

  // -- flusher and completion ------------------------------------------------------------------------------------
  Duration flush_page = nanoseconds{400};       ///< page-cache walk, folio lock, bio building, per 4 KiB. assumed, large folios.
  Duration flush_inode = microseconds{2};       ///< list handling of one inode's visit. assumed.
  Duration allocate_extent = microseconds{8};   ///< delayed allocation turned into blocks. cited: 5 to 10 us.
  Duration submit_request = microseconds{3};    ///< one bio through the block layer. cited: 2 to 5 us.
  Duration complete_extent = microseconds{8};   ///< conversion transaction at completion. cited: 5 to 10 us.
  Duration complete_page = nanoseconds{100};    ///< ending writeback on one page. cited: 0.1 to 0.2 us per folio.
};

}  // namespace spillway::sim

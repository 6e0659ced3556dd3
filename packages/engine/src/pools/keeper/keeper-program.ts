/**
 * Freezes the writers of a pool before it is full. It outlives the agent that started it: workloads go on when an agent is
 * killed, and no other process would stop their writes. argv: the pool's folder, its type, and the levels `freeze` and
 * `resume`.
 *
 * What is frozen is the pool's own file system (FIFREEZE): every write of every loop device in it waits in the kernel,
 * whatever made it (a mounted file system, a pod or a bare process on a raw device) and none of them fails. Dirty pages
 * stay where they are and need no room. The sooner the pool could be full, the more often it reads, at most every 2 ms.
 * Before that it is frozen and lets the writers through step by step (see below): slower, and not past the level.
 *
 * Two processes: one works under flock(2) on `keeper.lock`, the other waits for that lock. When the worker is killed
 * the kernel gives the lock to the other, which reads the pool as it is and starts a new second one.
 *
 * `keeper.state` has STATE PID FREE. It is overwritten in place, which works on a full disk, and its absence ends the
 * keeper. A lock on `keeper.window` asks for work that makes room, which waits in the kernel like the writers: then the pool
 * is thawed and frozen again at once, step after step, so that each that waits goes one step further: of the writers one
 * request per loop device, however much they have in memory. The ballast goes first. When the pool's file has become larger,
 * the keeper itself grows the file system. An agent that was killed in the middle of such work gets the steps that it ends with.
 *
 * Perl, because it has ioctl(2) and every Debian has it.
 */
export const KEEPER_PROGRAM: string = String.raw`
use strict;
use Fcntl qw(:flock :DEFAULT);
use Time::HiRes qw(sleep time);
my ($folder, $type, $freeze, $resume) = @ARGV;
my ($mount, $status, $ballast) = ("$folder/mnt", "$folder/keeper.state", "$folder/mnt/ballast");
$0 = "mooring-pool-keeper $folder";
$SIG{$_} = 'IGNORE' for qw(HUP INT TERM QUIT PIPE);
$SIG{USR1} = sub {};
my $machine = qx(uname -m);
my %numbers = (x86_64 => [137, 144, 151], aarch64 => [43, 119, 230], riscv64 => [43, 119, 230]);
chomp $machine;
# Of statfs, sched_setscheduler and mlockall.
my ($STATFS, $SCHEDULE, $LOCK) = @{ $numbers{$machine} // [] };

# Its turn comes at once, and its memory is there, however busy the machine is.
sub go_first {
  setpriority(0, 0, -20);
  return if !$STATFS;
  my $priority = pack('i', 1);
  syscall($SCHEDULE, 0, 1, $priority);
  syscall($LOCK, 3);
}

# Free and all bytes of the file system at a path, and its inodes' file system.
sub room {
  my ($path) = @_;
  if ($STATFS) {
    my $buffer = "\0" x 256;
    syscall($STATFS, $path, $buffer) == 0 or return;
    my (undef, $size, $blocks, $free, $available) = unpack('q5', $buffer);
    return ($available * $size, $blocks * $size);
  }
  my ($size, $blocks, $available) = split / /, qx(stat -f -c '%S %b %a' -- "$path");
  return ($available * $size, $blocks * $size);
}

my ($lock, $window, $root, $frozen);

# btrfs counts what has been written only when it commits, half a minute later. What it has set aside it reports at once.
my $uuid;
sub number { my ($path) = @_; open(my $f, '<', $path) or return 0; my $line = <$f> // 0; $line + 0 }
sub btrfs_room {
  my ($total) = @_;
  my $base = "/sys/fs/btrfs/$uuid/allocation";
  my ($allocated, %left) = (0);
  for my $kind (qw(data metadata system)) {
    $allocated += number("$base/$kind/disk_total");
    $left{$kind} = number("$base/$kind/total_bytes");
    $left{$kind} -= number("$base/$kind/$_") for qw(bytes_used bytes_reserved bytes_may_use bytes_pinned bytes_readonly);
  }
  my $unallocated = $total - $allocated;
  $unallocated = 0 if $unallocated < 0;
  # Without room for metadata the whole file system stops for good.
  return 0 if $left{metadata} < 8 * 1048576 && $unallocated < 64 * 1048576;
  return $unallocated + ($left{data} > 0 ? $left{data} : 0);
}

sub free {
  my ($inside, $total) = room($mount);
  defined $inside or return;
  if ($type eq 'btrfs') { $inside = btrfs_room($total) }
  # A frozen XFS also counts the blocks that it keeps for itself.
  elsif ($frozen) { my $own = $total / 20; $inside -= $own < 33554432 ? $own : 33554432 }
  # The sparse file of the pool needs room below, as far as it is not there yet.
  my @file = stat("$folder/pool.img");
  my $missing = @file ? $file[7] - $file[12] * 512 : 0;
  if ($missing > 0) {
    my ($below) = room($folder);
    $inside = $below if defined $below && $below < $missing && $below < $inside;
  }
  return $inside > 0 ? $inside : 0;
}

# There is more in the pool's file than in its file system: growing ends a lack of room for good.
sub grown {
  my @file = stat("$folder/pool.img");
  my (undef, $total) = room($mount);
  return @file && defined $total && $file[7] - $total > 134217728 + $total / 16;
}

# The kernel hurries while this is set. Where it was not, a keeper that is killed meanwhile has the next one take it back:
# that is noted once, since a write to a busy disk may wait just when it must not.
my ($expedited, $noted, $ours) = ('/sys/kernel/rcu_expedited', "$folder/keeper.rcu", 0);
sub put { my ($path, $text) = @_; sysopen(my $f, $path, O_WRONLY) or return 0; syswrite($f, $text) }
sub hurry { $ours = !number($expedited) && put($expedited, 1) }
sub hurry_no_more { put($expedited, 0) if $ours; $ours = 0 }
sub take_back {
  open(my $f, '<', $noted) or return;
  if ((<$f> // '') eq '0') { put($expedited, 0) if number($expedited) }
  elsif (!number($expedited)) { put($noted, '0') }
}

# Work of our own that waits in the kernel until the next step.
my ($grower, $given);
sub start {
  my ($work) = @_;
  my $child = fork();
  return if !defined $child;
  if ($child == 0) {
    # The locks are its parent's: a killed keeper's must be free for the next.
    close $_ for grep { $_ } $lock, $window, $root;
    open(STDOUT, '>', '/dev/null');
    open(STDERR, '>', '/dev/null');
    $work->();
    exit 1;
  }
  settled($child, 1000);
  return $child;
}
# It waits in the kernel, or has ended.
sub settled {
  my ($child, $times) = @_;
  for (1 .. $times) {
    open(my $f, '<', "/proc/$child/stat") or return 1;
    return 1 if (<$f> // '') =~ /\) [DZ] /;
    sleep 0.002;
  }
  return 0;
}
sub start_growing {
  my @command = $type eq 'xfs' ? ('xfs_growfs', '-d', $mount) : ('btrfs', 'filesystem', 'resize', 'max', $mount);
  return start(sub { exec @command });
}

my $device = 0;
# Never anything but the pool: what is opened is checked before it is frozen, and cannot be unmounted meanwhile.
sub open_root {
  return 1 if $root;
  sysopen($root, $mount, O_RDONLY | O_DIRECTORY) or return 0;
  my @info = stat($root);
  return 1 if $info[0] == $device;
  close $root;
  undef $root;
  return 0;
}
my ($FREEZE, $THAW) = (0xC0045877, 0xC0045878);
sub control { my ($what) = @_; my $nothing = pack('i', 0); ioctl($root, $what, $nothing) }
sub freeze {
  open_root() or return 0;
  # Writers pass until every processor has taken notice, which takes a busy machine 100 ms, or 1 ms with this.
  hurry();
  # Busy: an earlier keeper has done it.
  my $done = control($FREEZE) || $!{EBUSY};
  hurry_no_more();
  if (!$done) { close $root; undef $root; return 0 }
  $frozen = 1;
}
sub thaw {
  open_root() or return;
  control($THAW);
  close $root;
  undef $root;
  $frozen = 0;
}
# Thawing wakes all that wait, and each of them is counted as inside by then: freezing at once waits until they have done what they
# waited for, and lets no other writer in. So a removal goes through whole, and each loop device writes one more request.
sub step {
  control($THAW);
  control($FREEZE) || $!{EBUSY} || freeze() and return 1;
  $frozen = 0;
}

my $reported = '';
sub report_state {
  my ($state, $free) = @_;
  return if $state eq $reported;
  sysopen(my $file, $status, O_WRONLY) or return;
  syswrite($file, sprintf("%-63s\n", "$state $$ " . int($free)));
  $reported = $state;
}

open($lock, '>>', "$folder/keeper.lock") or exit 1;
flock($lock, LOCK_EX | LOCK_NB) or exit 0;
open($window, '>>', "$folder/keeper.window") or exit 1;
go_first();
sub wanted { flock($window, LOCK_EX | LOCK_NB) or return 1; flock($window, LOCK_UN); 0 }

# An agent that was killed in the middle of work in the pool does not end before that is through, and no other begins before
# it has ended. Its number is in the pool's lock; its first thread ends at once, the one that waits does not.
my ($dying, $looked) = (0, 0);
sub dying {
  return 0 if !$dying && time - $looked < 0.5;
  ($dying, $looked) = (0, time);
  open(my $f, '<', "$folder/lock") or return 0;
  my ($pid) = (<$f> // '') =~ /^(\d+)$/ or return 0;
  open($f, '<', "/proc/$pid/stat") or return 0;
  return 0 if (<$f> // '') !~ /\) Z /;
  for my $task (glob "/proc/$pid/task/*/stat") {
    open($f, '<', $task) or next;
    return $dying = 1 if (<$f> // '') =~ /\) D /;
  }
  return 0;
}

my $second;
sub start_second {
  $second = fork();
  return if !defined $second || $second != 0;
  undef $second;
  close $lock;
  close $root if $root;
  undef $root;
  open($lock, '>>', "$folder/keeper.lock") or exit 1;
  flock($lock, LOCK_EX) or exit 1;
  # Memory is not locked in a child.
  go_first();
  close $window;
  open($window, '>>', "$folder/keeper.window") or exit 1;
  ($device, $uuid, $frozen, $reported) = (0, undef, 0, '');
}
sub leave { thaw() if $frozen; kill 'KILL', $second if $second; exit 0 }

# What one step may take: a request of each loop device whose file is in the pool, and what the file system adds.
my ($need, $counted) = (0, 0);
sub need {
  return $need if time - $counted < 1;
  my $devices = 0;
  for my $path (glob '/sys/block/loop*/loop/backing_file') {
    open(my $f, '<', $path) or next;
    $devices++ if index(<$f> // '', "$mount/") == 0;
  }
  ($need, $counted) = (4194304 + $devices * 2621440, time);
  return $need;
}

sub begin {
  take_back();
  my @info = stat($mount) or leave();
  my @outside = stat($folder);
  leave() if $info[0] == $outside[0];
  $device = $info[0];
  if ($type eq 'btrfs') {
    my $buffer = "\0" x 1024;
    sysopen(my $f, $mount, O_RDONLY | O_DIRECTORY) or exit 1;
    ioctl($f, 0x8400941F, $buffer) or exit 1;
    $uuid = join '-', unpack('H8H4H4H4H12', substr($buffer, 16, 16));
  }
}

my ($before, $then, $peak, $state, $grow_next) = (undef, time, 0, 'open', 0);
# Steps since the agent began to ask for them, and seconds between two.
my ($steps, $between) = (0, 0);
# Reads in a row that found the same room, and what there was when it was thawed for that.
my ($still, $last, $calm) = (0, 0, undef);
while (1) {
  waitpid($second, 1) if $second;
  if (!$second || !kill(0, $second)) {
    my $me = $$;
    start_second();
    ($before, $state) = (undef, 'open') if $$ != $me;
  }
  begin() if !$device;
  -e $status or leave();
  my @info = stat($mount);
  my @outside = stat($folder);
  leave() if !@info || $info[0] == $outside[0];
  exit 0 if $info[0] != $device;
  my $free = free();
  defined $free or leave();

  # How fast it has filled lately: what may still come between the read and the end of the freeze.
  my $now = time;
  if ($now > $then) {
    $peak *= exp(($then - $now) / 5);
    if (defined $before && $state eq 'open') {
      my $is = ($before - $free) / ($now - $then);
      $peak = $is if $is > $peak;
      $peak = 4e9 if $peak > 4e9;
    }
  }
  ($before, $then) = ($free, $now);
  if ($reported eq '' && $state eq 'open') {
    # An earlier keeper may have left it frozen, and a frozen one reports more room than it has.
    if ($free - 33554432 <= 2 * $freeze && freeze()) { ($state, $still) = ('slow', 0); $free = free() // $free }
    else { thaw() }
  }
  my $level = $freeze + ($peak * 0.06 > $freeze ? $freeze : $peak * 0.06 < $freeze / 4 ? $freeze / 4 : $peak * 0.06);

  if ($state eq 'open') {
    if ($free <= $freeze || ($free <= $level && (!defined $calm || $free < $calm - 4194304))) {
      $state = $free <= $freeze ? 'held' : 'slow' if freeze();
      ($steps, $still, undef $calm) = (0, 0);
    }
  } elsif ($state eq 'slow') {
    # Step after step, so that nothing can be written past the level; but not where what is written takes no room.
    $still = $free == $last ? $still + 1 : 0;
    if ($free <= $freeze) { $state = 'held' }
    elsif ($free > $level + $freeze / 8) { thaw(); ($state, $before) = ('open', undef) }
    elsif ($still > 20) { thaw(); ($state, $before, $calm) = ('open', undef, $free) }
    else { $state = 'open' if !step() }
  } else {
    undef $grower if $grower && waitpid($grower, 1) != 0;
    undef $given if $given && waitpid($given, 1) != 0;
    my $asked = $grower || wanted() || dying();
    if ($free >= $resume) { ($state, $still) = ('slow', 0) }
    elsif (!$grower && grown() && $now >= $grow_next) {
      $grow_next = $now + 1;
      ($grower, $state, $steps) = (start_growing(), 'window', 0);
    } elsif (!$asked) { ($state, $steps) = ('held', 0) }
    elsif (!-e $ballast && $free < need() && !$grower) { $state = 'stuck' }
    else {
      # The longer it takes, the less it may be us that it waits for.
      $between = $steps < 10 ? 0.005 : $between < 0.5 ? $between * 1.5 : 0.5;
      $given = start(sub { unlink $ballast; exit 0 }) if !$given && -e $ballast && $free < $freeze * 0.75;
      settled($grower, 25) if $grower;
      $state = step() ? 'window' : 'open';
      $steps++;
    }
  }
  $last = $free;
  report_state($state eq 'slow' ? 'open' : $state, $free);
  if ($state eq 'open') {
    my $wait = ($free - $freeze) / 20e9;
    sleep($wait < 0.002 ? 0.002 : $wait > 1 ? 1 : $wait);
  } elsif ($state eq 'slow') { sleep 0.003 }
  elsif ($state eq 'window') { sleep $between }
  else { sleep 0.02 }
}
`;

/**
 * Starts monitors of containers, one for each order on its standard input, and reports on standard output what becomes of
 * them: `opened 3 4711` (order, process id), `begun 3`, `ended 3`, `failed 3 why`. It is there before it is needed and forks a
 * few MB, so that a container's start waits neither for a fork of Mooring nor for a program to be loaded. Ends with its
 * input; monitors live on.
 *
 * A monitor waits for the order to begin, and does nothing when that is dropped, or when this program ends before: so it is
 * made while the pod's volumes are still on their way, with the process that becomes runc. What takes time of that are their
 * control groups: the kernel lets a process change groups only after all processors have passed a point of rest, some ten
 * milliseconds. Another one that comes within that time waits for the same point. runc moves the container's first process, too: the
 * monitor, which has nothing else to do then, changes once more into the group that it is in as runc begins, so that runc meets a wait
 * that is nearly over.
 *
 * A monitor stays with a container from its start to its end, and writes both down in the status file: `{"child-pid": 7}` and
 * `{"exit-code": 0}`, or `{"failed": 1}` when runc could not start it. Before that it puts itself into a control group and
 * writes down who it is. So there is no moment in which a process of the container runs that cannot be found again: not
 * even when Mooring is killed right after the order.
 *
 * An order may be carried out late, on a busy machine: the next Mooring has then given up this start, and may have begun
 * it anew with the same names. So its files are opened through the process that has given the order, which has to be
 * alive for that, and the status file has to be the one in the folder still.
 *
 * runc leaves as soon as the container runs; the process that is its nearest subreaper gets the container's first process
 * as a child, and so its end. Everything that a supervisor in another language would need some ten megabytes for, perl does
 * in a few. How a monitor ends is seen by a pipe that it alone keeps open: no signal that could come between two system
 * calls.
 *
 * Arguments: the numbers of prctl and setsid, and the process id of Mooring. An order is `make`, its number and the
 * {@link MonitorOrder}'s values in order, with NUL between them, and NUL and a line feed behind them; then `begin` or `drop`
 * and its number. Signals that are sent round end neither; handlers, unlike "ignore", are not inherited by runc.
 */
export const LAUNCHER_PROGRAM = String.raw`
use strict;
my ($PRCTL, $SETSID, $MOORING) = @ARGV;
$SIG{$_} = sub {} for qw(HUP INT TERM PIPE);

# The container may have ended before runc is seen to: whose end comes first is kept.
my %ends;
sub end_of {
  my ($wanted) = @_;
  until (exists $ends{$wanted}) {
    my $pid = wait();
    if ($pid > 0) { $ends{$pid} = $? }
    elsif (!$!{EINTR}) { return undef }
  }
  return $ends{$wanted};
}

sub join_group {
  my ($folder) = @_;
  open(my $group, ">", "$folder/cgroup.procs") or die "control group: $!";
  syswrite($group, "0") or die "control group: $!";
}

# False: whoever would give the order is gone.
sub ordered {
  my ($from) = @_;
  my $got;
  do { $got = sysread($from, my $word, 1) } until defined $got || !$!{EINTR};
  return $got;
}

sub monitor {
  my ($order, $gate, $statusFd, $logFd, $ownGroup, $group, $statusFile, $pidFile, $runcPidFile, @runc) = @_;
  syscall($SETSID);
  open(my $status, ">>", "/proc/$MOORING/fd/$statusFd") or exit 1;
  open(my $log, ">>", "/proc/$MOORING/fd/$logFd") or exit 1;
  open(STDIN, "<", "/dev/null") or exit 1;
  syswrite(STDOUT, "opened $order $$\n") or exit 1;
  open(STDOUT, ">&", $log) or exit 1;
  open(STDERR, ">&", $log) or exit 1;
  close($log);
  $status->autoflush(1);
  join_group($ownGroup);
  syscall($PRCTL, 36, 1, 0, 0, 0) == 0 or die "cannot become a subreaper: $!";
  pipe(my $start, my $go) or die "pipe: $!";
  my $runc = fork() // die "fork: $!";
  if ($runc == 0) {
    close($gate);
    close($go);
    join_group($group) if $group ne "";
    exit 1 if !ordered($start);
    %ENV = (PATH => $ENV{PATH}, XDG_RUNTIME_DIR => "/run");
    exec { $runc[0] } @runc or exit 127;
  }
  close($start);
  exit 1 if !ordered($gate);
  close($gate);
  my ($own, $there) = map { join " ", (stat($_))[0, 1] } $status, $statusFile;
  exit 1 if $own ne $there;
  open(my $stat, "<", "/proc/self/stat") or exit 1;
  my $start = (split / /, (split /\) /, <$stat>)[-1])[19];
  open(my $file, ">", "$pidFile.new") or die "pid file: $!";
  print $file "$$ $start\n";
  close($file) or die "pid file: $!";
  rename("$pidFile.new", $pidFile) or die "pid file: $!";
  syswrite($go, "b");
  close($go);
  eval { join_group($ownGroup) };
  if (end_of($runc) != 0) {
    print $status qq({"failed": 1}\n);
    exit 0;
  }
  open(my $left, "<", $runcPidFile) or die "pid file: $!";
  my $init = 0 + <$left>;
  close($left);
  print $status qq({"child-pid": $init}\n);
  my $end = end_of($init) // exit 1;
  my $code = $end & 127 ? 128 + ($end & 127) : $end >> 8;
  print $status qq({"exit-code": $code}\n);
  exit 0;
}

my (%monitors, $alive);
sub make {
  my ($order, @values) = @_;
  my ($ended, $gate, $go);
  my $pid = pipe($ended, $alive) && pipe($gate, $go) ? fork() : undef;
  return syswrite(STDOUT, "failed $order $!\n") if !defined $pid;
  if ($pid == 0) {
    # A gate that others keep open would never say that it stays shut.
    close($ended);
    close($go);
    %monitors = ();
    monitor($order, $gate, @values);
  }
  close($alive);
  close($gate);
  $monitors{$order} = [$ended, $pid, $go];
}

sub begin {
  my ($order) = @_;
  return if !exists $monitors{$order};
  syswrite($monitors{$order}[2], "b");
  close($monitors{$order}[2]);
  syswrite(STDOUT, "begun $order\n");
}

sub drop {
  my ($order) = @_;
  close($monitors{$order}[2]) if exists $monitors{$order};
}

my %carryOut = (make => \&make, begin => \&begin, drop => \&drop);
my $text = "";
for (;;) {
  my $ready = "";
  vec($ready, $_, 1) = 1 for 0, map { fileno($_->[0]) } values %monitors;
  next if select($ready, undef, undef, undef) < 0;
  for my $order (keys %monitors) {
    my ($ended, $pid) = @{$monitors{$order}};
    next if !vec($ready, fileno($ended), 1);
    waitpid($pid, 0);
    delete $monitors{$order};
    syswrite(STDOUT, "ended $order\n");
  }
  next if !vec($ready, 0, 1);
  my $got = sysread(STDIN, $text, 65536, length $text);
  exit 0 if defined $got && $got == 0;
  while ((my $end = index($text, "\0\n")) >= 0) {
    my ($what, @values) = split /\0/, substr($text, 0, $end), -1;
    substr($text, 0, $end + 2) = "";
    $carryOut{$what}->(@values);
  }
}
`;

/** What a monitor is started with. */
export interface MonitorOrder {
  /** Descriptors of this process: the container's status file, and its log. */
  status: number;
  log: number;
  /** Group folders: of the monitor, and, where runc does not see to that, of the container. */
  cgroup: { monitor: string; container?: string };
  statusFile: string;
  pidFile: string;
  runcPidFile: string;
  /** runc's command line. */
  runc: readonly string[];
}

/** An order as the program reads it. */
export function orderText(number: number, order: MonitorOrder): string {
  const { status, log, cgroup, statusFile, pidFile, runcPidFile, runc } = order;
  const groups = [cgroup.monitor, cgroup.container ?? ""];
  return textOf(["make", number, status, log, ...groups, statusFile, pidFile, runcPidFile, ...runc]);
}

/** What a monitor waits for. */
export function gateText(what: "begin" | "drop", number: number): string {
  return textOf([what, number]);
}

function textOf(values: readonly (string | number)[]): string {
  return `${values.join("\0")}\0\n`;
}

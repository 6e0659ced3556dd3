/**
 * Stays with a container from its start to its end, and writes both down on descriptor 3: `{"child-pid": 7}` and
 * `{"exit-code": 0}`, or `{"failed": 1}` when runc could not start it. Lives on when Mooring is killed.
 *
 * runc leaves as soon as the container runs; whoever is its nearest subreaper gets the container's first process as a child,
 * and so its end. Everything that a supervisor in another language would need some ten megabytes for, perl does in a few.
 *
 * Arguments: runc's command line. Signals that are sent round do not end it; handlers, unlike "ignore", are not inherited.
 */
export const MONITOR_PROGRAM = `
use strict;
open(my $status, ">>&=", 3) or exit 1;
$status->autoflush(1);
$SIG{$_} = sub {} for qw(HUP INT TERM PIPE);
syscall($ENV{MOORING_PRCTL}, 36, 1, 0, 0, 0) == 0 or die "cannot become a subreaper: $!";
my $runc = fork() // die "fork: $!";
if ($runc == 0) {
  if ($ENV{MOORING_CONTAINER_CGROUP} ne "") {
    open(my $group, ">", "$ENV{MOORING_CONTAINER_CGROUP}/cgroup.procs") or die "control group: $!";
    print $group "0" or die;
    close($group) or die "control group: $!";
  }
  my $path = $ENV{PATH};
  %ENV = (PATH => $path, XDG_RUNTIME_DIR => "/run");
  exec { $ARGV[0] } @ARGV or exit 127;
}
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
if (end_of($runc) != 0) {
  print $status qq({"failed": 1}\\n);
  exit 0;
}
open(my $file, "<", $ENV{MOORING_RUNC_PID_FILE}) or die "pid file: $!";
my $init = 0 + <$file>;
print $status qq({"child-pid": $init}\\n);
my $end = end_of($init) // exit 1;
my $code = $end & 127 ? 128 + ($end & 127) : $end >> 8;
print $status qq({"exit-code": $code}\\n);
`;

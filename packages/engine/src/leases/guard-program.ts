/**
 * Fences loop devices whose time is over. It outlives the agent that started it: workloads go on when an agent is
 * killed, and no other process would stop their writes. argv: a file with a line `loop3 DISKSEQ MILLISECONDS IMAGE` per
 * device, time since boot, below the boot's id. The file is read again all the time, so that agents that come and go extend
 * the same devices' time. LOOP_SET_STATUS64 with a size limit of 512 bytes waits for what is under way, and lets nothing
 * through to the image after it, from whichever namespace. For a device under which the machine hangs that call does not
 * return: a process of its own fences each, so that none waits for another.
 *
 * It goes to the root of every hierarchy of control groups that it sees, then closes its output: a container's runtime, and
 * the kubelet after it, end whatever is in the container's group as soon as its first process has ended.
 *
 * Perl, because it has ioctl(2) and every Debian has it.
 */
export const GUARD_PROGRAM: string = String.raw`
use strict;
my ($file) = @ARGV;
$SIG{$_} = 'IGNORE' for qw(HUP INT TERM QUIT PIPE);
sub first { my ($path) = @_; open(my $f, '<', $path) or return ''; my $line = <$f> // ''; chomp $line; $line }
sub fence {
  my ($name, $sequence) = @_;
  open(my $device, '<', "/dev/$name") or return;
  # As long as it is open here, its number goes to no other image.
  return if first("/sys/block/$name/diskseq") ne $sequence;
  my $info = "\0" x 232;
  ioctl($device, 0x4C05, $info) or return;
  substr($info, 32, 8) = pack('Q', 512);
  ioctl($device, 0x4C04, $info) or return;
}
sub leave {
  my ($groups) = @_;
  open(my $members, '>', "$groups/cgroup.procs") or return;
  syswrite($members, "$$\n");
}
my $groups = '/sys/fs/cgroup';
if (-e "$groups/cgroup.procs") { leave($groups) }
elsif (opendir(my $hierarchies, $groups)) { leave("$groups/$_") for grep { !/^\./ } readdir $hierarchies }
close STDOUT;
my %under_way;
sub fence_apart {
  my ($name, $sequence) = @_;
  return if $under_way{$sequence};
  my $child = fork();
  if (defined $child && $child != 0) { $under_way{$sequence} = $child; return }
  fence($name, $sequence);
  exit 0 if defined $child;
}
my $parent = getppid();
my $boot = first('/proc/sys/kernel/random/boot_id');
while (1) {
  while ((my $ended = waitpid(-1, 1)) > 0) {
    delete $under_way{$_} for grep { $under_way{$_} == $ended } keys %under_way;
  }
  open(my $f, '<', $file) or exit 0;
  my ($head, @lines) = <$f>;
  close $f;
  chomp($head //= '');
  exit 0 if $head ne $boot;
  my $left = 0;
  for my $line (@lines) {
    my ($name, $sequence, $deadline) = $line =~ /^(loop\d+) (\S+) (\d+)(?: \S+)?$/ or next;
    next if first("/sys/block/$name/diskseq") ne $sequence;
    next if first("/sys/block/$name/loop/sizelimit") eq '512';
    $left++;
    my ($uptime) = split / /, first('/proc/uptime');
    fence_apart($name, $sequence) if $uptime * 1000 >= $deadline;
  }
  exit 0 if $left == 0 && getppid() != $parent;
  select(undef, undef, undef, 0.2);
}
`;

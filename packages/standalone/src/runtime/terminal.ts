/**
 * Runs a program on a terminal of its own and copies between that and its own standard input and output, which are pipes:
 * runc wants a terminal where the program in the container is to have one, and Node makes none. Sizes come as lines of
 * `columns rows` on descriptor 3. Neither direction waits for the other, so that an interrupt gets through while the client
 * does not read what the program writes. Ends as the program ends.
 */
export const TERMINAL_PROGRAM = `
use strict;
use Fcntl;
use POSIX ();
my ($SPTLCK, $GPTN, $SCTTY, $SWINSZ) = (0x40045431, 0x80045430, 0x540E, 0x5414);
sysopen(my $master, "/dev/ptmx", O_RDWR | O_NOCTTY) or die "no terminal: $!";
my ($no, $number) = (pack("i", 0), pack("I", 0));
ioctl($master, $SPTLCK, $no) or die "unlock the terminal: $!";
ioctl($master, $GPTN, $number) or die "number of the terminal: $!";
my $slave = "/dev/pts/" . unpack("I", $number);
open(my $sizes, "<&=", 3) or die "sizes: $!";
my $child = fork() // die "fork: $!";
if ($child == 0) {
  POSIX::setsid();
  sysopen(my $terminal, $slave, O_RDWR) or die "$slave: $!";
  ioctl($terminal, $SCTTY, 0) or die "controlling terminal: $!";
  close($master);
  close($sizes);
  POSIX::dup2(fileno($terminal), $_) for 0, 1, 2;
  exec { $ARGV[0] } @ARGV or POSIX::_exit(127);
}
$SIG{PIPE} = "IGNORE";
sub unblock { fcntl($_[0], F_SETFL, fcntl($_[0], F_GETFL, 0) | O_NONBLOCK) }
unblock($_) for $master, \\*STDIN, \\*STDOUT, $sizes;
my ($in, $out, $line, $open, $more, $sized) = ("", "", "", 1, 1, 1);
my $most = 65536;
while ($open || $out ne "") {
  my ($r, $w) = ("", "");
  vec($r, fileno(STDIN), 1) = 1 if $open && $more && length($in) < $most;
  vec($r, fileno($master), 1) = 1 if $open && length($out) < $most;
  vec($r, fileno($sizes), 1) = 1 if $open && $sized;
  vec($w, fileno($master), 1) = 1 if $open && $in ne "";
  vec($w, fileno(STDOUT), 1) = 1 if $out ne "";
  next if select($r, $w, undef, undef) < 0;
  if (vec($r, fileno($sizes), 1)) {
    my $got = sysread($sizes, $line, 4096, length($line));
    $sized = 0 if defined($got) && $got == 0;
    while ($line =~ s/^(\\d+) (\\d+)\\n//) { ioctl($master, $SWINSZ, pack("S4", $2, $1, 0, 0)) }
  }
  if (vec($r, fileno(STDIN), 1)) {
    my $got = sysread(STDIN, $in, $most, length($in));
    $more = 0 if defined($got) && $got == 0;
  }
  if (vec($w, fileno($master), 1)) {
    my $sent = syswrite($master, $in);
    substr($in, 0, $sent, "") if $sent;
  }
  if (vec($r, fileno($master), 1)) {
    my $got = sysread($master, $out, $most, length($out));
    # Not EAGAIN: no process has the terminal open any more.
    $open = 0 if !$got && !($!{EAGAIN} || $!{EINTR});
  }
  if (vec($w, fileno(STDOUT), 1)) {
    my $sent = syswrite(STDOUT, $out);
    if ($sent) { substr($out, 0, $sent, "") }
    elsif (!defined($sent) && !$!{EAGAIN} && !$!{EINTR}) { last }
  }
}
waitpid($child, 0);
POSIX::_exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
`;

/**
 * Writes so many MiB, each different, into a file or device, or compares them. argv: `write` or `check`, path, MiB, and how
 * (`synced`, `lazy`, `direct`). Ends with 1 and prints why when a call fails or a byte differs.
 */
export const WRITER_PROGRAM: string = String.raw`
use strict;
use Fcntl qw(:DEFAULT);
my ($do, $path, $count, $how) = @ARGV;
my $MIB = 1048576;
my $flags = $do eq 'check' ? O_RDONLY : O_WRONLY | O_CREAT;
$flags |= 040000 if $how eq 'direct';
sysopen(my $file, $path, $flags, 0600) or die "open: $!\n";
my $seed = join '', map { pack('N', ($_ * 2654435761) % 4294967296) } 1 .. 1024;
# Aligned to a page, as direct writes have to be.
my $space = "\0" x ($MIB + 4096);
my $at = unpack('Q', pack('P', $space)) % 4096;
$at = $at ? 4096 - $at : 0;
for my $n (0 .. $count - 1) {
  my $block = (pack('N', $n) . substr($seed, 4)) x 256;
  if ($do eq 'check') {
    my $got = '';
    while (length $got < $MIB) {
      my $more = sysread($file, $got, $MIB - length $got, length $got);
      die "read of MiB $n: " . ($more // $!) . "\n" if !$more;
    }
    die "MiB $n differs\n" if $got ne $block;
    next;
  }
  my $done = 0;
  while ($done < $MIB) {
    my $wrote;
    if ($how eq 'direct') {
      substr($space, $at, $MIB) = $block;
      $wrote = syswrite($file, $space, $MIB - $done, $at + $done);
    } else {
      $wrote = syswrite($file, $block, $MIB - $done, $done);
    }
    defined $wrote or die "write of MiB $n: $!\n";
    $done += $wrote;
  }
  if ($how eq 'synced') { require IO::Handle; $file->sync or die "fsync of MiB $n: $!\n" }
}
close $file or die "close: $!\n";
`;

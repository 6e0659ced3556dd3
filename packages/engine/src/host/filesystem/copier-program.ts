/**
 * Keeps a copy of a file close to it while it is written to, and copies the difference at a moment when it is not. Descriptor
 * 3 is the file, 4 the copy, both of one XFS. A line of input is an order, each gets one line of output:
 *
 * - `fragments`: how many extents the file has
 * - `follow SIZE`: clones whatever the copy has elsewhere; the output is the number of extents cloned
 * - `arm SIZE`: reads where the copy has its blocks, and remembers it
 * - `finish`: as `follow`, but compares with what is remembered: reading the file once is all that it costs
 *
 * A block of the copy that is in the same place as the file's is the same block: as long as the copy has it, writes to
 * the file go elsewhere. So nothing has to be known of what happened to the file. Extents without a place of their own
 * (not yet written out) always differ; unwritten ones read as zeros, as holes do. FIEMAP_FLAG_SYNC, because a block that
 * is only in the page cache still shows its old place. FICLONERANGE keeps writers of the file waiting for as long as it
 * takes, hence the short pieces of `follow`.
 *
 * Perl, because it has ioctl(2) and every Debian has it. It ends with its input, and so with its parent.
 */
export const COPIER_PROGRAM: string = String.raw`
use strict;
my ($FIEMAP, $FICLONERANGE) = (0xC020660B, 0x4020940D);
my ($LAST, $PLACELESS, $UNWRITTEN) = (0x1, 0x78E, 0x800);
my $SPECIAL = $PLACELESS | $UNWRITTEN;
my ($ZEROS, $NOWHERE) = (-1, -2);
my ($BATCH, $PIECE) = (4096, 64);
open(my $file, '<&=', 3) or die "no file: $!\n";
open(my $copy, '+<&=', 4) or die "no copy: $!\n";
my ($size, $known);

# The extents of a file one after the other: offset, place, length and flags of each.
sub map_of {
  my ($handle) = @_;
  my @map;
  my ($from, $last) = (0, 0);
  until ($last) {
    my $buffer = pack('QQLLLL', $from, ~0 - $from, 1, 0, $BATCH, 0) . "\0" x (56 * $BATCH);
    ioctl($handle, $FIEMAP, $buffer) or die "FIEMAP: $!\n";
    my $found = unpack('x20 L', $buffer) or last;
    push @map, unpack("x32 (Q3 x16 L x12)$found", $buffer);
    $from = $map[-4] + $map[-2];
    $last = $map[-1] & $LAST;
  }
  return \@map;
}

# What a map has at an offset that is not behind the extent at an index: place and next edge.
sub extent_at {
  my ($map, $index, $at) = @_;
  return ($ZEROS, $size) if $index >= @$map;
  my ($offset, $place, $length, $flags) = @$map[$index .. $index + 3];
  return ($ZEROS, $offset) if $offset > $at;
  my $end = $offset + $length;
  return ($ZEROS, $end) if $flags & $UNWRITTEN;
  return ($NOWHERE, $end) if $flags & $PLACELESS;
  return ($place + $at - $offset, $end);
}

# Ranges up to the size in which two files differ, as [from, to, extents of the first]. Those with nothing but holes
# between them are one, up to a number of extents.
sub differences {
  my ($own, $other, $most) = @_;
  my ($i, $j, $at) = (0, 0, 0);
  my (@ranges, $open);
  while ($at < $size) {
    # Nearly always: the same extent in both.
    while ($i < @$own && $j < @$other && $$own[$i] == $$other[$j] && $$own[$i] >= $at
      && $$own[$i + 1] == $$other[$j + 1] && $$own[$i + 2] == $$other[$j + 2]
      && !(($$own[$i + 3] | $$other[$j + 3]) & $SPECIAL)) {
      $at = $$own[$i] + $$own[$i + 2];
      $open = undef;
      $i += 4;
      $j += 4;
    }
    last if $at >= $size;
    $i += 4 while $i < @$own && $$own[$i] + $$own[$i + 2] <= $at;
    $j += 4 while $j < @$other && $$other[$j] + $$other[$j + 2] <= $at;
    my ($here, $end) = extent_at($own, $i, $at);
    my ($there, $edge) = extent_at($other, $j, $at);
    $end = $edge if $edge < $end;
    $end = $size if $size < $end;
    if ($here != $there || $here == $NOWHERE) {
      push @ranges, $open = [$at, $end, 0] if !$open || $$open[2] >= $most;
      $$open[1] = $end;
      $$open[2]++ if $here != $ZEROS;
    } elsif ($here != $ZEROS) {
      $open = undef;
    }
    $at = $end;
  }
  return @ranges;
}

sub clone {
  my $extents = 0;
  for my $range (@_) {
    my ($from, $to, $count) = @$range;
    ioctl($copy, $FICLONERANGE, pack('q Q Q Q', 3, $from, $to - $from, $from)) or die "FICLONERANGE: $!\n";
    $extents += $count;
  }
  return $extents;
}

$| = 1;
while (my $line = <STDIN>) {
  my ($order, $bytes) = $line =~ /^(\w+)(?: (\d+))?$/;
  my $result = eval {
    $size = $bytes if defined $bytes;
    if ($order eq 'fragments') { return @{map_of($file)} / 4 }
    if ($order eq 'follow') { return clone(differences(map_of($file), map_of($copy), $PIECE)) }
    if ($order eq 'arm') { $known = map_of($copy); return @$known / 4 }
    if ($order eq 'finish') { return clone(differences(map_of($file), $known, 1e9)) }
    die "unknown order\n";
  };
  print defined $result ? "ok $result\n" : "failed $@";
}
`;

/**
 * Sets the size limit of a loop device in place, which losetup cannot: argv is the device and the limit in bytes, 0 for
 * none. LOOP_SET_STATUS64 waits for what is under way. Perl, because it has ioctl(2) and every Debian has it.
 */
export const SIZE_LIMIT_PROGRAM: string = String.raw`
use strict;
my ($path, $limit) = @ARGV;
open(my $device, '<', $path) or die "open: $!\n";
my $info = "\0" x 232;
ioctl($device, 0x4C05, $info) or die "LOOP_GET_STATUS64: $!\n";
substr($info, 32, 8) = pack('Q', $limit);
ioctl($device, 0x4C04, $info) or die "LOOP_SET_STATUS64: $!\n";
`;

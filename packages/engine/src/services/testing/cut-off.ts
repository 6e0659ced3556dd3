import type { Host } from "../../host/host.ts";

/** LOOP_SET_STATUS64 with a size limit of 512 bytes. */
const PROGRAM = `
open(my $device, '<', $ARGV[0]) or die $!;
my $info = "\\0" x 232;
ioctl($device, 0x4C05, $info) or die $!;
substr($info, 32, 8) = pack('Q', 512);
ioctl($device, 0x4C04, $info) or die $!;
`;

/** Nothing gets through to the file of a loop device any more, as when a disk is pulled. */
export async function cutOff({ exec }: Host, device: string): Promise<void> {
  await exec.run("perl", ["-e", PROGRAM, device]);
}

import { EngineError } from "../errors.ts";
import { commandFailed } from "./exec.ts";
import type { Exec, ExecResult, LoopAttachment } from "./host.ts";

/** What the programs below end with when the device is not, or not any more, the attachment that was meant. */
const ANOTHER = 3;
/** It has no file, or none any more. */
const ENXIO = 6;

/**
 * Opens the device that argv names first, and ends when it has another disk sequence number than the second (empty: not
 * asked for). As long as it is open here, its number goes to no other file: who detaches it meanwhile only marks it.
 * Perl, because it has ioctl(2) and every Debian has it.
 */
const OPENED = String.raw`
use strict;
my ($path, $sequence, $limit) = @ARGV;
open(my $device, '<', $path) or die "open: $!\n";
my ($name) = $path =~ m{([^/]+)$};
if ($sequence ne '') {
  open(my $file, '<', "/sys/block/$name/diskseq") or exit ${ANOTHER};
  chomp(my $now = <$file> // '');
  exit ${ANOTHER} if $now ne $sequence;
}
`;

/** LOOP_CLR_FD; a device that others have open goes with its last user. */
const DETACH_PROGRAM = `${OPENED}
ioctl($device, 0x4C01, 0) or $! == ${ENXIO} or die "LOOP_CLR_FD: $!\\n";
`;

/**
 * Sets the size limit in place, which losetup cannot: the last argument is the limit in bytes, 0 for none. LOOP_SET_STATUS64
 * waits for what is under way.
 */
const SIZE_LIMIT_PROGRAM = `${OPENED}
my $info = "\\0" x 232;
ioctl($device, 0x4C05, $info) or die "LOOP_GET_STATUS64: $!\\n";
substr($info, 32, 8) = pack('Q', $limit);
ioctl($device, 0x4C04, $info) or die "LOOP_SET_STATUS64: $!\\n";
`;

/** Detaches this attachment, or marks it to go with its last user; the result of the command says why it did not. */
export function clearDevice(exec: Exec, device: LoopAttachment): Promise<ExecResult> {
  return exec.try("perl", argumentsOf(DETACH_PROGRAM, device));
}

/** Resolves with false when the attachment is gone. */
export async function limitSize(exec: Exec, device: LoopAttachment, bytes: number): Promise<boolean> {
  const args = argumentsOf(SIZE_LIMIT_PROGRAM, device, String(bytes));
  const result = await exec.try("perl", args);
  if (result.exitCode === ANOTHER) return false;
  if (result.exitCode === 0) return true;
  throw new EngineError("UNAVAILABLE", `cannot limit the size of ${device.path}: ${result.stderr.trim()}`, {
    cause: commandFailed("perl", [...args.slice(2)], result),
  });
}

function argumentsOf(program: string, { path, sequence }: LoopAttachment, ...more: string[]): string[] {
  return ["-e", program, path, sequence, ...more];
}

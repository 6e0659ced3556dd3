import { EngineError } from "../errors.ts";
import { commandFailed } from "./exec.ts";
import type { Exec } from "./host.ts";

/** Numbers of openat(2) and umount2(2), which differ from one architecture to the other. */
const CALLS: Readonly<Partial<Record<NodeJS.Architecture, readonly [openat: number, umount2: number]>>> = {
  x64: [257, 166],
  arm64: [56, 39],
};

/**
 * umount2(2) with MNT_FORCE fails what a network file system waits for, then refuses to unmount, since the path is open here. Without
 * that the mount would be gone from this namespace, and what is asked next could not be failed any more. O_PATH asks no server.
 * Perl, because it has syscall() and every Debian has it; umount(8) asks the server for the path's attributes.
 */
const PROGRAM = String.raw`
use strict; use Errno;
my ($path, $openat, $umount2) = @ARGV;
syscall($openat + 0, -100, $path, 010000000, 0) >= 0 or die "openat: $!\n";
exit 0 if syscall($umount2 + 0, $path, 1) == 0 || $!{EBUSY} || $!{EINVAL};
die "umount2: $!\n";
`;

/**
 * Every request to the server of a network file system that waits now fails, whichever process, in whichever mount namespace,
 * has asked. `path`: where it is mounted; it stays mounted. What is asked later waits again.
 */
export async function failRequests(exec: Exec, path: string, signal: AbortSignal): Promise<void> {
  const calls = CALLS[process.arch];
  if (calls === undefined)
    throw new EngineError("FAILED_PRECONDITION", `requests of ${path} cannot be failed on ${process.arch}`);
  const args = ["-e", PROGRAM, path, ...calls.map(String)];
  const result = await exec.try("perl", args, { signal });
  if (result.exitCode !== 0) throw commandFailed("perl", [path], result);
}

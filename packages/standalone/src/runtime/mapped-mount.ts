import type { Exec, Host } from "@mooring/engine";
import type { UserRange } from "./runtime.ts";

/**
 * A copy of a mount, at another place, on which every file belongs to others: an id-mapped mount (mount_setattr(2)).
 * Neither mount of util-linux before 2.39 nor runc before 1.2 makes one. What names the mapping is a user namespace of a
 * child that does nothing.
 */
const PROGRAM = `
use strict;
my ($unshare, $source, $target, $first, $size) = @ARGV;
my ($OPEN_TREE, $MOVE_MOUNT, $MOUNT_SETATTR, $AT_FDCWD, $empty) = (428, 429, 442, -100, "");
pipe(my $ready, my $is_ready) or die "pipe: $!";
pipe(my $over, my $is_over) or die "pipe: $!";
my $child = fork() // die "fork: $!";
if ($child == 0) {
  close($ready); close($is_over);
  syscall($unshare, 0x10000000) == 0 or die "cannot make a user namespace: $!\\n";
  syswrite($is_ready, "x");
  sysread($over, my $end, 1);
  exit 0;
}
close($is_ready); close($over);
sysread($ready, my $byte, 1) or exit 1;
for my $map (qw(uid_map gid_map)) {
  open(my $file, ">", "/proc/$child/$map") or die "$map: $!\\n";
  syswrite($file, "0 $first $size\\n") or die "$map: $!\\n";
}
open(my $namespace, "<", "/proc/$child/ns/user") or die "user namespace: $!\\n";
my $tree = syscall($OPEN_TREE, $AT_FDCWD, $source, 0x80001);
die "open_tree: $!\\n" if $tree < 0;
my $attributes = pack("QQQQ", 0x100000, 0, 0, fileno($namespace));
syscall($MOUNT_SETATTR, $tree, $empty, 0x1000, $attributes, length($attributes)) == 0 or die "mount_setattr: $!\\n";
syscall($MOVE_MOUNT, $tree, $empty, $AT_FDCWD, $target, 4) == 0 or die "move_mount: $!\\n";
`;

/** Number of the system call. */
const UNSHARE: Readonly<Record<string, string>> = {
  x64: "272",
  arm64: "97",
  riscv64: "97",
  s390x: "303",
  ppc64: "282",
};

/** The file system of a mount cannot show its files as another user's. */
export class UnmappableError extends Error {
  /** Of the mount among those of the container. */
  readonly index: number | undefined;

  constructor(message: string, index?: number) {
    super(message);
    this.index = index;
  }
}

/** Mounts `source`, a file or a folder without what is mounted below it, at `target`: id 0 there is `users.first` here. */
export async function mountMapped(
  exec: Exec,
  { source, target }: { source: string; target: string },
  { first, size }: UserRange,
): Promise<void> {
  const args = [UNSHARE[process.arch] ?? "", source, target, String(first), String(size)];
  const { exitCode, stderr } = await exec.try("perl", ["-e", PROGRAM, ...args]);
  if (exitCode === 0) return;
  const why = stderr.trim();
  if (why.startsWith("mount_setattr")) throw new UnmappableError(why);
  throw new Error(`cannot mount ${source} for a user namespace: ${why}`);
}

/** Takes away everything that is mounted below the folder, latest first. */
export async function unmountBelow(host: Host, folder: string): Promise<void> {
  const targets = (await host.mounts.list()).map(({ target }) => target);
  for (const target of targets
    .filter((each) => each.startsWith(`${folder}/`))
    .sort()
    .reverse())
    await host.mounts.unmount(target);
}

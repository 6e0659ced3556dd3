import { tmpdir } from "node:os";

/**
 * A new mount namespace has a copy of every mount, also of those that other tests make and want to unmount: each copy
 * keeps its file system in use, and the device below it. Unmounts all below the first folder but those below the
 * second, the last one first, by one program: others wait for a moment only. Then becomes the rest of its arguments.
 */
const LET_GO_OF_OTHERS = String.raw`
others=$1 own=$2
shift 2
awk -v others="$others/" -v own="$own/" '
  { at = $5; gsub(/\\040/, " ", at) }
  index(at, others) == 1 && index(at "/", own) != 1 { print at }
' /proc/self/mountinfo | tac | xargs -r -d '\n' umount --lazy --no-canonicalize 2>/dev/null
exec "$@"
`;

/**
 * Arguments of `unshare` that make it run a program in a mount namespace of its own, which has of the mounts that tests
 * make those below the folder only.
 */
export function apart(folder: string, ...program: readonly string[]): string[] {
  const script = ["sh", "-c", LET_GO_OF_OTHERS, "sh", tmpdir(), folder];
  return ["--mount", "--propagation", "private", ...script, ...program];
}

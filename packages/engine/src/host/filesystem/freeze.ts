import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { EngineError } from "../../errors.ts";

/** A file system that takes no writes until `thaw`, or until its time is over, whichever comes first. */
export interface Frozen {
  /** Resolves when writes go on. False: the watchdog had thawed it before, so what was done meanwhile was not covered. */
  thaw(): Promise<boolean>;
}

/**
 * The freeze belongs to a child that outlives us: it thaws when its input ends (our `thaw`, or our death, kill -9
 * included) or when the time is over. It ignores the signals that a terminal or a service manager sends round; its
 * children inherit that, hence KILL for the one that is timed.
 */
const HOLDER = `
trap '' HUP INT TERM PIPE
fsfreeze --freeze "$1" || exit 2
echo frozen
timeout --signal=KILL "$2" cat >/dev/null
in_time=$?
until fsfreeze --unfreeze "$1"; do
  [ -d "$1" ] || break
  grep -q " $1 " /proc/self/mountinfo || break
  sleep 0.1
  tries=$((tries + 1)); [ "$tries" -gt 50 ] && exit 3
done
[ "$in_time" = 0 ] && echo thawed || echo late
`;

/**
 * Freezes the file system mounted at `mountPath` (fsfreeze(8)): everything written so far is on the device and no
 * write proceeds. `maxSeconds` bounds how long.
 */
export async function freeze(mountPath: string, maxSeconds: number): Promise<Frozen> {
  const child = spawn("sh", ["-c", HOLDER, "mooring-freeze", mountPath, String(maxSeconds)], {
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, LC_ALL: "C" },
  });
  child.stdin.on("error", () => {});
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-2000);
  });
  const ended = new Promise<void>((resolve) => {
    child.once("error", (error) => {
      complaint = error.message;
      resolve();
    });
    child.once("exit", () => resolve());
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done || first.value !== "frozen") {
    await ended;
    throw cannotFreeze(mountPath, complaint);
  }
  return {
    thaw: async () => {
      child.stdin.end();
      const last = await lines.next();
      await ended;
      if (last.done)
        throw new EngineError("INTERNAL", `${mountPath} may still be frozen: ${complaint.trim()}`, {
          hint: `fsfreeze --unfreeze ${mountPath}`,
        });
      return last.value === "thawed";
    },
  };
}

function cannotFreeze(mountPath: string, complaint: string): EngineError {
  const busy = /busy/i.test(complaint);
  return new EngineError(busy ? "ABORTED" : "INTERNAL", `cannot freeze ${mountPath}: ${complaint.trim()}`, {
    hint: busy ? "it is frozen by someone else; tried again later" : `is ${mountPath} still mounted?`,
  });
}

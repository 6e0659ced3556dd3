import { spawn } from "node:child_process";
import { once } from "node:events";
import { Pods, type RestStore } from "@mooring/store";
import type { Random } from "@mooring/store/testing";
import { KUBECTL } from "../../support/kubectl.ts";

/** Of a client: what it reads before it stops reading. */
const READ_BYTES = 100_000;

/** A client of a hostile pod, which has done by the time that it is asked to leave. */
export type Leave = () => Promise<void>;

/** kubectl with these arguments, which reads no further after a while, or leaves at once. */
function halting(random: Random, kubeconfig: string, args: readonly string[]): Leave {
  const stops = random.chance(0.7);
  const child = spawn(KUBECTL, ["--kubeconfig", kubeconfig, ...args], {
    stdio: [random.one(["ignore", "pipe"]), "pipe", "ignore"],
  });
  child.stdin?.on("error", () => {});
  // As much as it takes: a program that does not read leaves the rest with us.
  child.stdin?.write(Buffer.alloc(1 << 20));
  let read = 0;
  child.stdout?.on("data", (chunk: Buffer) => {
    read += chunk.length;
    if (read < READ_BYTES) return;
    child.stdout?.pause();
    if (stops) child.kill("SIGSTOP");
  });
  const exit = once(child, "exit");
  return async () => {
    child.kill("SIGKILL");
    child.stdout?.destroy();
    await exit;
  };
}

const EXECS = [
  "yes",
  "cat /dev/urandom",
  "exec sleep 100000",
  "kill -KILL -1",
  "cat",
  "exit 3",
  "setsid sleep 100000 &",
  "stty -a; cat",
];

/** Something that a user of the pod does to it while it runs. */
export function visit(random: Random, kubeconfig: string, store: RestStore, name: string): Leave {
  const exec = ["exec", ...random.one([[], ["-i"], ["-i", "-t"]]), name, "--", "sh", "-c", random.one(EXECS)];
  const what = random.one(["exec", "exec", "logs", "label", "attach"]);
  if (what === "label") return labelling(random, store, name);
  const args =
    { exec, logs: ["logs", name, "--follow", "--timestamps"], attach: ["attach", name] }[what] ?? exec;
  return halting(random, kubeconfig, args);
}

/** Changes what its projected files have, again and again. */
function labelling(random: Random, store: RestStore, name: string): Leave {
  const stop = new AbortController();
  const done = (async () => {
    for (let at = 0; at < 50 && !stop.signal.aborted; at += 1) {
      const annotations = { changed: `${at}${"x".repeat(random.one([1, 20_000]))}` };
      await store
        .patch(Pods, { namespace: "default", name }, { type: "merge", body: { metadata: { annotations } } })
        .catch(() => stop.abort());
    }
  })();
  return async () => {
    stop.abort();
    await done;
  };
}

// Processes of Mooring end at once while pods write: pods do not notice, and what is asked next is done.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../support/program.mjs";
import { countNumbers, snapshot } from "./objects.mjs";

/**
 * Processes of Mooring that run this command of it: on this machine, which is the test's own, and on those in it. `proc`: of
 * another one, whose numbers they have.
 */
export async function processesOf(command, proc = "/proc") {
  const found = [];
  for (const name of await readdir(proc)) {
    if (!/^\d+$/.test(name)) continue;
    const args = await readFile(join(proc, name, "cmdline"), "utf8").catch(() => "");
    if (/mooring\.mjs\0/.test(args) && args.split("\0").includes(command)) found.push(Number(name));
  }
  return found;
}

export async function killAll(kube, command, target) {
  const killed = await processesOf(command);
  assert.notDeepEqual(killed, [], `no process of mooring ${command}`);
  for (const pid of killed) process.kill(pid, "SIGKILL");
  await until(`another mooring ${command}`, async () => {
    const now = await processesOf(command);
    return now.length > 0 && now.every((pid) => !killed.includes(pid));
  });
  await kube.kubectl("-n", "mooring", "rollout", "status", target, "--timeout=900s");
}

const numbers = async (kube) => countNumbers(await kube.sh("writer", "cat /data/numbers"));

export async function crashes(kube) {
  for (const [command, target] of [
    ["node", "daemonset/mooring-node"],
    ["controller", "deployment/mooring-controller"],
  ]) {
    const before = await numbers(kube);
    await killAll(kube, command, target);
    await until("the pod to have written on", async () => (await numbers(kube)) > before + 10);
    // What needs the one that came after it.
    await kube.apply(snapshot(`after-${command}`, "data"));
    await kube.shows(`volumesnapshot/after-${command}`, "{.status.readyToUse}", "true");
    await kube.delete(`volumesnapshot/after-${command}`);
  }
  for (const name of ["writer", "raw-writer"])
    assert.equal(await kube.get(`pod/${name}`, "{.status.containerStatuses[0].restartCount}"), "0");
}

// How long parts of a flow take, and what is known of a cluster when one has failed.
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

export const say = (text) => process.stdout.write(`${text}\n`);

/** `ids`: requirements of docs/requirements.tsv that it proves. */
export async function timed(name, run, ids = []) {
  const from = Date.now();
  try {
    const result = await run();
    say(`  ${name}: ${((Date.now() - from) / 1000).toFixed(1)} s`);
    await proved(name, ids, "passed");
    return result;
  } catch (error) {
    await proved(name, ids, "failed");
    throw error;
  }
}

async function proved(title, ids, outcome) {
  if (ids.length > 0) await keep({ title, ids, outcome });
}

/** How many of what the step has run have passed, and the like. */
export const keepCounts = (counts) => keep({ counts });

/** For ./record.mjs, which names the file. */
async function keep(line) {
  const file = process.env.MOORING_PROVED;
  if (file !== undefined) await appendFile(file, `${JSON.stringify(line)}\n`);
}

/** What an operator would read first. */
export async function explain(cluster) {
  const save = async (name, ...args) =>
    writeFile(join(cluster.logs, `${name}.txt`), await cluster.kubectl(...args).catch(String));
  await save(
    "objects",
    "get",
    "all,pvc,pv,volumesnapshots,volumeattachments.storage.k8s.io,csinodes,csistoragecapacities",
    "-A",
    "-o",
    "wide",
  );
  await save("events", "get", "events", "-A");
  await save("pods", "describe", "pods", "-A");
  for (const part of ["node", "controller"]) {
    const which = ["-l", `app.kubernetes.io/component=${part}`, "--prefix", "--tail=2000"];
    await save(`${part}-log`, "-n", "mooring", "logs", ...which);
    await save(`${part}-log-before`, "-n", "mooring", "logs", "--previous", ...which);
  }
  say(`its state: ${cluster.logs}`);
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHost, Pools, surveyRbd } from "@mooring/engine";
import { defined, isNotFound, type ObjectStore } from "@mooring/store";
import { Command, Option } from "commander";
import { type ClientOptions, openClient } from "../client/client.ts";
import { CONTENTS, type Content } from "../import/context.ts";
import { readPlans } from "../import/read.ts";
import { renderPlans } from "../import/render.ts";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { type Output, print, withOutput } from "../output/print.ts";
import { withNextStep } from "../volume/options.ts";

interface ImportOptions extends ClientOptions, Output {
  pool: string;
  content?: Content;
  conf?: string;
  user?: string;
  keyring?: string;
}

async function importRbd(names: string[], options: ImportOptions): Promise<void> {
  const store = await openClient(options);
  const { conf, user, keyring } = options;
  const place = { ...(await placeOf(store, options.pool)), ...defined({ conf, user, keyring }) };
  const folder = await mkdtemp(join(tmpdir(), "mooring-import-"));
  try {
    const images = names.length === 0 ? {} : { images: names };
    const survey = await withNextStep(surveyRbd({ host: createHost(), place, folder, ...images }));
    const { pool: cephPool, namespace } = place;
    const plans = await readPlans(
      store,
      { pool: options.pool, cephPool, namespace },
      survey,
      options.content,
    );
    print(options, plans, () => renderPlans(plans));
    if (names.length > 0 && plans.some(({ state }) => state === "blocked")) process.exitCode = EXIT.negative;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Where Mooring's pool is in the cluster. */
async function placeOf(store: ObjectStore, name: string) {
  const pool = await store.get(Pools, { name }).catch((error: unknown) => {
    if (isNotFound(error))
      throw new CommandError(`there is no pool ${name}`, { next: "kubectl get pools.storage.mooring.dev" });
    throw error;
  });
  const { path, rbd, type } = pool.spec;
  if (rbd !== undefined) return { conf: path, ...rbd };
  throw new CommandError(`pool ${name} is of type ${type}, and in no Ceph cluster`, {
    next: "name a pool of type rbd",
  });
}

/** `mooring import rbd`. */
export function importCommand(): Command {
  const root = new Command("import").description("take in volumes that were made elsewhere");
  const rbd = root
    .command("rbd")
    .description("images of a Ceph pool, those of ceph-csi among them: what an import would do")
    .argument("[image...]", "names of images (default: all)")
    .requiredOption("--pool <name>", "Mooring's pool in the same Ceph pool and namespace")
    .requiredOption("--dry-run", "only show it: the one thing that can be done yet")
    .addOption(
      new Option("--content <what>", "what is in images that no PersistentVolume describes").choices(
        CONTENTS,
      ),
    )
    .option("--conf <file>", "the cluster's ceph.conf on this machine (default: as the pool has it)")
    .option("--user <name>", "Ceph user; one that may only read is enough (default: the pool's)")
    .option("--keyring <file>", "the file with its key (default: the pool's)")
    .option("--kubeconfig <file>", "how to reach the API server");
  withOutput(rbd, { what: "the plans" }).action(importRbd);
  return root;
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHost, Pools, runRbd, surveyRbd } from "@mooring/engine";
import { defined, isNotFound, type ObjectStore } from "@mooring/store";
import { Command, Option } from "commander";
import { type ClientOptions, openClient } from "../client/client.ts";
import { carryOut } from "../import/carry-out.ts";
import { CONTENTS, type Content } from "../import/context.ts";
import { type ImportPlan, planImport } from "../import/plan.ts";
import { plansOf, readObjects, renamedBy } from "../import/read.ts";
import { nameStep, renderPlans } from "../import/render.ts";
import { planRollback } from "../import/rollback.ts";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { type Output, print, withOutput } from "../output/print.ts";
import { withNextStep } from "../volume/options.ts";

interface ImportOptions extends ClientOptions, Output {
  pool: string;
  all?: boolean;
  dryRun?: boolean;
  rollback?: boolean;
  content?: Content;
  storageClass: string;
  clusterId?: string;
  conf?: string;
  user?: string;
  keyring?: string;
}

async function importRbd(names: string[], options: ImportOptions): Promise<void> {
  const { dryRun = false, rollback = false, all = false } = options;
  if (names.length > 0 && all)
    throw new CommandError("images are named, and --all is given", { next: "one of both" });
  if (names.length === 0 && !all && !dryRun)
    throw new CommandError("no image is named", {
      next: "name images, or --all; --dry-run shows what would be done",
    });
  const store = await openClient(options);
  const images = names.length === 0 ? undefined : names;
  const { plans, changed } = await withWork(store, options, async ({ read, rbd }) => {
    if (dryRun) return { plans: await read(images), changed: 0 };
    let changed = 0;
    const report = (image: string, step: Parameters<typeof nameStep>[0]): void => {
      changed += 1;
      // What is asked for as data stands alone on the standard output.
      process.stderr.write(`${image}: ${nameStep(step)}: done\n`);
    };
    return { plans: await carryOut(images, { store, rbd, read, report }), changed };
  });
  print(options, plans, () =>
    renderPlans(plans, changed === 0 ? "nothing was changed" : `${changed} steps were done`),
  );
  const blocked = plans.some(({ state }) => state === "blocked");
  if (blocked && (names.length > 0 || !dryRun || rollback)) process.exitCode = EXIT.negative;
}

interface Work {
  read(images?: readonly string[]): Promise<ImportPlan[]>;
  rbd(args: readonly string[]): Promise<void>;
}

/** With a folder for the configuration of Ceph's clients, which goes with the work. */
async function withWork<T>(
  store: ObjectStore,
  options: ImportOptions,
  work: (work: Work) => Promise<T>,
): Promise<T> {
  const { conf, user, keyring, pool, content, storageClass, rollback, clusterId } = options;
  const place = { ...(await placeOf(store, pool)), ...defined({ conf, user, keyring }) };
  const { pool: cephPool, namespace } = place;
  const here = { pool, cephPool, namespace, content, storageClass, ...defined({ clusterID: clusterId }) };
  const folder = await mkdtemp(join(tmpdir(), "mooring-import-"));
  const ceph = { host: createHost(), place, folder };
  const read: Work["read"] = async (images) => {
    const objects = await readObjects(store);
    const survey = await surveyRbd({ ...ceph, renamed: renamedBy(objects, here), ...defined({ images }) });
    return plansOf(objects, here, survey, rollback === true ? planRollback : planImport);
  };
  try {
    return await withNextStep(work({ read, rbd: (args) => runRbd(ceph, args) }));
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
    .description("images of a Ceph pool, those of ceph-csi with their claims among them")
    .argument("[image...]", "names of images, as they were before the import")
    .requiredOption("--pool <name>", "Mooring's pool in the same Ceph pool and namespace")
    .option("--all", "every image that is not Mooring's (what --dry-run shows without names)")
    .option("--dry-run", "only show what would be done")
    .option("--rollback", "undo an import that has not replaced a claim yet")
    .addOption(
      new Option("--content <what>", "what is in images that no PersistentVolume describes").choices(
        CONTENTS,
      ),
    )
    .option("--storage-class <name>", "class of the new PersistentVolumes and claims (default: none)", "")
    .option(
      "--cluster-id <id>",
      "what ceph-csi's configuration calls the cluster (default: as its volumes show)",
    )
    .option("--conf <file>", "the cluster's ceph.conf on this machine (default: as the pool has it)")
    .option("--user <name>", "Ceph user; for --dry-run one that may only read (default: the pool's)")
    .option("--keyring <file>", "the file with its key (default: the pool's)")
    .option("--kubeconfig <file>", "how to reach the API server");
  withOutput(rbd, { what: "the plans" }).action(importRbd);
  return root;
}

import { Volumes } from "@mooring/engine";
import {
  failpoint,
  isNotFound,
  type KubeObject,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  waitFor,
  withTimeLimit,
} from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import type { ImportStep, Named } from "./steps.ts";

/** Behind each step: killed there, the next run goes on with what is left. */
const DONE: Readonly<Record<ImportStep["do"], () => void>> = {
  retain: failpoint("cli/import/retain"),
  "create-persistent-volume": failpoint("cli/import/create-persistent-volume"),
  "set-sector-size": failpoint("cli/import/set-sector-size"),
  "rename-image": failpoint("cli/import/rename-image"),
  "create-volume": failpoint("cli/import/create-volume"),
  "delete-claim": failpoint("cli/import/delete-claim"),
  "create-claim": failpoint("cli/import/create-claim"),
  "rename-back": failpoint("cli/import/rename-back"),
  "delete-volume": failpoint("cli/import/delete-volume"),
  "remove-sector-size": failpoint("cli/import/remove-sector-size"),
  "restore-policy": failpoint("cli/import/restore-policy"),
  "delete-persistent-volume": failpoint("cli/import/delete-persistent-volume"),
};
const GONE_MS = 120_000;
const KINDS: Readonly<Record<string, Resource<KubeObject>>> = {
  PersistentVolumeClaim: PersistentVolumeClaims as Resource<KubeObject>,
  PersistentVolume: PersistentVolumes as Resource<KubeObject>,
  Volume: Volumes as unknown as Resource<KubeObject>,
};

/** What steps are made with. */
export interface Hands {
  store: ObjectStore;
  /** `rbd` in the pool. */
  rbd(args: readonly string[]): Promise<void>;
}

/** Makes one step; what it has done is done for good when this resolves. */
export async function performStep(step: ImportStep, { store, rbd }: Hands): Promise<void> {
  if ("run" in step) await rbd(step.run.slice(1));
  else if ("create" in step) await store.create(resourceOf(step.create.kind), step.create as KubeObject);
  else if ("patch" in step) {
    const patch = { type: "merge", body: step.patch } as const;
    await store.patch(PersistentVolumes, { name: step.persistentVolume }, patch);
  } else await remove(store, step.delete);
  DONE[step.do]();
}

/** Resolves when it is gone. One of the same name that is another object stays. */
async function remove(store: ObjectStore, { kind, uid, ...key }: Named): Promise<void> {
  const resource = resourceOf(kind);
  try {
    await store.delete(resource, key, { preconditions: { uid } });
  } catch (error) {
    if (isNotFound(error)) return;
    throw error;
  }
  const limit = withTimeLimit(GONE_MS);
  const gone = (object: KubeObject | undefined): boolean => object?.metadata.uid !== uid;
  await waitFor(store, { resource, key }, gone, limit).catch((cause: unknown) => {
    if (!limit.aborted) throw cause;
    throw new CommandError(`${kind} ${key.name} is being deleted, and something keeps it`, {
      exitCode: EXIT.negative,
      next: "read its finalizers; then run this again",
      cause,
    });
  });
}

function resourceOf(kind: string | undefined): Resource<KubeObject> {
  const resource = KINDS[kind ?? ""];
  if (resource === undefined) throw new TypeError(`no kind ${kind}`);
  return resource;
}

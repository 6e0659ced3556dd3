import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isAlreadyExists, mutate, type ObjectStore, waitFor } from "@mooring/store";
import { jsonEqual } from "../schema/model.ts";
import { fillIn } from "./definition-kind.ts";
import { readDefinitions } from "./read-definitions.ts";
import { type CustomResourceDefinition, CustomResourceDefinitions } from "./types.ts";
import { isEstablished } from "./validate-definition.ts";

/** A folder of `deploy` in the repository or the package, however deep this file was bundled below it. */
function deployFolder(name: string): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = dirname(folder)) {
    const found = join(folder, "deploy", name);
    if (existsSync(found)) return found;
    if (folder === dirname(folder))
      throw new Error(`deploy/${name} is missing above ${start}: install Mooring again`);
  }
}

/**
 * The definitions that come with Mooring: `deploy/crds`, and those of `deploy/standalone-crds`, which a cluster gets from the
 * projects that they are of.
 */
export async function bundledCrds(): Promise<string[]> {
  return [...(await definitionsIn("crds")), ...(await definitionsIn("standalone-crds"))];
}

async function definitionsIn(name: string): Promise<string[]> {
  const folder = deployFolder(name);
  const files = await readdir(folder);
  return files
    .filter((file) => file.endsWith(".yaml"))
    .sort()
    .map((file) => join(folder, file));
}

/**
 * Creates or updates the definitions in these YAML files and resolves when all of them are Established.
 * Needs a CRD controller: ours, or a cluster's.
 */
export async function installCrds(
  store: ObjectStore,
  files: readonly string[],
  options: { signal?: AbortSignal } = {},
): Promise<void> {
  const signal = options.signal ?? new AbortController().signal;
  const definitions = await readDefinitions(files);
  await Promise.all(definitions.map((definition) => install(store, definition, signal)));
  await Promise.all(
    definitions.map(({ metadata: { name } }) =>
      waitFor(
        store,
        { resource: CustomResourceDefinitions, key: { name } },
        (crd) => crd !== undefined && isEstablished(crd),
        signal,
      ),
    ),
  );
}

const MANAGER = { fieldManager: "mooring" };

async function install(
  store: ObjectStore,
  definition: CustomResourceDefinition,
  signal: AbortSignal,
): Promise<void> {
  try {
    await store.create(CustomResourceDefinitions, structuredClone(definition), { ...MANAGER, signal });
    return;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const { name } = definition.metadata;
  // As the server stores it: what it fills in is no difference, and a write costs a check of every rule.
  const wanted = structuredClone(definition);
  fillIn(wanted.spec);
  await mutate(
    store,
    CustomResourceDefinitions,
    { name },
    {
      change: (crd) => (jsonEqual(crd.spec, wanted.spec) ? undefined : { ...crd, spec: wanted.spec }),
      ...MANAGER,
      signal,
    },
  );
}

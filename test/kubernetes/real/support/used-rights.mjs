// Which rights Mooring's accounts have used on a real API server, by step of `npm run test:kubernetes`: what no step has used is
// given for nothing. `--record` keeps it in docs/conformance-rights.json.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { ROOT } from "../../../../scripts/lib/setup.mjs";

const RECORD = join(ROOT, "docs/conformance-rights.json");
const ROLES = join(ROOT, "deploy/manifests/rbac.yaml");

/** For {@link usedIn}: `used` as `readAudit` has it. */
export async function noteUsed(used) {
  const file = process.env.MOORING_USED_RIGHTS;
  if (file === undefined) return;
  const accounts = Object.entries(used).sort(([one], [other]) => (one < other ? -1 : 1));
  const sorted = accounts.map(([account, rights]) => [account, [...rights].sort()]);
  await writeFile(file, JSON.stringify(Object.fromEntries(sorted)));
}

/** Runs a step; returns what the accounts have used in it: `{ account: ["verb group/resource"] }`. */
export async function usedIn(file, work) {
  process.env.MOORING_USED_RIGHTS = file;
  try {
    await work();
  } finally {
    delete process.env.MOORING_USED_RIGHTS;
  }
  return JSON.parse(await readFile(file, "utf8"));
}

/** By step: `{ at, commit, clean, used }`. */
export async function recordedRights() {
  return JSON.parse(await readFile(RECORD, "utf8").catch(() => '{"steps":{}}')).steps;
}

/** Other steps' rights stay as they are. */
export async function recordRights(name, result) {
  const steps = { ...(await recordedRights()), [name]: result };
  const sorted = Object.entries(steps).sort(([one], [other]) => (one < other ? -1 : 1));
  await writeFile(RECORD, `${JSON.stringify({ steps: Object.fromEntries(sorted) }, null, 1)}\n`);
}

/** Verbs that a role of these manifests gives and no step has used. `steps`: as they are recorded. */
export function unusedRights(manifests, steps) {
  const used = new Set();
  for (const step of Object.values(steps))
    for (const [account, rights] of Object.entries(step.used))
      for (const right of rights)
        used.add(`${account}: ${right}`).add(`${account}: ${right.split(" in ")[0]}`);
  return givenRights(manifests).filter((right) => !used.has(right));
}

/** `account: verb group/resource[ in NAMESPACE]`, by the roles. */
function givenRights(manifests) {
  const given = [];
  for (const document of parseAllDocuments(manifests)) {
    const { kind, metadata, rules = [] } = document.toJS() ?? {};
    if (!/^(Cluster)?Role$/.test(kind)) continue;
    // The role that lets the controller read leases of images has a name of its own.
    const account = metadata.name === "mooring-image-leases" ? "mooring-controller" : metadata.name;
    const where = kind === "Role" ? ` in ${metadata.namespace}` : "";
    for (const { apiGroups, resources, verbs } of rules)
      for (const group of apiGroups)
        for (const resource of resources)
          for (const verb of verbs) given.push(`${account}: ${verb} ${group}/${resource}${where}`);
  }
  return given;
}

/** Of the roles as they stand in deploy/manifests. */
export async function unusedInManifests(steps) {
  return unusedRights(await readFile(ROLES, "utf8"), steps);
}

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { missingRights, type Right } from "@mooring/sidecars";
import type { KubeObject, ObjectStore } from "@mooring/store";
import { parseAllDocuments } from "yaml";
import { ACCOUNT_RIGHTS } from "./rights.ts";

const FILE = fileURLToPath(new URL("../../../../deploy/manifests/rbac.yaml", import.meta.url));

/** The namespace of records, and of the accounts. */
const RECORDS = "mooring";

interface Role {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
}

/** `verb group/resource @namespace` of all that the roles of these names give. */
async function given(...names: string[]): Promise<Set<string>> {
  const roles = parseAllDocuments(await readFile(FILE, "utf8")).map((document) => document.toJS() as Role);
  const all = new Set<string>();
  for (const { kind, metadata, rules = [] } of roles) {
    if (!/^(Cluster)?Role$/.test(kind) || !names.includes(metadata.name)) continue;
    for (const { apiGroups, resources, verbs } of rules)
      for (const group of apiGroups)
        for (const resource of resources)
          for (const verb of verbs) all.add(`${verb} ${group}/${resource} @${metadata.namespace ?? ""}`);
  }
  return all;
}

/** The same of what the process of an account asks for. */
function asked(account: string): string[] {
  const rights = [...(ACCOUNT_RIGHTS[account]?.values() ?? [])].flat();
  return rights.flatMap(({ resource, subresource, verbs, inNamespace }) => {
    const name = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
    return verbs.map(
      (verb) => `${verb} ${resource.group}/${name} @${inNamespace === true ? RECORDS : (inNamespace ?? "")}`,
    );
  });
}

test("the roles in deploy/ give what the processes ask for at their start", async () => {
  const controller = await given("mooring-controller", "mooring-image-leases");
  assert.deepEqual(
    asked("mooring-controller").filter((each) => !controller.has(each)),
    [],
  );
  const node = await given("mooring-node");
  assert.deepEqual(
    asked("mooring-node").filter((each) => !node.has(each)),
    [],
  );
});

test("a node's role gives nothing that the node does not ask for", async () => {
  const wanted = new Set(asked("mooring-node"));
  assert.deepEqual(
    [...(await given("mooring-node"))].filter((each) => !wanted.has(each)),
    [],
  );
});

/** A server that allows everything but `denied`, as {@link given} writes it; a right in a namespace counts there only. */
function serverWithout(denied: string): ObjectStore {
  const create = (_kind: unknown, review: KubeObject) => {
    const { spec } = review as unknown as { spec: { resourceAttributes: Record<string, string> } };
    const { group, resource, subresource, verb, namespace } = spec.resourceAttributes;
    const name = subresource ? `${resource}/${subresource}` : resource;
    const allowed = `${verb} ${group}/${name} @${namespace}` !== denied;
    return Promise.resolve({ ...review, status: { allowed } });
  };
  return { create } as unknown as ObjectStore;
}

/** As doctor names it: `verb resource.group/subresource @namespace`. */
function asReported(right: string): string {
  const [verb = "", path = "", namespace = ""] = right.split(" ");
  const [group = "", plural = "", subresource] = path.split("/");
  const resource = group === "" ? plural : `${plural}.${group}`;
  return `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`} ${namespace}`;
}

test("each right that is taken out of a role in deploy/ is reported by resource and verb, and nothing else is", async () => {
  const roles = {
    "mooring-controller": ["mooring-controller", "mooring-image-leases"],
    "mooring-node": ["mooring-node"],
  };
  for (const [account, names] of Object.entries(roles)) {
    const needs = ACCOUNT_RIGHTS[account] ?? new Map<string, Right[]>();
    for (const right of await given(...names)) {
      const lacks = await missingRights(serverWithout(right), needs, { namespace: RECORDS });
      const reported = lacks.map(({ verb, resource, namespace = "" }) => `${verb} ${resource} @${namespace}`);
      assert.deepEqual(reported, [asReported(right)], account);
    }
  }
});

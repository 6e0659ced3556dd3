import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Right } from "@mooring/sidecars";
import { parseAllDocuments } from "yaml";
import { CONTROLLER_RIGHTS, NODE_RIGHTS } from "./rights.ts";

const FILE = fileURLToPath(new URL("../../../../deploy/manifests/rbac.yaml", import.meta.url));

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

function asked(rights: readonly Right[]): string[] {
  return rights.flatMap(({ resource, subresource, verbs, inNamespace }) => {
    const name = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
    return verbs.map((verb) => `${verb} ${resource.group}/${name} @${inNamespace ?? ""}`);
  });
}

test("the roles in deploy/ give what the processes ask for at their start", async () => {
  const controller = await given("mooring-controller", "mooring-image-leases");
  assert.deepEqual(
    asked(CONTROLLER_RIGHTS).filter((each) => !controller.has(each)),
    [],
  );
  const node = await given("mooring-node");
  assert.deepEqual(
    asked(NODE_RIGHTS).filter((each) => !node.has(each)),
    [],
  );
});

test("a node's role gives nothing that the node does not ask for", async () => {
  const wanted = new Set(asked(NODE_RIGHTS));
  assert.deepEqual(
    [...(await given("mooring-node"))].filter((each) => !wanted.has(each)),
    [],
  );
});

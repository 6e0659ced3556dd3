import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import type { Connection } from "./connection.ts";

const WORLD = fileURLToPath(new URL("../world.yaml", import.meta.url));

interface Thing {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
}

/** Makes everything that the tables ask about. */
export async function makeWorld(server: Connection): Promise<void> {
  for (const document of parseAllDocuments(await readFile(WORLD, "utf8")))
    await apply(server, document.toJS() as Thing);
}

/** The namespace whose pods have to keep to a level, made when it is not there. */
export async function strictNamespace(server: Connection, level: string, version: string): Promise<string> {
  const name = `${level}-${version.replace(".", "-")}`;
  const key = "pod-security.kubernetes.io/enforce";
  const labels = { [key]: level, [`${key}-version`]: version };
  await apply(server, { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
  const metadata = { name: "default", namespace: name };
  await apply(server, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  return name;
}

async function apply(server: Connection, thing: Thing): Promise<void> {
  const { apiVersion, kind, metadata } = thing;
  const { name, namespace } = metadata;
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const inside = namespace === undefined ? "" : `/namespaces/${namespace}`;
  const path = `${root}${inside}/${kind.toLowerCase()}s/${name}?fieldManager=compared&force=true`;
  const type = "application/apply-patch+yaml";
  const { code, body } = await server.send("PATCH", path, { body: JSON.stringify(thing), type });
  if (code >= 300) throw new Error(`${kind} ${name}: ${code} ${body.message}`);
}

import type { ObjectStore, Pod } from "@mooring/store";
import type { RegistryAuths } from "../../images/index.ts";
import { ObjectEntries } from "./object-entries.ts";

/** Credentials of the pod's imagePullSecrets, by registry; a later one wins. As in Kubernetes, a missing one is none. */
export async function registryAuths(store: ObjectStore, { metadata, spec }: Pod): Promise<RegistryAuths> {
  const auths: Record<string, unknown> = {};
  const objects = new ObjectEntries(store, metadata.namespace ?? "");
  for (const { name = "" } of spec?.imagePullSecrets ?? []) {
    const entries = await objects.secret(name, true);
    const config = entries[".dockerconfigjson"];
    const old = entries[".dockercfg"];
    if (config !== undefined)
      Object.assign(auths, asObject(asObject(parse(config, name), name).auths ?? {}, name));
    else if (old !== undefined) Object.assign(auths, asObject(parse(old, name), name));
  }
  return auths;
}

/** What is wrong with it is not reported: the parser's message has a piece of it. */
function parse(text: Buffer, secret: string): unknown {
  try {
    return JSON.parse(text.toString("utf8"));
  } catch {
    throw new Error(`secret "${secret}" of imagePullSecrets is no JSON`);
  }
}

function asObject(value: unknown, secret: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error(`secret "${secret}" of imagePullSecrets has no credentials of registries`);
}

import { isNotFound, type ObjectStore, Secrets } from "@mooring/store";
import type { SecretRef } from "./references.ts";

/** The secret that a call needs is not there. */
export class SecretMissing extends Error {
  override readonly name = "SecretMissing";

  constructor({ name, namespace }: SecretRef) {
    super(`secret ${namespace}/${name} does not exist`);
  }
}

/**
 * The content of a secret, read for one call and kept nowhere. Values are text: what is not UTF-8 has to be
 * stored in an encoding that the driver documents (K8S-108). Throws {@link SecretMissing}.
 */
export async function readSecret(
  store: ObjectStore,
  ref: SecretRef | undefined,
  signal?: AbortSignal,
): Promise<Record<string, string>> {
  if (ref === undefined) return {};
  const data = await dataOf(store, ref, signal);
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]),
  );
}

/** The same, but a secret that is gone counts as empty: taking something away must not wait for it for ever. */
export async function readSecretIfAny(
  store: ObjectStore,
  ref: SecretRef | undefined,
  signal?: AbortSignal,
): Promise<Record<string, string>> {
  try {
    return await readSecret(store, ref, signal);
  } catch (error) {
    if (error instanceof SecretMissing) return {};
    throw error;
  }
}

async function dataOf(
  store: ObjectStore,
  ref: SecretRef,
  signal?: AbortSignal,
): Promise<Record<string, string>> {
  try {
    const { data = {} } = await store.get(Secrets, ref, signal);
    return data;
  } catch (error) {
    if (isNotFound(error)) throw new SecretMissing(ref);
    throw error;
  }
}

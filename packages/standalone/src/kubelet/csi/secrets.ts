import { type ObjectStore, Secrets } from "@mooring/store";

/** The secret's entries as text, as every CSI call wants them. No reference: no secrets. */
export async function readSecret(
  store: ObjectStore,
  reference: { name?: string; namespace?: string } | undefined,
): Promise<Record<string, string>> {
  if (reference?.name === undefined) return {};
  const secret = await store.get(Secrets, { namespace: reference.namespace ?? "", name: reference.name });
  const entries = Object.entries(secret.data ?? {});
  return Object.fromEntries(
    entries.map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]),
  );
}

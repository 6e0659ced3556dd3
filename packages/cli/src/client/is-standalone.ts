import type { ObjectStore, RestStore } from "@mooring/store";

/** Whether the server is one of Mooring's standalone mode, which has more to say, and does more, than a cluster. */
export async function isStandalone(store: ObjectStore): Promise<boolean> {
  const { getText } = store as Partial<Pick<RestStore, "getText">>;
  if (getText === undefined) return false;
  const { gitVersion } = JSON.parse(await getText.call(store, "/version")) as { gitVersion?: string };
  return gitVersion?.endsWith("+mooring") === true;
}

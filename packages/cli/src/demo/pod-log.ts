import type { RestStore } from "@mooring/store";
import { NAMESPACE } from "./manifests.ts";

/** The whole log of a one-container pod of the demo. */
export function podLog(store: Pick<RestStore, "getText">, name: string): Promise<string> {
  return store.getText(`/api/v1/namespaces/${NAMESPACE}/pods/${name}/log`);
}

/** The last line of a pod's log that is a number: what its program knows is durable. */
export async function lastAcknowledged(store: Pick<RestStore, "getText">, name: string): Promise<number> {
  const numbers = (await podLog(store, name)).split("\n").filter((line) => /^\d+$/.test(line));
  return Number(numbers.at(-1) ?? 0);
}

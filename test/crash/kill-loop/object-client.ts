import { type ConfigMap, ConfigMaps } from "@mooring/store";
import type { Random } from "@mooring/store/testing";
import { type Client, type Life, NAMESPACE } from "./life.ts";

const NAMES = 6;

/** Objects that nothing but the store is about. */
export class ObjectClient implements Client {
  readonly #index: number;

  constructor(index: number) {
    this.#index = index;
  }

  async act({ ledger, store }: Life, random: Random): Promise<void> {
    const key = { namespace: NAMESPACE, name: `config-${this.#index}-${random.below(NAMES)}` };
    const text = "x".repeat(random.below(4096));
    if (ledger.state(ConfigMaps, key) === "absent") {
      const object: ConfigMap = { apiVersion: "v1", kind: "ConfigMap", metadata: key, data: { text } };
      return ledger.create(store, ConfigMaps, object);
    }
    if (random.chance(0.4)) return ledger.delete(store, ConfigMaps, key);
    return ledger.patch(store, ConfigMaps, key, { data: { text } });
  }
}

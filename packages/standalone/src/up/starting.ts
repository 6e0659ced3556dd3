import type { CallMetrics } from "@mooring/csi";
import type { LocalStore, Logger, ResourceRegistry } from "@mooring/store";
import type { KindChanges } from "../crd/index.ts";
import type { MutableKindRegistry } from "../kinds/kind-info.ts";
import type { Parts } from "../storage/parts.ts";
import type { StandaloneOptions } from "./options.ts";
import type { StateFolder } from "./state-folder.ts";

/** What the steps of starting share. */
export interface Starting {
  options: StandaloneOptions;
  folder: StateFolder;
  registry: ResourceRegistry;
  kinds: MutableKindRegistry;
  /** What becomes of the kinds of definitions. */
  changes: KindChanges;
  store: LocalStore;
  parts: Parts;
  logger: Logger;
  /** The calls that the driver serves. */
  calls: CallMetrics;
}

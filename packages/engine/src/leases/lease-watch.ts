import {
  createInformer,
  type Informer,
  type Lease,
  Leases,
  type Logger,
  type ObjectStore,
} from "@mooring/store";
import { LEASE_IMAGE_LABEL, LEASE_NAMESPACE } from "../api/names.ts";
import type { Clock } from "../host/host.ts";

/** Name of the Lease of an image. */
export function leaseName(image: string): string {
  return `mooring-image-${image}`;
}

/**
 * When each version of an image's lease was new to us, by our own clock: whether a holder has lost its lease is never
 * derived from two machines' clocks.
 */
export class LeaseWatch {
  readonly informer: Informer<Lease>;
  readonly #clock: Clock;
  readonly #seen = new Map<string, { version: string; at: number }>();

  constructor(store: ObjectStore, clock: Clock, logger: Logger) {
    this.#clock = clock;
    const selection = { namespace: LEASE_NAMESPACE, labelSelector: LEASE_IMAGE_LABEL };
    this.informer = createInformer(store, Leases, { ...selection, logger });
    this.informer.onChange((old, lease) => {
      if (lease !== undefined) this.unchangedMs(lease);
      else if (old !== undefined) this.#seen.delete(old.metadata.name);
    });
  }

  /** For how long this version has been the newest that we have seen. The lease has to come fresh from the store. */
  unchangedMs({ metadata: { name, resourceVersion = "" } }: Lease): number {
    const now = this.#clock.sinceBoot();
    const seen = this.#seen.get(name);
    if (seen?.version === resourceVersion) return now - seen.at;
    this.#seen.set(name, { version: resourceVersion, at: now });
    return 0;
  }
}

import type { ServiceClient } from "../wire/method-types.ts";
import type { ServiceName, services, servicesV0 } from "../wire/services.ts";

/** A plugin's services, typed. A service or method that the plugin does not have returns UNIMPLEMENTED. */
export type CsiClient = { readonly [S in ServiceName]: ServiceClient<(typeof services)[S]> } & {
  /** The same plugin by csi.v0. */
  readonly v0: { readonly [S in keyof typeof servicesV0]: ServiceClient<(typeof servicesV0)[S]> };
  readonly endpoint: string;
  /** Ends the connection; calls under way fail with UNAVAILABLE. */
  close(): void;
};

import type { Handlers } from "./method-types.ts";
import type { ServiceName, services } from "./services.ts";

/**
 * Handlers by service. A service that is left out is not served, except Identity; a method that is left out returns
 * UNIMPLEMENTED, except those that only report what the plugin can do.
 */
export type Services = { [S in ServiceName]?: Handlers<(typeof services)[S]> };

/** Typed handlers as they are found: by the name a method has in TypeScript. */
export type AnyHandlers = Readonly<Record<string, unknown>>;

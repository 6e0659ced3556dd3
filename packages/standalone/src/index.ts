export type { Standalone, StandaloneOptions } from "./up/options.ts";
export { startStandalone } from "./up/start.ts";

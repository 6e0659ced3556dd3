export type { DriverMode, DriverOptions } from "./context.ts";
export { CSI_DRIVER_SPEC } from "./csi-driver-spec.ts";
export { createDriver } from "./driver.ts";
export { snapshotIdOf, volumeIdOf } from "./names.ts";
export { type ServeOptions, type Serving, serveDriver } from "./serve.ts";

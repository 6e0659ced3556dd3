/** What tests of all packages share. Needs the development dependencies of this repository. */

export { knownKeys } from "../controller/reconciler/at-rest.ts";
export { type EventuallyOptions, eventually } from "../runtime/eventually.ts";
export { type ActOptions, actOn } from "./act-on.ts";
export { bundleProgram } from "./bundle-program.ts";
export { type CephCluster, cephOfFile, startCeph } from "./ceph/cluster.ts";
export { withCeph } from "./ceph/install.ts";
export { covers } from "./covers.ts";
export { type Disturbance, disturb, untilEachHasStepped } from "./disturb.ts";
export { eventuallyObject } from "./eventually-object.ts";
export { endAtRest, type NothingSleepsOptions, nothingSleeps } from "./nothing-sleeps.ts";
export { processorTime } from "./processor-time.ts";
export { Random } from "./random.ts";
export { refusingStore } from "./refusing-store.ts";
export {
  type Amounts,
  currentPart,
  everyday,
  howMany,
  killEveryFailpoint,
  type Part,
  type SampleSizes,
  sample,
  thorough,
} from "./sample.ts";
export { startTestApiServer, type TestApiServer } from "./test-api-server.ts";

import type { Exec } from "@mooring/engine";
import type { EventRecorder, Logger, ObjectStore, Pod, WrittenCache } from "@mooring/store";
import type { ClusterView } from "../../controllers/cluster-view.ts";
import type { Runtime } from "../../runtime/index.ts";
import type { Evictions } from "../eviction/evictions.ts";
import type { LostMounts } from "../volumes/lost-mounts.ts";
import type { NodeFacts } from "./field-ref.ts";
import type { PodImages } from "./pod-images.ts";
import type { PodVolumes } from "./pod-volumes.ts";
import type { Prober } from "./prober.ts";
import type { References } from "./references.ts";
import type { Seats } from "./seats.ts";
import type { UserRanges } from "./user-ranges.ts";
import type { PodWakes } from "./wakes.ts";

/** What the pods of a node are run with. */
export interface PodControllerOptions {
  /** How changes of secrets and config maps that pods read are noticed: by a watch of all, or by asking now and then. */
  referencesBy?: "watch" | "ask";
  store: ObjectStore;
  view: ClusterView;
  runtime: Runtime;
  volumes: PodVolumes;
  images: PodImages;
  evictions: Evictions;
  lostMounts: LostMounts;
  users: UserRanges;
  exec: Exec;
  node: NodeFacts;
  events: EventRecorder;
  logger: Logger;
  wakes: PodWakes;
  signal: AbortSignal;
}

/** What the steps for a pod are made with. */
export interface PodContext extends PodControllerOptions {
  pods: WrittenCache<Pod>;
  prober: Prober;
  /** Undefined: there are no events for them. */
  references: References | undefined;
  /** By `UID/CONTAINER`: why the last try to start it failed before anything ran. */
  startErrors: Map<string, { reason: string; message: string }>;
  /** Taken by what works, and not by what waits for a container. */
  seats: Seats;
}

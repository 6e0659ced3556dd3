import { setMaxListeners } from "node:events";
import { defined, silentLogger } from "@mooring/store";
import type { ControllerName } from "./controllers.ts";
import { keepControlling } from "./keep-controlling.ts";
import { Caches } from "./kube/caches.ts";
import type { SidecarOptions } from "./options.ts";
import { reportMissing } from "./rights/check.ts";
import { electionNeeds } from "./rights/needs.ts";
import { DriverNames, Leadership, type Shared } from "./shared.ts";
import type { Sidecars } from "./start.ts";

/** Which drivers, and what is the same for all of them. */
export interface ManyDriversOptions extends Omit<SidecarOptions, "endpoint" | "nodeDeployment"> {
  /** Sockets, each of another driver: `unix:///path/csi.sock`. */
  endpoints: readonly string[];
  /** Called whenever what {@link ManyDrivers.drivers} lists has changed. */
  onProgress?: (drivers: readonly ControlledDriver[]) => void;
}

/** What is known about the driver at one socket; live. */
export interface ControlledDriver {
  readonly endpoint: string;
  /** As it called itself when it responded last; absent: it has not responded yet. */
  readonly name?: string;
  readonly version?: string;
  readonly controllers: readonly ControllerName[];
  /** Whether it is controlled and responds. */
  readonly ready: boolean;
  /** Why it is not controlled, or does not respond. */
  readonly trouble?: string;
}

/** The control planes of several drivers. */
export interface ManyDrivers {
  drivers(): ControlledDriver[];
  /** Settles when everything has stopped. */
  done: Promise<void>;
}

/**
 * The control plane around several drivers in one process. Each kind is listed and watched once, and one lease serves all of them. None
 * waits for another: one that does not respond, breaks, leaves or comes back as another one is reported by itself.
 */
export function startManySidecars(options: ManyDriversOptions): ManyDrivers {
  const { endpoints, onProgress, ...same } = options;
  const { store, signal, logger = silentLogger, leaderElection, namespace } = options;
  setMaxListeners(0, signal);
  const leadership = new Leadership();
  const caches = new Caches(store, logger, signal);
  const shared: Shared = { caches, leadership, names: new DriverNames() };
  const seats = endpoints.map((endpoint) => new Seat(endpoint));
  const drivers = () => seats.map((seat) => seat.report());
  const changed = () => onProgress?.(drivers());
  const control = (seat: Seat) => {
    const { endpoint } = seat;
    return keepControlling({ ...same, endpoint, logger: logger.child({ endpoint }) }, shared, {
      controlled(sidecars) {
        seat.taken(sidecars);
        changed();
      },
      broke(error) {
        seat.broke(error);
        changed();
      },
    });
  };
  const asking = { namespace: namespace ?? "kube-system", logger, signal };
  const rights = reportMissing(store, electionNeeds(leaderElection), asking);
  const leading = leadership.run(
    { store, logger, caches, ...defined({ leaderElection, namespace }) },
    signal,
  );
  const done = Promise.all([rights, leading, ...seats.map(control)]).then(() => caches.done);
  return { drivers, done };
}

/** What becomes of the driver at one socket. */
class Seat {
  readonly endpoint: string;
  #last: Sidecars | undefined;
  #broke: string | undefined = "it has not responded yet";

  constructor(endpoint: string) {
    this.endpoint = endpoint;
  }

  taken(sidecars: Sidecars): void {
    this.#last = sidecars;
    this.#broke = undefined;
  }

  broke({ message }: Error): void {
    this.#broke = message;
  }

  report(): ControlledDriver {
    const { driver, controllers = [], health } = this.#last ?? {};
    const trouble =
      this.#broke ?? (health?.ready === true ? undefined : health?.message || "it is not ready");
    const { name, version } = driver ?? {};
    const ready = trouble === undefined;
    return { endpoint: this.endpoint, controllers, ready, ...defined({ name, version, trouble }) };
  }
}

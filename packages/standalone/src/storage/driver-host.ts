import { setMaxListeners } from "node:events";
import { type ControllerName, keepControlling, unregisterNode } from "@mooring/sidecars";
import { defined, type Logger, managedBy, type ObjectStore } from "@mooring/store";
import type { DriverHost } from "../kubelet/driver-registration/context.ts";
import type { Running } from "./parts.ts";
import { stopped } from "./until-stopped.ts";

interface DriverHostOptions {
  /** Of the API server, wherever that is. */
  store: ObjectStore;
  nodeName: string;
  /** Which controllers each driver gets; default: all that it can have. */
  controllers?: readonly ControllerName[];
  logger: Logger;
  signal: AbortSignal;
}

interface Hosted {
  stop: AbortController;
  done: Promise<void>;
}

/**
 * Drivers of others that have registered on this node: each has controllers of its own, which know its socket only, and which
 * start over when they break. None waits for another.
 */
export function startDriverHost(options: DriverHostOptions): DriverHost & Running {
  const { store, nodeName, signal } = options;
  const hosted = new Map<string, Hosted>();
  const stop = async (name: string): Promise<void> => {
    const driver = hosted.get(name);
    driver?.stop.abort();
    await driver?.done;
    hosted.delete(name);
  };
  return {
    async begin({ name, endpoint }) {
      await stop(name);
      const stopOne = new AbortController();
      setMaxListeners(0, stopOne.signal);
      hosted.set(name, { stop: stopOne, done: control(options, { name, endpoint }, stopOne.signal) });
    },
    async end(name) {
      await stop(name);
      await unregisterNode(store, name, nodeName);
    },
    done: stopped(signal).then(async () => void (await Promise.all([...hosted.keys()].map(stop)))),
  };
}

function control(
  { store, nodeName, controllers, logger }: DriverHostOptions,
  { name, endpoint }: { name: string; endpoint: string },
  signal: AbortSignal,
): Promise<void> {
  return keepControlling({
    ...{ store: managedBy(store, `external-${name}`), endpoint, nodeName, logger, signal },
    // Some of its fields can never be changed: what a driver brings has to be the first that is there.
    nodeRegistration: { createsCsiDriver: false },
    ...defined({ controllers }),
  });
}

import { isAbsolute, join } from "node:path";
import { awaitServer, connectRegistration, type RegistrationClient } from "@mooring/csi";
import { failpoint } from "@mooring/store";
import type { RegistrationContext } from "./context.ts";
import type { DriverRegistrationStep } from "./decide.ts";
import type { SocketView } from "./read.ts";

const passed = {
  recorded: failpoint("standalone/kubelet/driver-recorded"),
  ended: failpoint("standalone/kubelet/driver-ended"),
};

/** Longest that a plugin may take for one response about itself, as for upstream's kubelet. */
const RESPONSE_MS = 10_000;
/** 0.2 was the first of csi.v0. Which of the two is spoken shows when it is called. */
const VERSION = /^v?(?:1|0\.[23])(?:\.|$)/;
/** As the specification has it for names of drivers. */
const NAME = /^[a-zA-Z0-9]([-a-zA-Z0-9.]{0,61}[a-zA-Z0-9])?$/;

/** Carries out one step. */
export async function applyRegistrationStep(
  context: RegistrationContext,
  view: SocketView,
  step: DriverRegistrationStep,
): Promise<void> {
  if (step.do === "register") return register(context, view, step.identity);
  await leave(context, view.socket, step.driver);
}

/** What a plugin says that it is, once it is known to be a driver that can be taken. */
interface Announced {
  name: string;
  /** `unix:///path` of the driver's own socket. */
  endpoint: string;
}

async function register(context: RegistrationContext, view: SocketView, identity: string): Promise<void> {
  const { folder, signal, logger } = context;
  const path = join(folder, view.socket);
  await awaitServer(`unix://${path}`, { timeoutMs: RESPONSE_MS, signal });
  const plugin = connectRegistration(`unix://${path}`, { timeoutMs: RESPONSE_MS });
  try {
    try {
      await take(context, view, { identity, ...(await announced(context, plugin, view)) });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      // It may not hear it: the refusal is an event of the node as well.
      if (!signal.aborted)
        await plugin.notifyRegistrationStatus({ pluginRegistered: false, error: why }).catch(() => {});
      throw error;
    }
    await plugin.notifyRegistrationStatus({ pluginRegistered: true }, { signal }).catch((error: unknown) => {
      logger.warn(
        { err: error, socket: path },
        "the driver is registered, but could not be notified of that",
      );
    });
  } finally {
    plugin.close();
  }
}

async function announced(
  { folder, records, drivers, signal }: RegistrationContext,
  plugin: RegistrationClient,
  { socket, registered }: SocketView,
): Promise<Announced> {
  const { type, name, endpoint, supportedVersions } = await plugin.getInfo({}, { signal });
  if (type !== "CSIPlugin") throw new Error(`plugins of type ${type || '""'} are not served, only CSIPlugin`);
  if (!NAME.test(name)) throw new Error(`${JSON.stringify(name)} is no name of a CSI driver`);
  if (!supportedVersions.some((version) => VERSION.test(version))) {
    const has = supportedVersions.join(", ") || "none";
    throw new Error(`driver ${name} supports CSI ${has}; version 1, or 0.2 or later, is needed`);
  }
  const holder = records.socketOf(name);
  if (holder !== undefined && holder !== socket)
    throw new Error(`driver ${name} is registered by ${join(folder, holder)} already`);
  if (drivers.has(name) && registered?.name !== name) throw new Error(`driver ${name} is Mooring's own`);
  // An empty endpoint: the driver serves on the very socket that it registers with.
  const path = endpoint === "" ? join(folder, socket) : endpoint.replace(/^unix:(\/\/)?/, "");
  if (!isAbsolute(path)) throw new Error(`the socket of driver ${name}, ${endpoint}, is no absolute path`);
  return { name, endpoint: `unix://${path}` };
}

async function take(
  context: RegistrationContext,
  { socket, registered }: SocketView,
  { name, endpoint, identity }: Announced & { identity: string },
): Promise<void> {
  const { drivers, records, host, manager, logger, signal } = context;
  if (registered !== undefined && registered.name !== name) await leave(context, socket, registered.name);
  await drivers.register(name, endpoint, signal);
  await records.put(socket, { name, identity });
  passed.recorded();
  await host.begin({ name, endpoint });
  logger.info({ driver: name, socket: endpoint }, "registered a driver");
  report(context, "Normal", "CSIDriverRegistered", `registered CSI driver ${name} at ${endpoint}`);
  manager.retry(name);
}

/** Its volumes stay as they are: only this driver can take them away. */
async function leave(context: RegistrationContext, socket: string, name: string): Promise<void> {
  const { drivers, records, host, manager, logger, folder } = context;
  drivers.unregister(name);
  await host.end(name);
  passed.ended();
  await records.remove(socket);
  manager.retry(name);
  const volumes = manager.volumesOf(name);
  const message = `CSI driver ${name} has left: ${join(folder, socket)} is gone`;
  logger.warn({ driver: name, volumes }, "a driver has left");
  if (volumes === 0) report(context, "Normal", "CSIDriverLeft", message);
  else {
    const inUse = `${volumes} of its volumes are in use on this node`;
    const advice = "pods keep them, and can release them only when the driver registers again";
    report(context, "Warning", "CSIDriverLeft", `${message}; ${inUse}: ${advice}`);
  }
}

/** Lets operators know, on the node's object. */
export function report(
  { view, nodeName, events }: Pick<RegistrationContext, "view" | "nodeName" | "events">,
  type: "Normal" | "Warning",
  reason: string,
  message: string,
): void {
  const node = view.nodes.get(nodeName);
  if (node !== undefined) events.event(node, type, reason, message);
}

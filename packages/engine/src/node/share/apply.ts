import { mkdir } from "node:fs/promises";
import { failpoint, mutate, type Outcome } from "@mooring/store";
import { type ShareManager, type ShareManagerStatus, ShareManagers } from "../../api/share-manager.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import { EngineError } from "../../errors.ts";
import { removeTree } from "../../host/remove-tree.ts";
import type { AgentContext } from "../context.ts";
import { growOnline, mountOptions, prepareFilesystem } from "../volume/filesystem.ts";
import { nodeLines, serverConfig, writeConfig } from "./config.ts";
import type { ShareStep } from "./decide.ts";
import { checkServable, type ShareLayout } from "./layout.ts";
import { choosePort } from "./port.ts";
import type { ShareReading } from "./read.ts";
import { endServer, rereadConfig, startServer } from "./server.ts";

type ActiveStep = Exclude<ShareStep, Outcome>;

const configured = failpoint("engine/share/config-written");

/** Makes the one change that a decision asks for. */
export async function applyShareStep(
  context: AgentContext,
  step: ActiveStep,
  view: ShareReading,
): Promise<void> {
  const { layout, name } = view;
  switch (step.do) {
    case "mount":
      await mount(context, view);
      return;
    case "grow":
      await grow(context, view);
      return;
    case "start":
      await start(context, view);
      return;
    case "admit":
      await admit(context, view);
      return;
    case "end":
      await end(context, name, layout);
      return;
    case "unmount":
      await unmount(context, layout);
      return;
    case "remove-folder":
      await removeTree(context.host, layout.folder);
      return;
    case "record":
      // First: an agent that is killed in between finds the old address again.
      await emitMoved(context, view, step.status);
      emitUntrusted(context, view, step.status);
      await recordStatus(context, name, step.status);
  }
}

/** Ends the server: nothing is written for clients any more. */
export async function end(
  { host, silences, admitted }: AgentContext,
  name: string,
  layout: ShareLayout,
): Promise<void> {
  await endServer(layout, host.clock);
  silences.delete(name);
  admitted.delete(name);
}

/** Unmounts only after the server has ended, which would else go on with what is below the mount. */
export async function unmount({ host }: AgentContext, layout: ShareLayout): Promise<void> {
  await host.mounts.unmount(layout.mount);
}

async function mount(context: AgentContext, { volume, device, layout }: ShareReading): Promise<void> {
  if (volume === undefined || device === undefined) throw new EngineError("ABORTED", "the volume went away");
  checkServable(layout);
  const { signal, host } = context;
  await mkdir(layout.mount, { recursive: true, mode: 0o700 });
  const prepared = await prepareFilesystem(context, { volume, device: device.path }, signal);
  // First: what is mounted here is served.
  await prepared.record();
  const options = mountOptions(prepared, [], false);
  const request = { source: device.path, target: layout.mount, fsType: prepared.type, options };
  await host.mounts.mount(request, signal);
}

/** Grows the file system, also right after the mount: a volume may have grown while no pod used it. */
async function grow(context: AgentContext, view: ShareReading): Promise<void> {
  const { name, device, layout, share, nodeID } = view;
  const top = (await context.host.mounts.at(layout.mount)).at(-1);
  if (device === undefined || top === undefined) throw new EngineError("ABORTED", "the volume went away");
  try {
    await growOnline(context, { device: device.path, mountPath: layout.mount, type: top.fsType });
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== "FAILED_PRECONDITION") throw error;
    await noteOffline(context, name);
  }
  const { state = "starting" } = share?.status ?? {};
  await recordStatus(context, name, { ...share?.status, state, nodeID, size: device.sizeBytes });
}

/** A file system that the kernel does not grow in use grows as soon as no pod uses it. */
async function noteOffline({ store, signal }: AgentContext, name: string): Promise<void> {
  await mutate(
    store,
    Volumes,
    { name },
    {
      change: ({ spec, status }) => {
        if (status !== undefined && status.expansion?.size !== spec.size)
          status.expansion = { size: spec.size };
      },
      subresource: "status",
      signal,
    },
  );
}

async function start(
  { host, signal, admitted }: AgentContext,
  { name, layout, address, recorded, clients, nodes }: ShareReading,
): Promise<void> {
  await mkdir(layout.recovery, { recursive: true, mode: 0o700 });
  const socket = { address, port: await choosePort(address, recorded.port) };
  await writeConfig(layout, serverConfig(layout, name, socket, clients) + nodeLines(nodes));
  configured();
  await startServer(layout, socket, host.clock, signal);
  admitted.set(name, clients.join());
}

/**
 * Signals the server instead of restarting it, which would make the connected clients wait for its grace period. An agent
 * that is killed before it signals the server does it again: only this life of the agent knows which clients it has
 * admitted.
 */
async function admit(
  { admitted }: AgentContext,
  { name, layout, recorded, clients, nodes }: ShareReading,
): Promise<void> {
  const { address, port } = recorded;
  if (address === undefined || port === undefined)
    throw new EngineError("ABORTED", "the server has no recorded address");
  await writeConfig(layout, serverConfig(layout, name, { address, port }, clients) + nodeLines(nodes));
  configured();
  await rereadConfig(layout);
  admitted.set(name, clients.join());
}

/** Clients go on asking the node that served the volume before: their programs hang until they mount it again. */
async function emitMoved(
  { store, events, host, signal, nodeID }: AgentContext,
  { share, name }: ShareReading,
  { state, endpoint }: ShareManagerStatus,
): Promise<void> {
  const { endpoint: before, nodeID: server } = share?.status ?? {};
  if (state !== "running" || before === undefined || before === endpoint) return;
  // The last of the others has left this server.
  if (endpoint === undefined && server === nodeID) return;
  if ((share?.spec.users ?? []).length === 0) return;
  const put = ({ status }: Volume): void => {
    if (status !== undefined) status.remountRequestedAt = host.clock.now().toISOString();
  };
  const volume = await mutate(store, Volumes, { name }, { change: put, subresource: "status", signal });
  const place = endpoint === undefined ? `on node "${nodeID}"` : `served at ${endpoint}`;
  const message = `the volume is ${place} now, no longer at ${before}: start the pods that use it again`;
  events.event(volume, "Warning", "ShareMoved", message);
}

/** Emits one event for each node that is refused, or that should be. */
function emitUntrusted(
  { events }: AgentContext,
  { share, volume }: ShareReading,
  { untrusted = [] }: ShareManagerStatus,
): void {
  const known = new Set((share?.status?.untrusted ?? []).map(({ message }) => message));
  for (const { refused, message } of untrusted) {
    if (volume === undefined || known.has(message)) continue;
    const reason = refused ? "NetworkNotTrusted" : "ServedOnUntrustedNetwork";
    const still = refused ? "" : " (it stays in until its workloads end)";
    events.event(volume, "Warning", reason, `${message}${still}`);
  }
}

async function recordStatus(
  { store, signal }: AgentContext,
  name: string,
  status: ShareManagerStatus,
): Promise<void> {
  const put = (share: ShareManager): ShareManager => ({ ...share, status });
  await mutate(store, ShareManagers, { name }, { change: put, subresource: "status", signal });
}

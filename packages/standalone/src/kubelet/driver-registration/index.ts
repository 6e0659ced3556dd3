import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Outcome, Reconciler, stepFailpoints } from "@mooring/store";
import { applyRegistrationStep, report } from "./apply.ts";
import type { DriverRegistrationOptions, RegistrationContext } from "./context.ts";
import { type DriverRegistrationStep, decideSocket } from "./decide.ts";
import { readSocket, type SocketView } from "./read.ts";
import { DriverRecords } from "./records.ts";
import { type FoundSockets, followSockets } from "./sockets.ts";

const failpoints = stepFailpoints<DriverRegistrationStep>("standalone/kubelet/driver-registration", {
  register: true,
  unregister: true,
});

/** One that does not respond delays no other: sockets are asked at the same time. */
const CONCURRENCY = 16;

/**
 * Takes the CSI drivers whose registration sockets are in the kubelet's folder, and drops those whose sockets are gone.
 * Resolves when the folder is watched. `done` resolves after the signal; what is registered stays so.
 */
export async function startDriverRegistration(
  options: DriverRegistrationOptions,
): Promise<{ done: Promise<void> }> {
  const { folder, signal } = options;
  await mkdir(folder, { recursive: true, mode: 0o750 });
  const records = await DriverRecords.open(options.records);
  let found: FoundSockets = new Map();
  const reconciler = reconcilerOf({ ...options, records, found: () => found });
  const seen = (now: FoundSockets): void => {
    const before = found;
    found = now;
    const changed = [...before.keys(), ...now.keys()].filter((each) => before.get(each) !== now.get(each));
    if (changed.length === 0) return;
    for (const socket of changed) reconciler.add(socket);
    // A driver that was refused because of another one's name may be taken now.
    for (const socket of now.keys()) if (records.get(socket) === undefined) reconciler.add(socket);
  };
  const following = await followSockets(folder, seen, signal);
  return { done: Promise.all([reconciler.run(signal), following.done]).then(() => {}) };
}

function reconcilerOf(
  context: RegistrationContext,
): Reconciler<SocketView, DriverRegistrationStep | Outcome> {
  const { store, logger, records, found, folder } = context;
  return new Reconciler<SocketView, DriverRegistrationStep | Outcome>({
    ...{ name: "driver-registration", store, logger, failpoints, concurrency: CONCURRENCY },
    backoff: { baseMs: 500, maxMs: 120_000 },
    sources: [],
    watched: [context.view.nodes],
    keys: () => new Set([...found().keys(), ...records.sockets()]),
    read: (socket) => readSocket(context, socket),
    decide: decideSocket,
    apply: (step, view) => applyRegistrationStep(context, view, step),
    async failed(socket, error) {
      const why = error instanceof Error ? error.message : String(error);
      const message = `cannot register the driver of ${join(folder, socket)}: ${why}`;
      report(context, "Warning", "CSIDriverNotRegistered", message);
    },
  });
}

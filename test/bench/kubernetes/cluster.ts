import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RestStore } from "@mooring/store";
import { runMiniKube } from "../../../packages/sidecars/src/testing/mini-kube.ts";
import { ScriptedDriver } from "../../../packages/sidecars/src/testing/scripted-driver.ts";
import { startControlPlane } from "../../kubernetes/real/support/control-plane.mjs";
import { resident } from "../memory/resident.ts";
import { AuditLog } from "./requests.ts";
import type { Side } from "./sides.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
/** Whose requests are counted. */
const USER = "mooring";
/** Seconds of processor time in a tick of /proc. */
const TICK = 0.01;

/** The binder's part is played by few lines, as a controller manager would ask for 20 objects a second. */
export interface BenchCluster {
  /** The administrator's. */
  store: RestStore;
  audit: AuditLog;
  /** Seconds of processor time that the control plane has used. */
  processor(): Promise<number>;
  /** Seconds from the control plane's start until it was at work. */
  started: number;
  /** MiB that all its processes have of the machine's memory. */
  resident(): Promise<number>;
  end(): Promise<void>;
}

/** A real API server with what `prepare` makes, a driver in memory, and a control plane between the two. */
export async function startCluster(
  bin: string,
  side: Side,
  prepare: (store: RestStore) => Promise<void>,
): Promise<BenchCluster> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-bench-"));
  const undo: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const end = async () => {
    for (const each of undo.reverse()) await each();
  };
  try {
    const plane = await startControlPlane({
      folder,
      bin,
      only: ["etcd", "kube-apiserver"],
      address: undefined,
    });
    undo.push(() => plane.stop());
    await plane.kubectl("apply", "--server-side", "-f", join(ROOT, "deploy/crds"));
    await plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
    const driver = await ScriptedDriver.start({ groups: true, nodeId: "n0" });
    undo.push(() => driver.stop());
    const store = await RestStore.fromKubeconfig(plane.admin);
    await prepare(store);
    const kube = new AbortController();
    const binding = runMiniKube(store, kube.signal);
    undo.push(async () => {
      kube.abort();
      await binding;
      store.close();
    });
    const ours = await plane.pki.identity(USER, `/O=system:masters/CN=${USER}`, undefined);
    const from = performance.now();
    const running = await side.start({ folder, kubeconfig: ours, endpoint: driver.endpoint });
    const started = (performance.now() - from) / 1000;
    undo.push(() => running.end());
    const sum = async (of: (pid: number) => Promise<number>) =>
      (await Promise.all(running.pids.map(of))).reduce((total, each) => total + each, 0);
    return {
      ...{ store, audit: new AuditLog(plane.audit.file, USER), started, end },
      processor: () => sum(processorOf),
      resident: () => sum(async (pid) => (await resident(pid)).all),
    };
  } catch (error) {
    await end();
    throw error;
  }
}

async function processorOf(pid: number): Promise<number> {
  const [, fields = ""] = (await readFile(`/proc/${pid}/stat`, "latin1")).split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return ((user ?? Number.NaN) + (system ?? Number.NaN)) * TICK;
}

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RestStore } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { runMiniKube } from "../../../packages/sidecars/src/testing/mini-kube.ts";
import { ScriptedDriver } from "../../../packages/sidecars/src/testing/scripted-driver.ts";
import { MooringProcess, plainEnvironment } from "../../csi/support/process.ts";
import { startControlPlane } from "../../kubernetes/real/support/control-plane.mjs";
import { AuditLog } from "./requests.ts";

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
  /** Seconds of processor time that `mooring controller` has used. */
  processor(): Promise<number>;
  pid: number;
  end(): Promise<void>;
}

/** A real API server, a driver in memory, and `mooring controller` between the two. */
export async function startCluster(bin: string): Promise<BenchCluster> {
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
    const kube = new AbortController();
    const binding = runMiniKube(store, kube.signal);
    undo.push(async () => {
      kube.abort();
      await binding;
      store.close();
    });
    const ours = await plane.pki.identity(USER, `/O=system:masters/CN=${USER}`, undefined);
    const controller = await startController(folder, ours, driver.endpoint);
    undo.push(() => controller.end());
    const { pid } = controller;
    return { store, audit: new AuditLog(plane.auditLog, USER), processor: () => processorOf(pid), pid, end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function startController(
  folder: string,
  kubeconfig: string,
  endpoint: string,
): Promise<MooringProcess> {
  const ready = join(folder, "ready");
  const args = ["--csi-address", endpoint, "--kubeconfig", kubeconfig, "--ready-file", ready];
  const controller = new MooringProcess(["controller", ...args, "--log-level", "warn"], plainEnvironment());
  await eventually("mooring controller to be ready", async () => {
    if (!controller.alive) throw new Error(`mooring controller has ended: ${controller.stderr}`);
    return (await readFile(ready, "utf8").catch(() => "")) !== "";
  });
  return controller;
}

async function processorOf(pid: number): Promise<number> {
  const [, fields = ""] = (await readFile(`/proc/${pid}/stat`, "latin1")).split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return ((user ?? Number.NaN) + (system ?? Number.NaN)) * TICK;
}

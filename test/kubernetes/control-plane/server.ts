import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { RestStore } from "@mooring/store";
import { programFolder } from "../real/support/components.mjs";
import { startControlPlane } from "../real/support/control-plane.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const PROGRAMS = ["etcd", "kube-apiserver"];

/** Why this cannot be tested here. */
export function missing(): string | undefined {
  const absent = PROGRAMS.filter((name) => !existsSync(join(programFolder(), name)));
  if (absent.length === 0) return undefined;
  return `${absent.join(" and ")} not in ${programFolder()}; "npm run test:kubernetes" builds them`;
}

/** A real API server with all kinds that control planes know, and nobody else. */
export interface Server {
  /** For files that go with it. */
  folder: string;
  /** The administrator's. */
  kubeconfig: string;
  store: RestStore;
  kubectl(...args: string[]): Promise<string>;
  end(): Promise<void>;
}

/** Etcd and API server as they are released. */
export async function startServer(): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-server-"));
  const undo: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const end = async () => {
    for (const each of undo.splice(0).reverse()) await each();
  };
  try {
    const plane = await startControlPlane({
      ...{ folder, bin: programFolder(), only: PROGRAMS, address: undefined },
    });
    undo.push(() => plane.stop());
    await plane.kubectl("apply", "--server-side", "-f", join(ROOT, "deploy/crds"));
    await plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
    const store = await RestStore.fromKubeconfig(plane.admin);
    undo.push(async () => store.close());
    return { folder, kubeconfig: plane.admin, store, kubectl: plane.kubectl, end };
  } catch (error) {
    await end().catch(() => {});
    throw error;
  }
}

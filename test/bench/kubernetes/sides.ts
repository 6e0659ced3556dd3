import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "@mooring/store/testing";
import { MooringProcess, plainEnvironment } from "../../csi/support/process.ts";
import { missingSidecars, sidecarsAdvice, startSidecar } from "../../kubernetes/sidecars.ts";
import { nothingSleeps, sleepersSocket } from "../../support/sleepers.ts";

/** What a control plane is started with. */
export interface SideInput {
  folder: string;
  kubeconfig: string;
  /** The driver's, `unix://...`. */
  endpoint: string;
}

/** The processes of a control plane. */
export interface Running {
  pids: readonly number[];
  end(): Promise<unknown>;
}

/** A control plane around a driver: Mooring, or the sidecars that it replaces. */
export interface Side {
  name: string;
  start(input: SideInput): Promise<Running>;
}

/** `mooring controller`, as it is. */
export const MOORING: Side = {
  name: "mooring",
  async start({ folder, kubeconfig, endpoint }) {
    const ready = join(folder, "ready");
    const args = ["--csi-address", endpoint, "--kubeconfig", kubeconfig, "--ready-file", ready];
    const sleepers = join(folder, "sleepers");
    const env = { ...plainEnvironment(), ...sleepersSocket(sleepers) };
    const controller = new MooringProcess(["controller", ...args, "--log-level", "warn"], env);
    await eventually("mooring controller to be ready", async () => {
      if (!controller.alive) throw new Error(`mooring controller has ended: ${controller.stderr}`);
      return (await readFile(ready, "utf8").catch(() => "")) !== "";
    });
    const end = () => nothingSleeps(sleepers).finally(() => controller.end());
    return { pids: [controller.pid], end };
  },
};

/** Those whose work is measured: nothing grows here, so csi-resizer is not among them. */
const SIDECARS = ["csi-provisioner", "csi-attacher", "csi-snapshotter", "snapshot-controller"];

/** Those that would have to be there to be measured, too, and are not. */
export const isWithoutSidecars = (): boolean => missingSidecars(SIDECARS).length > 0;

/** Why there is nothing beside us, and what to do about it. */
export function withoutSidecars(): string {
  return `without the Kubernetes project's sidecars beside it: ${sidecarsAdvice(SIDECARS)}`;
}

/** The sidecars of the Kubernetes project; `tuned`: with limits far above what they need. */
export function sidecars(tuned: boolean): Side {
  return {
    name: tuned ? "sidecars, tuned" : "sidecars",
    async start({ kubeconfig, endpoint }) {
      const children = SIDECARS.map((name) => {
        const args = [
          `--kubeconfig=${kubeconfig}`,
          ...(name === "snapshot-controller" ? [] : [`--csi-address=${endpoint}`]),
          ...(tuned ? ["--kube-api-qps=1000", "--kube-api-burst=1000", "--worker-threads=100"] : []),
        ];
        return startSidecar(name, args);
      });
      const end = () => Promise.all(children.map((child) => child.end()));
      return { pids: children.map(({ pid }) => pid), end };
    },
  };
}

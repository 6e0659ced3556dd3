import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "@mooring/store/testing";
import { programFolder } from "../kubernetes/real/support/components.mjs";

const DRIVER = "hostpathplugin";
const REGISTRAR = "csi-node-driver-registrar";

/** `MOORING_SIDECARS_BIN` names the folder; default: where Kubernetes' own programs are. */
const folderOfPrograms = (): string => process.env["MOORING_SIDECARS_BIN"] ?? programFolder();

/** Why there is no driver of another vendor to be tested with, and what to do. */
export function missingVendorDriver(): string | undefined {
  const folder = folderOfPrograms();
  const absent = [DRIVER, REGISTRAR].filter((name) => !existsSync(join(folder, name)));
  if (absent.length === 0) return undefined;
  return (
    `${absent.join(" and ")} not in ${folder}; build csi-driver-host-path and node-driver-registrar of ` +
    `github.com/kubernetes-csi (go build -mod=vendor -ldflags "-X main.version=v1"), and name their folder in MOORING_SIDECARS_BIN`
  );
}

/** The host-path driver of the Kubernetes project and its registrar, as they are run beside a kubelet. */
export interface VendorDriver {
  /** Folders and files of its volumes and snapshots. */
  volumes(): Promise<string[]>;
  /** Ends both, as a DaemonSet that is deleted. */
  stop(): Promise<void>;
}

/** `kubelet`: its root folder. */
export async function startVendorDriver(kubelet: string, nodeName: string): Promise<VendorDriver> {
  const own = join(kubelet, "plugins/hostpath");
  const state = join(own, "state");
  await mkdir(state, { recursive: true });
  const socket = join(own, "csi.sock");
  const driver = start(DRIVER, [
    `--endpoint=unix://${socket}`,
    `--nodeid=${nodeName}`,
    `--statedir=${state}`,
  ]);
  await eventually("the driver's socket", async () => existsSync(socket));
  const registrar = start(REGISTRAR, [
    ...[`--csi-address=${socket}`, `--kubelet-registration-path=${socket}`, "--timeout=60s"],
    `--plugin-registration-path=${join(kubelet, "plugins_registry")}`,
  ]);
  return {
    volumes: async () => (await readdir(state)).filter((name) => name !== "state.json"),
    async stop() {
      await registrar("SIGTERM");
      await driver("SIGTERM");
    },
  };
}

function start(program: string, args: readonly string[]): (signal: NodeJS.Signals) => Promise<void> {
  const child: ChildProcess = spawn(join(folderOfPrograms(), program), args, {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return async (signal) => {
    child.kill(signal);
    await ended;
  };
}

// A driver of another vendor on a node: it writes down how Kubernetes calls it, and fails where a flow wants it to.
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  Code,
  type CodeName,
  CsiError,
  type CsiServer,
  createServer,
  type Interceptor,
  type Services,
  serveRegistration,
} from "@mooring/csi";

const run = promisify(execFile);
const KUBELET = "/var/lib/kubelet";

export interface RecordedCall {
  /** `NodeStageVolume` */
  readonly method: string;
  readonly volumeId: string;
  readonly request: object;
  /** Calls for the same volume that had not ended when it began. */
  readonly pending: number;
  /** Milliseconds, by one clock for all. */
  readonly began: number;
  ended?: number;
  /** Undefined while it runs. */
  code?: CodeName;
}

type Before = (request: object) => void | Promise<void>;

export interface RecordingDriverOptions {
  nodeId: string;
  /** It has STAGE_UNSTAGE_VOLUME. */
  stages?: boolean;
  /** It has PUBLISH_UNPUBLISH_VOLUME. */
  attaches?: boolean;
}

/** Its volumes are folders with one file, which has the volume's id; they come when they are first asked for. */
export class RecordingDriver {
  readonly name: string;
  readonly socket: string;
  /** In the order in which they began. */
  readonly calls: RecordedCall[] = [];
  /** Every method that was ever called, also those that it does not have: `csi.v1.Node/NodeGetInfo`. */
  readonly methods: string[] = [];
  readonly #folder: string;
  readonly #before = new Map<string, Before>();
  readonly #servers: CsiServer[];

  constructor(name: string, options: RecordingDriverOptions) {
    this.name = name;
    this.#folder = join(KUBELET, "plugins", name);
    this.socket = join(this.#folder, "csi.sock");
    const driver = createServer(this.#services(options), {
      endpoint: `unix://${this.socket}`,
      interceptors: [this.#record],
      observe: ({ method }) => this.methods.push(method),
      // What the kubelet sends at once has to be seen here as it comes.
      ...{ locks: false, v0: false },
    });
    const endpoint = `unix://${join(KUBELET, "plugins_registry", `${name}-reg.sock`)}`;
    this.#servers = [driver, serveRegistration({ endpoint, driver: name, driverSocket: this.socket })];
  }

  async start(): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    for (const server of this.#servers) await server.start();
  }

  /** The kubelet sees it leave; nothing of it stays. */
  async stop(): Promise<void> {
    for (const server of this.#servers.toReversed()) await server.stop(0);
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Runs before each such call does anything; when it throws, the call has failed. */
  before(method: string, volumeId: string, act: Before): void {
    this.#before.set(`${method} ${volumeId}`, act);
  }

  /** The next calls fail so, and do nothing. */
  fail(method: string, volumeId: string, code: CodeName, times = Number.POSITIVE_INFINITY): void {
    let left = times;
    this.before(method, volumeId, () => {
      if (left-- > 0) throw new CsiError(Code[code], `${method} fails on purpose`);
    });
  }

  /** Of a volume, and of one method where that is given. */
  callsOf(volumeId: string, method?: string): RecordedCall[] {
    return this.calls.filter(
      (call) => call.volumeId === volumeId && (method === undefined || call.method === method),
    );
  }

  /** `NodeStageVolume OK`, each once where it follows itself. */
  stepsOf(volumeId: string): string[] {
    const steps = this.callsOf(volumeId).map(({ method, code }) => `${method} ${code ?? "pending"}`);
    return steps.filter((step, at) => step !== steps[at - 1]);
  }

  readonly #record: Interceptor = (next) => async (call) => {
    const { volumeId } = call.request as { volumeId?: string };
    if (volumeId === undefined) return next(call);
    const method = call.method.name;
    const pending = this.callsOf(volumeId).filter(({ code }) => code === undefined).length;
    const began = performance.now();
    const recorded: RecordedCall = { method, volumeId, request: call.request, pending, began };
    this.calls.push(recorded);
    try {
      await this.#before.get(`${method} ${volumeId}`)?.(call.request);
      const response = await next(call);
      recorded.code = "OK";
      return response;
    } catch (error) {
      recorded.code = error instanceof CsiError ? error.codeName : "INTERNAL";
      throw error;
    } finally {
      recorded.ended = performance.now();
    }
  };

  async #volume(volumeId: string): Promise<string> {
    const folder = join(this.#folder, "volumes", volumeId);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "file"), volumeId);
    return folder;
  }

  #services({ nodeId, stages = false, attaches = false }: RecordingDriverOptions): Services {
    const node: Services["node"] = {
      nodeGetInfo: () => ({ nodeId }),
      nodePublishVolume: async ({ volumeId, targetPath }) => {
        await mkdir(targetPath, { recursive: true });
        await bind(await this.#volume(volumeId), targetPath);
        return {};
      },
      nodeUnpublishVolume: async ({ targetPath }) => {
        await unbind(targetPath);
        await rmdir(targetPath).catch(() => {});
        return {};
      },
    };
    const staging: Services["node"] = {
      nodeStageVolume: async ({ volumeId, stagingTargetPath }) => {
        await bind(await this.#volume(volumeId), stagingTargetPath);
        return {};
      },
      nodeUnstageVolume: async ({ stagingTargetPath }) => {
        await unbind(stagingTargetPath);
        return {};
      },
    };
    return {
      identity: { getPluginInfo: () => ({ name: this.name, vendorVersion: "1" }) },
      node: { ...node, ...(stages ? staging : {}) },
      ...(attaches
        ? { controller: { controllerPublishVolume: () => ({}), controllerUnpublishVolume: () => ({}) } }
        : {}),
    };
  }
}

async function isMounted(target: string): Promise<boolean> {
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).split("\n");
  return lines.some((line) => line.split(" ")[4] === target);
}

async function bind(source: string, target: string): Promise<void> {
  if (!(await isMounted(target))) await run("mount", ["--bind", "--", source, target]);
}

async function unbind(target: string): Promise<void> {
  if (await isMounted(target)) await run("umount", ["--", target]);
}

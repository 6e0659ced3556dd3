import { awaitServer, type CallOptions, type CsiClient, connect, inItsVersion, v1 } from "@mooring/csi";
import type { Logger } from "@mooring/store";

/** What the node side of a driver can do. */
export interface NodeDriver {
  readonly name: string;
  readonly client: CsiClient;
  readonly stages: boolean;
  readonly expands: boolean;
  /** The driver says how full a volume is. */
  readonly measures: boolean;
  /** The driver sets the group of the files itself. */
  readonly mountsGroup: boolean;
  readonly singleNodeMultiWriter: boolean;
}

/** Drivers by name, on their sockets. Each is asked once what it can do, when it is first needed or when it registers. */
export interface Drivers {
  /** At a known socket, or registered now. */
  has(name: string): boolean;
  get(name: string, signal: AbortSignal): Promise<NodeDriver>;
  /**
   * Takes a driver that has registered itself, in place of an earlier one of its name. Throws, and leaves everything as it
   * was, when it does not respond or calls itself otherwise.
   */
  register(name: string, endpoint: string, signal: AbortSignal): Promise<void>;
  /** Forgets a driver that has registered itself; calls under way to it fail. */
  unregister(name: string): void;
  close(): void;
}

/** Longest that one call to a driver may take. */
const CALL_TIMEOUT_MS = 120_000;
/** Longest that each call to a driver that registers may take: others wait for their turn meanwhile. */
const ASK_TIMEOUT_MS = 10_000;

/** Drivers at known sockets, and those that register later. */
export function openDrivers(endpoints: Readonly<Record<string, string>>, logger: Logger): Drivers {
  return new NodeDrivers(endpoints, logger);
}

class NodeDrivers implements Drivers {
  readonly #endpoints: ReadonlyMap<string, string>;
  readonly #logger: Logger;
  readonly #known = new Map<string, Promise<NodeDriver>>();
  readonly #registered = new Set<string>();
  readonly #clients = new Set<CsiClient>();

  constructor(endpoints: Readonly<Record<string, string>>, logger: Logger) {
    this.#endpoints = new Map(Object.entries(endpoints));
    this.#logger = logger;
  }

  has(name: string): boolean {
    return this.#endpoints.has(name) || this.#registered.has(name);
  }

  async get(name: string, signal: AbortSignal): Promise<NodeDriver> {
    const found = this.#known.get(name);
    if (found !== undefined) return found;
    const endpoint = this.#endpoints.get(name);
    if (endpoint === undefined) {
      throw new Error(`driver name ${name} not found in the list of registered CSI drivers`);
    }
    const asked = this.#open(endpoint).then((client) =>
      describe(name, client, { signal }).catch((error: unknown) => {
        this.#drop(client);
        throw error;
      }),
    );
    this.#known.set(name, asked);
    asked.catch(() => this.#known.delete(name));
    return asked;
  }

  async register(name: string, endpoint: string, signal: AbortSignal): Promise<void> {
    const ask = { signal, timeoutMs: ASK_TIMEOUT_MS };
    await awaitServer(endpoint, ask);
    const client = await this.#openInItsVersion(endpoint, ask);
    try {
      const driver = await checkRegistration(name, endpoint, client, ask);
      this.unregister(name);
      this.#registered.add(name);
      this.#known.set(name, Promise.resolve(driver));
    } catch (error) {
      this.#drop(client);
      throw error;
    }
  }

  unregister(name: string): void {
    if (!this.#registered.delete(name)) return;
    const driver = this.#known.get(name);
    this.#known.delete(name);
    driver?.then(({ client }) => this.#drop(client)).catch(() => {});
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  async #open(endpoint: string): Promise<CsiClient> {
    const client = await connect(endpoint, { logger: this.#logger, timeoutMs: CALL_TIMEOUT_MS });
    this.#clients.add(client);
    return client;
  }

  /** A driver of somebody else: it may have csi.v0 alone. */
  async #openInItsVersion(endpoint: string, ask: CallOptions): Promise<CsiClient> {
    const channel = await connect(endpoint, { logger: this.#logger, timeoutMs: CALL_TIMEOUT_MS });
    try {
      const client = await inItsVersion(channel, ask);
      this.#clients.add(client);
      return client;
    } catch (error) {
      channel.close();
      throw error;
    }
  }

  #drop(client: CsiClient): void {
    client.close();
    this.#clients.delete(client);
  }
}

/** The driver is what it calls itself, and knows on which node it is. */
async function checkRegistration(
  name: string,
  endpoint: string,
  client: CsiClient,
  ask: { signal: AbortSignal; timeoutMs: number },
): Promise<NodeDriver> {
  const { name: itself } = await client.identity.getPluginInfo({}, ask);
  if (itself !== name) throw new Error(`the driver at ${endpoint} calls itself ${itself}, not ${name}`);
  const driver = await describe(name, client, ask);
  // What every pod of it needs: one that cannot say which node this is serves none.
  const { nodeId } = await client.node.nodeGetInfo({}, ask);
  if (nodeId === "") throw new Error(`the driver at ${endpoint} has no id for this node (NodeGetInfo)`);
  return driver;
}

async function describe(
  name: string,
  client: CsiClient,
  options: { signal: AbortSignal; timeoutMs?: number },
): Promise<NodeDriver> {
  const { capabilities } = await client.node.nodeGetCapabilities({}, options);
  const types = new Set(capabilities.map(({ type }) => (type.case === "rpc" ? type.value.type : undefined)));
  const { NodeServiceCapability_RPC_Type: Type } = v1;
  return {
    name,
    client,
    stages: types.has(Type.STAGE_UNSTAGE_VOLUME),
    expands: types.has(Type.EXPAND_VOLUME),
    measures: types.has(Type.GET_VOLUME_STATS),
    mountsGroup: types.has(Type.VOLUME_MOUNT_GROUP),
    singleNodeMultiWriter: types.has(Type.SINGLE_NODE_MULTI_WRITER),
  };
}

import { type CsiClient, connect, v1 } from "@mooring/csi";
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

/** Drivers by name, on their sockets. Each is asked once what it can do, when it is first needed. */
export interface Drivers {
  names(): string[];
  get(name: string, signal: AbortSignal): Promise<NodeDriver>;
  close(): void;
}

/** Longest that one call to a driver may take. */
const CALL_TIMEOUT_MS = 120_000;

/** Drivers at known sockets, and those that register later. */
export function openDrivers(endpoints: Readonly<Record<string, string>>, logger: Logger): Drivers {
  const known = new Map<string, Promise<NodeDriver>>();
  const clients: CsiClient[] = [];

  async function discover(name: string, endpoint: string, signal: AbortSignal): Promise<NodeDriver> {
    const client = await connect(endpoint, { logger, timeoutMs: CALL_TIMEOUT_MS });
    clients.push(client);
    const { capabilities } = await client.node.nodeGetCapabilities({}, { signal });
    const types = new Set(
      capabilities.map(({ type }) => (type.case === "rpc" ? type.value.type : undefined)),
    );
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

  return {
    names: () => Object.keys(endpoints),
    async get(name, signal) {
      const endpoint = endpoints[name];
      if (endpoint === undefined) {
        throw new Error(`driver name ${name} not found in the list of registered CSI drivers`);
      }
      const found = known.get(name) ?? discover(name, endpoint, signal);
      known.set(name, found);
      found.catch(() => known.delete(name));
      return found;
    },
    close() {
      for (const client of clients) client.close();
    },
  };
}

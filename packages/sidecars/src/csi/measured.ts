import type { CsiClient } from "@mooring/csi";
import { callFailure } from "./codes.ts";

/** One finished call, as `csi_sidecar_operations_seconds` counts it. */
export interface CallMeasurement {
  /** `/csi.v1.Controller/CreateVolume` */
  method: string;
  /** gRPC number; 0: success, 2 also for failures that are not the driver's. */
  code: number;
  seconds: number;
}

const SERVICES = {
  identity: "Identity",
  controller: "Controller",
  groupController: "GroupController",
  node: "Node",
} as const;
type Method = (request: unknown, options?: unknown) => unknown;

/** The same client, with every call of the plain CSI services reported when it ends. */
export function measured(client: CsiClient, report: (call: CallMeasurement) => void): CsiClient {
  const wrapped = Object.entries(SERVICES).map(([field, service]) => {
    const target = client[field as keyof typeof SERVICES] as unknown as Record<string, Method>;
    const methods = Object.entries(target).map(([name, method]) => {
      const full = `/csi.v1.${service}/${name[0]?.toUpperCase()}${name.slice(1)}`;
      return [
        name,
        (request: unknown, options?: unknown) => timed(full, report, () => method(request, options)),
      ];
    });
    return [field, Object.fromEntries(methods)];
  });
  return { ...client, ...Object.fromEntries(wrapped) } as CsiClient;
}

async function timed(
  method: string,
  report: (call: CallMeasurement) => void,
  call: () => unknown,
): Promise<unknown> {
  const start = performance.now();
  const end = (code: number) => report({ method, code, seconds: (performance.now() - start) / 1000 });
  try {
    const response = await call();
    end(0);
    return response;
  } catch (error) {
    end(callFailure(error).code ?? 2);
    throw error;
  }
}

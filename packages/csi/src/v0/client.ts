import { mkdir, open } from "node:fs/promises";
import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import type { CsiClient } from "../client/csi-client.ts";
import { Code } from "../errors/codes.ts";
import { CsiError } from "../errors/csi-error.ts";
import { toCsiError } from "../errors/status.ts";
import * as v1 from "../gen/csi/v1/csi_pb.ts";
import type { CallOptions } from "../wire/method-types.ts";
import { services, servicesV0 } from "../wire/services.ts";
import { CLIENT_METHODS } from "./client-methods.ts";

const rows = new Map(CLIENT_METHODS.map((each) => [each.from as DescMethod, each]));

type Caller = (init: Record<string, unknown>, options?: CallOptions) => Promise<Message>;

/**
 * The client itself, or one {@link throughV0} when the plugin has csi.v0 and no csi.v1. Throws what the plugin returns, so ask again
 * while it starts.
 */
export async function inItsVersion(client: CsiClient, options: CallOptions = {}): Promise<CsiClient> {
  try {
    await client.identity.getPluginInfo({}, options);
    return client;
  } catch (error) {
    if (toCsiError(error).code !== Code.UNIMPLEMENTED) throw error;
  }
  await client.v0.identity.getPluginInfo({}, options);
  return throughV0(client);
}

/**
 * Calls a plugin of csi.v0 by the methods of csi.v1. A method that csi.v0 does not have returns UNIMPLEMENTED, and a request that it
 * cannot say INVALID_ARGUMENT; nothing of a request is left out.
 */
export function throughV0(client: CsiClient): CsiClient {
  const typed = Object.keys(servicesV0).map((name) => {
    const service = services[name as keyof typeof servicesV0];
    const theirs = client.v0[name as keyof typeof servicesV0] as unknown as Record<string, Caller>;
    const methods = service.methods.map((method) => [method.localName, caller(method, theirs)]);
    return [name, Object.fromEntries(methods)];
  });
  return { ...client, ...Object.fromEntries(typed) };
}

function caller(method: DescMethod, theirs: Readonly<Record<string, Caller>>): Caller {
  const row = rows.get(method);
  const call = row && theirs[row.to.localName];
  return async (init, options) => {
    if (row === undefined || call === undefined)
      throw CsiError.unimplemented(`the driver speaks csi.v0, which has no ${method.name}`);
    const request = create(method.input, init);
    if (method === v1.Node.method.nodePublishVolume) await makeTarget(request as v1.NodePublishVolumeRequest);
    const response = await call(row.request(request as never) as Record<string, unknown>, options);
    return create(
      method.output,
      row.response(response as never, request as never) as Record<string, unknown>,
    );
  };
}

/** In csi.v0 the orchestrator makes the target of a volume, in csi.v1 the plugin does. */
async function makeTarget({ targetPath, volumeCapability }: v1.NodePublishVolumeRequest): Promise<void> {
  if (volumeCapability?.accessType.case === "block") await (await open(targetPath, "a", 0o640)).close();
  else await mkdir(targetPath, { recursive: true, mode: 0o750 });
}

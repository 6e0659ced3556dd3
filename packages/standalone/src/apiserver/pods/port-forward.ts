import { serveForwards } from "../../streams/serve-forwards.ts";
import type { Api } from "../api.ts";
import type { Call } from "../http/call.ts";
import type { ItemTarget } from "../resources/target.ts";
import { authorizeStream, kubeletOf, openTunnel, podOf } from "./stream.ts";

/** `pods/NAME/portforward`: connections to ports on which programs of the pod listen. */
export async function handlePortForward(call: Call, target: ItemTarget, api: Api): Promise<void> {
  await authorizeStream(call, api);
  const { metadata } = await podOf(target, api);
  const kubelet = kubeletOf(api);
  const client = await openTunnel(call, target, api);
  const place = { namespace: metadata.namespace ?? "", pod: metadata.name };
  await serveForwards(client, { connect: (port) => kubelet.forward({ ...place, port }), stop: api.signal });
}

import { forwardPath } from "../../node-streams/query.ts";
import { serveForwards } from "../../streams/serve-forwards.ts";
import { acceptTunnel, chooseTunnel } from "../../streams/tunnel.ts";
import type { Api } from "../api.ts";
import type { Call } from "../http/call.ts";
import type { ItemTarget } from "../resources/target.ts";
import { authorizeStream, kubeletOf, noted, podOf } from "./stream.ts";

/** `pods/NAME/portforward`: connections to ports on which programs of the pod listen. */
export async function handlePortForward(call: Call, target: ItemTarget, api: Api): Promise<void> {
  await authorizeStream(call, api);
  const pod = await podOf(target, api);
  const kubelet = kubeletOf(api);
  const relay = await kubelet.elsewhere(pod);
  const kind = chooseTunnel(call.request, call.response);
  const upgrade = noted(call, target, api, { does: "portforward" });
  const place = { namespace: pod.metadata.namespace ?? "", pod: pod.metadata.name };
  if (relay !== undefined) return relay({ ...call, upgrade }, forwardPath(place), call.signal);
  const client = await acceptTunnel(kind, call.request, call.response, upgrade);
  call.response.statusCode = 101;
  await serveForwards(client, { connect: (port) => kubelet.forward({ ...place, port }), stop: call.signal });
}

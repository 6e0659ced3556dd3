import { handleVolumes } from "@mooring/engine";
import type { Api } from "../api.ts";
import { readBody } from "../http/body.ts";
import type { Call } from "../http/call.ts";
import { send } from "../http/respond.ts";

/** `/v1/...`: volumes as operators attach, detach and snapshot them. */
export async function handleV1(call: Call, { store }: Api): Promise<void> {
  const [, ...path] = call.segments;
  const body = call.method === "POST" ? (await readBody(call))?.value : undefined;
  const { host = "" } = call.request.headers;
  const response = await handleVolumes(
    { method: call.method, path, action: call.query.get("action") ?? undefined, body },
    { store, user: call.user.username, base: `https://${host}`, now: () => new Date(), signal: call.signal },
  );
  await send(call, response.status, response.body);
}

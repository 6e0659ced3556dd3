import { createHash } from "node:crypto";
import type { Api } from "../api.ts";
import { negotiate, parseAccept } from "../http/accept.ts";
import type { Call } from "../http/call.ts";
import { send, sendBytes } from "../http/respond.ts";
import { pathNotFound } from "../resources/target.ts";
import { aggregatedDiscovery } from "./aggregated.ts";
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from "./legacy.ts";

/** `/api`, `/apis` and what is below them up to a version. */
export async function handleDiscovery(call: Call, api: Api): Promise<void> {
  const [root, group, version] = call.segments;
  if (call.segments.length === 1) {
    const aggregated = aggregatedVersion(call);
    if (aggregated !== undefined) return sendAggregated(call, api, root === "api", aggregated);
  }
  const document = legacyDocument(call, api, root ?? "", { group, version });
  if (document === undefined) throw pathNotFound();
  const { format } = negotiate(call.request.headers.accept, ["Object"]);
  return send(call, 200, document, format);
}

function legacyDocument(
  call: Call,
  { kinds }: Api,
  root: string,
  { group, version }: { group: string | undefined; version: string | undefined },
): object | undefined {
  if (root === "api") {
    if (group === undefined) return apiVersions(call.request.headers.host ?? "localhost");
    return version === undefined ? apiResourceList(kinds, { group: "", version: group }) : undefined;
  }
  if (group === undefined) return apiGroupList(kinds);
  return version === undefined ? apiGroup(kinds, group) : apiResourceList(kinds, { group, version });
}

/** Clients list both versions of the aggregated form and then plain JSON; the first that we have wins. */
function aggregatedVersion(call: Call): string | undefined {
  for (const { type, parameters } of parseAccept(call.request.headers.accept)) {
    if (type !== "application/json") continue;
    const { g, v, as } = parameters;
    if (as === undefined) return undefined;
    if (g === "apidiscovery.k8s.io" && as === "APIGroupDiscoveryList" && (v === "v2" || v === "v2beta1"))
      return v;
  }
  return undefined;
}

async function sendAggregated(call: Call, { kinds }: Api, core: boolean, version: string): Promise<void> {
  const text = JSON.stringify(aggregatedDiscovery(kinds, core, version));
  const etag = `"${createHash("sha512").update(text).digest("hex").toUpperCase()}"`;
  call.response.setHeader("ETag", etag);
  call.response.setHeader("Cache-Control", "public");
  if (call.request.headers["if-none-match"] === etag) {
    call.response.setHeader("Vary", "Accept");
    call.response.writeHead(304).end();
    return;
  }
  const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  await sendBytes(call, 200, Buffer.from(text), type);
}

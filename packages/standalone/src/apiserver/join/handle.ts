import { createHash, X509Certificate } from "node:crypto";
import { badRequest, conflict, getIfAny, type Node, Nodes, StatusError } from "@mooring/store";
import { isObject } from "../../schema/model.ts";
import type { Api } from "../api.ts";
import { nodeOf } from "../auth/node-name.ts";
import { readBody } from "../http/body.ts";
import type { Call } from "../http/call.ts";
import { send } from "../http/respond.ts";
import { methodNotAllowed } from "../resources/target.ts";
import { fingerprint, IDENTITY } from "./identity.ts";
import { redeemJoinToken } from "./tokens.ts";

const NODE_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

interface JoinRequest {
  nodeName: string;
  /** PKCS #10, PEM. */
  csr: string;
  taints?: NonNullable<NonNullable<Node["spec"]>["taints"]>;
}

/**
 * `POST /join`: gives a machine a certificate of its own. Whoever has a join token gets one as a new node, once; a node that
 * has one gets the next. The response is `{certificate, ca}`, both PEM.
 */
export async function handleJoin(call: Call, api: Api): Promise<void> {
  if (call.method !== "POST") throw methodNotAllowed();
  const order = readOrder((await readBody(call))?.value);
  const known = nodeOf(call.user);
  if (known !== undefined) {
    if (known !== order.nodeName)
      throw new StatusError("Forbidden", `this is node ${known}, not ${order.nodeName}`);
    return sendCredential(call, api, order, await sign(api, order));
  }
  const certificate = await sign(api, order);
  await refuseNamesake(api, order);
  const [id = "", secret = ""] =
    /^bearer\s+(\S+)$/i.exec(call.request.headers.authorization ?? "")?.[1]?.split(".") ?? [];
  if (!(await redeemJoinToken(api.store, { id, secret }, order.nodeName, new Date()))) {
    const why =
      "the join token is not valid: it is used up, too old or for another node; make one with `mooring token create`";
    throw new StatusError("Unauthorized", why);
  }
  await sendCredential(call, api, order, certificate);
}

function readOrder(value: unknown): JoinRequest {
  if (!isObject(value)) throw badRequest("a join request is an object with nodeName and csr");
  const { nodeName, csr, taints = [] } = value;
  if (typeof nodeName !== "string" || nodeName.length > 63 || !NODE_NAME.test(nodeName))
    throw badRequest("nodeName: must be a node name of up to 63 characters");
  if (typeof csr !== "string" || csr.length > 4096)
    throw badRequest("csr: must be a PKCS #10 request in PEM");
  if (!Array.isArray(taints)) throw badRequest("taints: must be a list");
  return { nodeName, csr, taints };
}

async function sign({ authority }: Api, { csr, nodeName }: JoinRequest): Promise<string> {
  const { issueNode } = await import("../../pki/issue.ts");
  try {
    return await issueNode(authority, { csr, nodeName }, new Date());
  } catch {
    throw badRequest("csr: cannot be read, or is not signed by its own key");
  }
}

/** A token is for new machines: nobody takes the place of a node that is there. */
async function refuseNamesake({ store }: Api, { nodeName }: JoinRequest): Promise<void> {
  const node = await getIfAny(store, Nodes, { name: nodeName });
  if (node === undefined) return;
  const why = `node ${nodeName} is there already: choose another name, or delete it first (kubectl delete node ${nodeName})`;
  throw conflict(Nodes, nodeName, why);
}

/** The Node names the key before anybody has the certificate. */
async function sendCredential(
  call: Call,
  { store, authority }: Api,
  order: JoinRequest,
  certificate: string,
): Promise<void> {
  const key = fingerprint(new X509Certificate(certificate));
  const { nodeName: name, taints = [] } = order;
  const present = await getIfAny(store, Nodes, { name });
  if (present === undefined) {
    const metadata = { name, annotations: { [IDENTITY]: key } };
    await store.create(Nodes, {
      apiVersion: "v1",
      kind: "Node",
      metadata,
      spec: taints.length > 0 ? { taints } : {},
    });
  } else {
    const annotations = { ...present.metadata.annotations, [IDENTITY]: key };
    await store.update(Nodes, { ...present, metadata: { ...present.metadata, annotations } });
  }
  await send(call, 201, { certificate, ca: authority.cert });
}

/** What a join token has of the authority: SHA-256 of its certificate (DER), in hex. */
export function authorityHash(caPem: string): string {
  return createHash("sha256").update(new X509Certificate(caPem).raw).digest("hex");
}

import { createHash, X509Certificate } from "node:crypto";
import { badRequest, conflict, getIfAny, type Node, Nodes, StatusError } from "@mooring/store";
import { isObject } from "../../schema/model.ts";
import type { Api } from "../api.ts";
import { nodeOf } from "../auth/node-name.ts";
import { readBody, receiveBody } from "../http/body.ts";
import type { Call } from "../http/call.ts";
import { keepFor } from "../http/keep.ts";
import { send } from "../http/respond.ts";
import { methodNotAllowed } from "../resources/target.ts";
import { fingerprint, IDENTITY, nodeByCertificate } from "./identity.ts";
import { isJoinToken, redeemJoinToken } from "./tokens.ts";

const NODE_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Of a join request: a certificate signing request, and taints. */
const MOST_BYTES = 64 * 1024;

interface JoinRequest {
  nodeName: string;
  /** PKCS #10, PEM. */
  csr: string;
  taints?: NonNullable<NonNullable<Node["spec"]>["taints"]>;
}

/**
 * `POST /join`: gives a machine a certificate of its own. A machine with a join token gets one as a new node, once; a node
 * that has one gets the next. The response is `{certificate, ca}`, both PEM. The Node names the key before the machine has
 * the certificate.
 */
export async function handleJoin(call: Call, api: Api): Promise<void> {
  if (call.method !== "POST") throw methodNotAllowed();
  const order = await receiveOrder(call);
  const seat = await api.turns.take(call.user.username);
  let certificate: string;
  try {
    certificate =
      nodeOf(call.user) === undefined ? await admit(call, api, order) : await renew(call, api, order);
  } finally {
    seat.leave();
  }
  await send(call, 201, { certificate, ca: api.authority.cert });
}

/** The machine that asks is no user yet. */
async function receiveOrder(call: Call): Promise<JoinRequest> {
  const kept = keepFor(call);
  try {
    await receiveBody(call, kept, MOST_BYTES);
    return readOrder((await readBody(call))?.value);
  } finally {
    kept.release();
  }
}

/**
 * Without a good token a client does not learn which nodes there are, and nothing is signed; a request that fails keeps its
 * token.
 */
async function admit(call: Call, api: Api, order: JoinRequest): Promise<string> {
  const [id = "", secret = ""] =
    /^bearer\s+(\S+)$/i.exec(call.request.headers.authorization ?? "")?.[1]?.split(".") ?? [];
  const token = { id, secret };
  const { store } = api;
  if (!(await isJoinToken(store, token, order.nodeName, new Date()))) throw invalidToken();
  await refuseNamesake(api, order);
  const certificate = await sign(api, order);
  const { nodeName: name, taints = [] } = order;
  const node: Node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, annotations: { [IDENTITY]: keyIn(certificate) } },
    spec: taints.length > 0 ? { taints } : {},
  };
  // What is wrong with it must not cost the token.
  await store.create(Nodes, node, { dryRun: true });
  if (!(await redeemJoinToken(store, token, order.nodeName, new Date()))) throw invalidToken();
  await store.create(Nodes, node);
  return certificate;
}

/**
 * Who the caller is was known before the body had come. The Node is read before the certificate is checked again, and is
 * written as it was read: who deletes it at any time has revoked the certificate.
 */
async function renew(call: Call, api: Api, order: JoinRequest): Promise<string> {
  const { nodeName: name } = order;
  const known = nodeOf(call.user);
  if (known !== name) throw new StatusError("Forbidden", `this is node ${known}, not ${name}`);
  const certificate = await sign(api, order);
  const present = await getIfAny(api.store, Nodes, { name });
  const caller = nodeByCertificate(call.request, api.store);
  if (present === undefined || caller === undefined || nodeOf(caller) !== name)
    throw new StatusError("Unauthorized", "Unauthorized");
  const annotations = { ...present.metadata.annotations, [IDENTITY]: keyIn(certificate) };
  await api.store.update(Nodes, { ...present, metadata: { ...present.metadata, annotations } });
  return certificate;
}

function invalidToken(): StatusError {
  const why =
    "the join token is not valid: it is used up, too old or for another node; make one with `mooring token create`";
  return new StatusError("Unauthorized", why);
}

const keyIn = (certificate: string) => fingerprint(new X509Certificate(certificate));

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

/** A token is for new machines: no machine takes the place of a node that is there. */
async function refuseNamesake({ store }: Api, { nodeName }: JoinRequest): Promise<void> {
  const node = await getIfAny(store, Nodes, { name: nodeName });
  if (node === undefined) return;
  const why = `node ${nodeName} is there already: choose another name, or delete it first (kubectl delete node ${nodeName})`;
  throw conflict(Nodes, nodeName, why);
}

/** What a join token has of the authority: SHA-256 of its certificate (DER), in hex. */
export function authorityHash(caPem: string): string {
  return createHash("sha256").update(new X509Certificate(caPem).raw).digest("hex");
}

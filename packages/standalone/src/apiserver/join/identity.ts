import { createHash, X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { isNotFound, type JsonStore, type Node, Nodes, StatusError } from "@mooring/store";
import type { User } from "../http/call.ts";

/** Annotation of a Node: SHA-256 of the public key (DER) that speaks for it, in hex. Only an administrator changes it. */
export const IDENTITY = "storage.mooring.dev/identity";
const PREFIX = "system:node:";

const nodeUser = (nodeName: string): User => ({
  username: PREFIX + nodeName,
  groups: ["system:nodes", "system:authenticated"],
});

/** The key of a certificate, as it stands in {@link IDENTITY}. */
export function fingerprint(cert: X509Certificate): string {
  const der = cert.publicKey.export({ type: "spki", format: "der" });
  return createHash("sha256").update(der).digest("hex");
}

/** What a certificate says, and the Node object by which it was last admitted. */
interface Claim {
  name: string;
  key: string;
  from: number;
  until: number;
  node?: { json: string; key: string | undefined };
}

/** A connection keeps its certificate, and a node asks several times a second: it is read once. `undefined`: no node's. */
const claims = new WeakMap<TLSSocket, Claim | undefined>();

/**
 * The node behind a client certificate; undefined without one. A certificate counts only while the Node object is there and
 * names its key: who deletes the Node has revoked it, on connections that are open as well, and also while finalizers hold
 * the Node back. Throws Unauthorized.
 */
export function nodeByCertificate(request: IncomingMessage, store: JsonStore): User | undefined {
  const socket = request.socket as TLSSocket;
  if (!claims.has(socket)) {
    const given = socket.getPeerX509Certificate?.();
    if (given === undefined) return undefined;
    claims.set(socket, socket.authorized ? claimOf(new X509Certificate(given.raw)) : undefined);
  }
  const claim = claims.get(socket);
  const now = Date.now();
  if (claim === undefined || !(now >= claim.from && now < claim.until) || keyOf(store, claim) !== claim.key)
    throw new StatusError("Unauthorized", "Unauthorized");
  return nodeUser(claim.name);
}

function claimOf(cert: X509Certificate): Claim | undefined {
  const name = /^CN=system:node:([a-z0-9.-]+)$/m.exec(cert.subject)?.[1];
  if (name === undefined || !/^O=system:nodes$/m.test(cert.subject)) return undefined;
  const [from, until] = [Date.parse(cert.validFrom), Date.parse(cert.validTo)];
  return { name, key: fingerprint(cert), from, until };
}

/** The key that the Node object names as it is now; none while it is being deleted. */
function keyOf(store: JsonStore, claim: Claim): string | undefined {
  let json: string;
  try {
    json = store.getJson(Nodes, { name: claim.name });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
  if (claim.node?.json !== json) {
    const { metadata } = JSON.parse(json) as Node;
    const { annotations, deletionTimestamp } = metadata;
    claim.node = { json, key: deletionTimestamp === undefined ? annotations?.[IDENTITY] : undefined };
  }
  return claim.node.key;
}

import { createHash, X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { isNotFound, type LocalStore, type Node, Nodes, StatusError } from "@mooring/store";
import type { User } from "../http/call.ts";

/** Annotation of a Node: SHA-256 of the public key (DER) that speaks for it, in hex. Nobody but an administrator changes it. */
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

/**
 * The node behind a client certificate; undefined without one. A certificate counts only while the Node object is there and
 * names its key: who deletes the Node has revoked it. Throws Unauthorized.
 */
export function nodeByCertificate(request: IncomingMessage, store: LocalStore): User | undefined {
  const socket = request.socket as TLSSocket;
  const given = socket.getPeerX509Certificate?.();
  if (given === undefined) return undefined;
  const cert = new X509Certificate(given.raw);
  const name = /^CN=system:node:([a-z0-9.-]+)$/m.exec(cert.subject)?.[1];
  const ofNodes = /^O=system:nodes$/m.test(cert.subject);
  const now = Date.now();
  const current = now >= Date.parse(cert.validFrom) && now < Date.parse(cert.validTo);
  if (
    !socket.authorized ||
    !ofNodes ||
    !current ||
    name === undefined ||
    identityOf(store, name) !== fingerprint(cert)
  )
    throw new StatusError("Unauthorized", "Unauthorized");
  return nodeUser(name);
}

function identityOf(store: LocalStore, name: string): string | undefined {
  try {
    const node = JSON.parse(store.getJson(Nodes, { name })) as Node;
    return node.metadata.annotations?.[IDENTITY];
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

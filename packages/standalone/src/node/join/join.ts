import { createHash } from "node:crypto";
import { once } from "node:events";
import { request } from "node:https";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";
import { defined } from "@mooring/store";
import { readJoinToken } from "../../apiserver/join/tokens.ts";
import { type NodeCredential, writeCredential } from "./credential.ts";

/** A join that cannot be; the message names what to do. */
export class JoinError extends Error {
  override readonly name = "JoinError";
}

interface JoinOrder {
  /** `https://host:port` */
  server: string;
  nodeName: string;
  taints?: readonly object[];
  /** How long the server may be silent; default 30 s. */
  silentMs?: number;
}

const SILENT_MS = 30_000;

/** Joins this machine by a one-time token and leaves its kubeconfig below the state folder. Throws JoinError. */
export async function joinCluster(order: JoinOrder, token: string, stateDir: string): Promise<void> {
  const given = readJoinToken(token);
  if (given === undefined)
    throw new JoinError("this is no join token: make one with `mooring token create` there");
  const ca = await authorityOf(order.server, given.authority);
  const authorization = `Bearer ${given.id}.${given.secret}`;
  const credential = await requestCredential(order, { ca, authorization });
  await writeCredential(stateDir, order, credential);
}

/** Asks for the next certificate with the one that the node has. Throws JoinError. */
export async function renewCredential(
  order: JoinOrder,
  current: NodeCredential,
  stateDir: string,
): Promise<NodeCredential> {
  const credential = await requestCredential(order, {
    ca: current.ca,
    cert: current.certificate,
    key: current.key,
  });
  await writeCredential(stateDir, order, credential);
  return credential;
}

interface Access {
  ca: string;
  authorization?: string;
  cert?: string;
  key?: string;
}

async function requestCredential(order: JoinOrder, access: Access): Promise<NodeCredential> {
  const { requestNode } = await import("../../pki/issue.ts");
  const { key, csr } = await requestNode(order.nodeName);
  const { nodeName, taints = [], silentMs = SILENT_MS } = order;
  const response = await post(`${order.server}/join`, { ...access, silentMs }, { nodeName, csr, taints });
  const { certificate, ca, message } = response;
  if (certificate === undefined || ca === undefined)
    throw new JoinError(`${order.server} does not let ${nodeName} in: ${message ?? "no reason given"}`);
  return { certificate, ca, key };
}

interface JoinResponse {
  certificate?: string;
  ca?: string;
  message?: string;
}

async function post(
  url: string,
  { authorization, silentMs, ...tls }: Access & { silentMs: number },
  body: object,
): Promise<JoinResponse> {
  const bytes = Buffer.from(JSON.stringify(body));
  const sent = request(url, {
    ...{ method: "POST", agent: false, timeout: silentMs, ...tls },
    headers: {
      ...{ "content-type": "application/json", "content-length": bytes.length },
      ...defined({ authorization }),
    },
  });
  sent.on("timeout", () => sent.destroy(new JoinError(`${url} does not respond`)));
  // Once the response has begun, whoever reads it gets the error; that of the request itself would end the process.
  sent.on("error", () => {});
  sent.end(bytes);
  const [response] = (await once(sent, "response").catch((cause: unknown) => {
    throw new JoinError(`${url} cannot be reached: ${(cause as Error).message}`);
  })) as [AsyncIterable<Buffer>];
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk);
  } catch (cause) {
    throw new JoinError(`${url} did not respond to its end: ${(cause as Error).message}`, { cause });
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as JoinResponse;
  } catch {
    throw new JoinError(`${url} is not an API server of Mooring`);
  }
}

/**
 * The authority of a server for which only the token vouches so far: what the server shows counts only when its hash
 * is the token's. We send nothing to the server on this connection.
 */
async function authorityOf(server: string, wanted: string): Promise<string> {
  const asked = request(`${server}/version`, { agent: false, rejectUnauthorized: false, timeout: SILENT_MS });
  asked.on("timeout", () => asked.destroy(new JoinError(`${server} does not respond`)));
  asked.on("error", () => {});
  asked.end();
  const [response] = (await once(asked, "response").catch((cause: unknown) => {
    throw new JoinError(`${server} cannot be reached: ${(cause as Error).message}`);
  })) as [{ socket: TLSSocket; destroy(): void }];
  const chain = chainOf(response.socket.getPeerCertificate(true));
  response.destroy();
  const found = chain.find((der) => createHash("sha256").update(der).digest("hex") === wanted);
  if (found === undefined)
    throw new JoinError(`${server} is not the server that the token is from: another machine may be between`);
  const lines = found.toString("base64").replace(/.{64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

function chainOf(first: DetailedPeerCertificate): Buffer[] {
  const chain: Buffer[] = [];
  for (
    let at: DetailedPeerCertificate | undefined = first;
    at?.raw !== undefined;
    at = at.issuerCertificate
  ) {
    if (chain.some((der) => der.equals(at?.raw ?? Buffer.of()))) break;
    chain.push(at.raw);
  }
  return chain;
}

import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import type { KeyPair } from "./issue.ts";
import { writePrivateFile } from "./private-file.ts";

const RENEW_BEFORE_MS = 30 * 24 * 3600_000;

/** What the server needs to prove who it is and to know its user. */
export interface Pki {
  caPem: string;
  /** Signs the certificates of nodes. */
  authority: KeyPair;
  server: KeyPair;
  /** Bearer token of the administrator. */
  token: string;
}

const read = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });

function parse(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

async function load(folder: string, name: string, usable: (cert: X509Certificate) => boolean) {
  const cert = await read(join(folder, `${name}.crt`));
  const key = await read(join(folder, `${name}.key`));
  const parsed = cert === undefined ? undefined : parse(cert);
  const isWhole = cert !== undefined && key !== undefined && parsed !== undefined;
  return isWhole && usable(parsed) && isKeyOf(key, parsed) ? { cert, key } : undefined;
}

/** False for the key of a later certificate, which a process that ended between the two writes has left. */
function isKeyOf(key: string, cert: X509Certificate): boolean {
  try {
    return cert.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

async function save(folder: string, name: string, pair: KeyPair): Promise<KeyPair> {
  // The key first: a certificate on disk means that its key is there too.
  await writePrivateFile(join(folder, `${name}.key`), pair.key);
  await writePrivateFile(join(folder, `${name}.crt`), pair.cert);
  return pair;
}

const fresh = (cert: X509Certificate, now: Date) =>
  new Date(cert.validTo).getTime() - now.getTime() > RENEW_BEFORE_MS;

/** False also where the clock has been put back to before the certificate. */
function isGood(cert: X509Certificate, now: Date): boolean {
  return fresh(cert, now) && new Date(cert.validFrom).getTime() <= now.getTime();
}

/** Whether the certificate that a server shows has to be another one now. */
export function isRenewalDue({ server }: Pki, now = new Date()): boolean {
  return !isGood(new X509Certificate(server.cert), now);
}

function covers(cert: X509Certificate, names: readonly string[]): boolean {
  return names.every((name) => (isIP(name) === 0 ? cert.checkHost(name) : cert.checkIP(name)) !== undefined);
}

/** Every address of this machine that another one could use; link-local ones are meant for one link only. */
function ownAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const usable = all.filter(({ internal, address }) => !internal && !/^fe80:/i.test(address));
  return usable.map(({ address }) => address);
}

/** Names under which clients may reach a server that listens on `host`. */
export function serverNames(host: string): string[] {
  const wildcard = host === "0.0.0.0" || host === "::";
  const own = hostname().toLowerCase();
  const names = [
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
  ];
  if (/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(own)) names.push(own);
  names.push(...(wildcard ? ownAddresses() : [host]));
  return [...new Set(names)];
}

/**
 * Loads authority, server certificate and token from `folder`, and makes what is missing, broken, does not cover
 * `names`, is not good yet, or expires within 30 days. An authority stays when the clock is put back: no node would trust
 * another. Safe to call again while serving: unchanged files stay as they are.
 */
export async function ensurePki(folder: string, names: readonly string[], now = new Date()): Promise<Pki> {
  let authority = await load(folder, "ca", (cert) => fresh(cert, now));
  let server: KeyPair | undefined;
  if (authority === undefined) {
    const { issueAuthority } = await import("./issue.ts");
    authority = await save(folder, "ca", await issueAuthority(now));
  } else {
    const issuer = new X509Certificate(authority.cert);
    server = await load(
      folder,
      "server",
      (cert) => isGood(cert, now) && covers(cert, names) && cert.verify(issuer.publicKey),
    );
  }
  if (server === undefined) {
    const { issueServer } = await import("./issue.ts");
    server = await save(folder, "server", await issueServer(authority, names, now));
  }
  return { caPem: authority.cert, authority, server, token: await ensureToken(join(folder, "token")) };
}

async function ensureToken(path: string): Promise<string> {
  const present = (await read(path))?.trim();
  if (present !== undefined && present.length >= 32) return present;
  const token = randomBytes(32).toString("base64url");
  await writePrivateFile(path, `${token}\n`);
  return token;
}

import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import type { KeyPair } from "./issue.ts";
import { KeyFileError } from "./key-file-error.ts";
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

/** False for a key that is none, and for that of a later certificate, which a process that ended between the two writes has left. */
function belongTo(cert: X509Certificate, key: string): boolean {
  try {
    return cert.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

/** A server's certificate and key, if they can be used; else others are made, and no client notices. */
async function loadServer(folder: string, usable: (cert: X509Certificate) => boolean) {
  const cert = await read(join(folder, "server.crt"));
  const key = await read(join(folder, "server.key"));
  const parsed = cert === undefined ? undefined : parse(cert);
  if (cert === undefined || key === undefined || parsed === undefined) return undefined;
  return belongTo(parsed, key) && usable(parsed) ? { cert, key } : undefined;
}

/**
 * The authority; undefined where none was made yet, or its end is near. One that is damaged is not replaced: no node that has
 * joined, and no copy of the kubeconfig, would trust another, and each would only say that its connection is not safe.
 */
async function loadAuthority(folder: string, now: Date): Promise<KeyPair | undefined> {
  const cert = await read(join(folder, "ca.crt"));
  const key = await read(join(folder, "ca.key"));
  if (cert === undefined) {
    // The authority is there before anything that it has signed: without that, a kill came before it was made.
    if ((await read(join(folder, "server.crt"))) === undefined) return undefined;
    throw damaged(folder, "ca.crt", "is missing");
  }
  const parsed = parse(cert);
  if (parsed === undefined) throw damaged(folder, "ca.crt", "is no certificate");
  if (!fresh(parsed, now)) return undefined;
  if (key === undefined) throw damaged(folder, "ca.key", "is missing");
  if (!belongTo(parsed, key)) throw damaged(folder, "ca.key", "is not the key of ca.crt");
  if (!signedBy(parsed, parsed)) throw damaged(folder, "ca.crt", "is not what was written");
  return { cert, key };
}

function signedBy(cert: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return cert.verify(issuer.publicKey);
  } catch {
    return false;
  }
}

function damaged(folder: string, name: string, what: string): KeyFileError {
  return new KeyFileError(
    `${join(folder, name)} ${what}: the server's certificates are signed with it, and machines and kubeconfigs trust nothing else`,
    `put it back from a copy of the state folder; without one remove ${join(folder, "ca.crt")} and ${join(folder, "server.crt")}: another authority is made then, machines join anew (mooring token create), and copies of the kubeconfig are made anew`,
  );
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
 * another. Throws KeyFileError when it is damaged. Safe to call again while serving: unchanged files stay as they are.
 */
export async function ensurePki(folder: string, names: readonly string[], now = new Date()): Promise<Pki> {
  let authority = await loadAuthority(folder, now);
  let server: KeyPair | undefined;
  if (authority === undefined) {
    const { issueAuthority } = await import("./issue.ts");
    authority = await save(folder, "ca", await issueAuthority(now));
  } else {
    const issuer = new X509Certificate(authority.cert);
    server = await loadServer(
      folder,
      (cert) => isGood(cert, now) && covers(cert, names) && signedBy(cert, issuer),
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

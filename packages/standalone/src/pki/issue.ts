import "reflect-metadata";
import { randomBytes, webcrypto } from "node:crypto";
import { isIP } from "node:net";
import * as x509 from "@peculiar/x509";

const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 24 * 3600_000;
x509.cryptoProvider.set(webcrypto);

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  cert: string;
  key: string;
}

/** Clocks of clients may be a little behind. */
const validity = (now: Date, days: number) => ({
  notBefore: new Date(now.getTime() - 3600_000),
  notAfter: new Date(now.getTime() + days * DAY_MS),
});

/** Positive and without a leading zero byte, as RFC 5280 4.1.2.2 wants serial numbers. */
const serialNumber = () => {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString("hex");
};

async function privatePem(keys: webcrypto.CryptoKeyPair): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
}

/** What a clock that is put back must not make worthless, as no one can be given another. */
const AUTHORITY_SINCE_DAYS = 3650;

/** A self-signed authority for ten years. */
export async function issueAuthority(now: Date): Promise<KeyPair> {
  const keys = (await webcrypto.subtle.generateKey(CURVE, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: "CN=mooring-ca",
    notBefore: new Date(now.getTime() - AUTHORITY_SINCE_DAYS * DAY_MS),
    notAfter: new Date(now.getTime() + 3650 * DAY_MS),
    signingAlgorithm: CURVE,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: cert.toString("pem"), key: await privatePem(keys) };
}

/** A server certificate for one year, for these DNS names and addresses. */
export async function issueServer(authority: KeyPair, names: readonly string[], now: Date): Promise<KeyPair> {
  const issuer = new x509.X509Certificate(authority.cert);
  const signingKey = await webcrypto.subtle.importKey(
    "pkcs8",
    x509.PemConverter.decodeFirst(authority.key),
    CURVE,
    false,
    ["sign"],
  );
  const keys = (await webcrypto.subtle.generateKey(CURVE, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: "CN=mooring-apiserver",
    issuer: issuer.subject,
    ...validity(now, 365),
    signingAlgorithm: CURVE,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      new x509.SubjectAlternativeNameExtension(
        names.map((name) => ({ type: isIP(name) === 0 ? ("dns" as const) : ("ip" as const), value: name })),
      ),
    ],
  });
  return { cert: cert.toString("pem"), key: await privatePem(keys) };
}

/** Days that a node's certificate is good for; it is renewed long before. */
export const NODE_DAYS = 30;

/** A client certificate for the key of a signing request: the node, and nothing else that the request asks for. */
export async function issueNode(
  authority: KeyPair,
  { csr, nodeName }: { csr: string; nodeName: string },
  now: Date,
): Promise<string> {
  const request = new x509.Pkcs10CertificateRequest(csr);
  if (!(await request.verify())) throw new Error("the signing request is not signed by its own key");
  const issuer = new x509.X509Certificate(authority.cert);
  const key = x509.PemConverter.decodeFirst(authority.key);
  const signingKey = await webcrypto.subtle.importKey("pkcs8", key, CURVE, false, ["sign"]);
  const cert = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ O: ["system:nodes"] }, { CN: [`system:node:${nodeName}`] }],
    issuer: issuer.subject,
    ...validity(now, NODE_DAYS),
    signingAlgorithm: CURVE,
    publicKey: request.publicKey,
    signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return cert.toString("pem");
}

/** A new key, and the request to have it signed. */
export async function requestNode(nodeName: string): Promise<{ key: string; csr: string }> {
  const keys = (await webcrypto.subtle.generateKey(CURVE, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
  const csr = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [{ O: ["system:nodes"] }, { CN: [`system:node:${nodeName}`] }],
    keys,
    signingAlgorithm: CURVE,
  });
  return { key: await privatePem(keys), csr: csr.toString("pem") };
}

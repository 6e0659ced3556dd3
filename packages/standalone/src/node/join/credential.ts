import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { writePrivateFile } from "../../pki/private-file.ts";

/** What a node shows to the API server. PEM. */
export interface NodeCredential {
  certificate: string;
  key: string;
  ca: string;
}

const FILE = "kubeconfig";

/** The kubeconfig of a node that has joined, below its state folder; it is the record that it has. */
export const nodeKubeconfig = (stateDir: string): string => join(stateDir, "identity", FILE);

/** Key and certificate in one file: a crash leaves the old pair or the new one, never half of each. */
export async function writeCredential(
  stateDir: string,
  { server, nodeName }: { server: string; nodeName: string },
  { certificate, key, ca }: NodeCredential,
): Promise<void> {
  const data = (text: string) => Buffer.from(text).toString("base64");
  const text = stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "mooring",
    clusters: [{ name: "mooring", cluster: { server, "certificate-authority-data": data(ca) } }],
    users: [
      {
        name: `system:node:${nodeName}`,
        user: { "client-certificate-data": data(certificate), "client-key-data": data(key) },
      },
    ],
    contexts: [{ name: "mooring", context: { cluster: "mooring", user: `system:node:${nodeName}` } }],
  });
  await writePrivateFile(nodeKubeconfig(stateDir), text);
}

/** When the certificate of a kubeconfig that names one ends, and whose it is; undefined: it names none. */
export async function certificateOf(
  path: string,
): Promise<{ nodeName: string; from: Date; until: Date } | undefined> {
  const text = await readFile(path, "utf8");
  const encoded = /client-certificate-data: *(\S+)/.exec(text)?.[1];
  if (encoded === undefined) return undefined;
  const cert = new X509Certificate(Buffer.from(encoded, "base64"));
  const nodeName = /^CN=system:node:([a-z0-9.-]+)$/m.exec(cert.subject)?.[1];
  return nodeName === undefined
    ? undefined
    : { nodeName, from: new Date(cert.validFrom), until: new Date(cert.validTo) };
}

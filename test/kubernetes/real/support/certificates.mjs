// What the parts of a cluster know each other by: one authority, and a certificate for each.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);
const openssl = (...args) => execute("openssl", args);

/** Makes what is missing in `<folder>/pki`, and returns how to get more. */
export async function openCertificates(folder, server) {
  const pki = join(folder, "pki");
  await mkdir(pki, { recursive: true, mode: 0o700 });
  const at = (name) => join(pki, name);
  if (!existsSync(at("ca.crt"))) {
    const usage = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"];
    await openssl(
      ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=test-authority"],
      ...["-keyout", at("ca.key"), "-out", at("ca.crt"), ...usage.flatMap((each) => ["-addext", each])],
    );
    await openssl("genrsa", "-out", at("accounts.key"), "2048");
    await openssl("rsa", "-in", at("accounts.key"), "-pubout", "-out", at("accounts.pub"));
  }
  const certificate = async (name, subject, names = "") => {
    if (existsSync(at(`${name}.crt`))) return;
    const extensions = [
      "keyUsage=digitalSignature,keyEncipherment",
      "extendedKeyUsage=serverAuth,clientAuth",
    ];
    if (names !== "") extensions.push(`subjectAltName=${names}`);
    await writeFile(at(`${name}.ext`), `${extensions.join("\n")}\n`);
    await openssl(
      ...["req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", subject],
      ...["-keyout", at(`${name}.key`), "-out", at(`${name}.csr`)],
    );
    await openssl(
      ...[
        "x509",
        "-req",
        "-in",
        at(`${name}.csr`),
        "-CA",
        at("ca.crt"),
        "-CAkey",
        at("ca.key"),
        "-CAcreateserial",
      ],
      ...["-days", "30", "-sha256", "-extfile", at(`${name}.ext`), "-out", at(`${name}.crt`)],
    );
  };
  const kubeconfig = async (name, user) => {
    const file = join(folder, `${name}.kubeconfig`);
    const config = {
      ...{ apiVersion: "v1", kind: "Config", "current-context": "test" },
      clusters: [{ name: "test", cluster: { server, "certificate-authority": at("ca.crt") } }],
      users: [{ name: "user", user }],
      contexts: [{ name: "test", context: { cluster: "test", user: "user" } }],
    };
    await writeFile(file, JSON.stringify(config, null, 1), { mode: 0o600 });
    return file;
  };
  return {
    at,
    certificate,
    /** A kubeconfig of somebody with a certificate. */
    async identity(name, subject, names) {
      await certificate(name, subject, names);
      return kubeconfig(name, { "client-certificate": at(`${name}.crt`), "client-key": at(`${name}.key`) });
    },
    /** A kubeconfig of somebody with a token. */
    withToken: (name, token) => kubeconfig(name, { token }),
  };
}

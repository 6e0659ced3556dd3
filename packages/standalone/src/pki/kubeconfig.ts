import { lstat, readFile } from "node:fs/promises";
import { stringify } from "yaml";
import { writePrivateFile } from "./private-file.ts";

/** What a kubeconfig contains; `url` is the server's address, with scheme and port. */
interface KubeconfigInput {
  url: string;
  caPem: string;
  token: string;
}

/** The text of a kubeconfig with one context, `mooring`. */
function kubeconfigText({ url, caPem, token }: KubeconfigInput): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "mooring",
    clusters: [
      {
        name: "mooring",
        cluster: { server: url, "certificate-authority-data": Buffer.from(caPem).toString("base64") },
      },
    ],
    users: [{ name: "mooring-admin", user: { token } }],
    contexts: [{ name: "mooring", context: { cluster: "mooring", user: "mooring-admin" } }],
  });
}

/** Writes a kubeconfig that its owner alone can read; whole or not at all. One that is right stays: a full disk takes no other. */
export async function writeKubeconfig(path: string, input: KubeconfigInput): Promise<void> {
  const text = kubeconfigText(input);
  if (await isWritten(path, text)) return;
  await writePrivateFile(path, text);
}

async function isWritten(path: string, text: string): Promise<boolean> {
  const info = await lstat(path).catch(() => undefined);
  if (!info?.isFile() || (info.mode & 0o777) !== 0o600) return false;
  return (await readFile(path, "utf8").catch(() => undefined)) === text;
}

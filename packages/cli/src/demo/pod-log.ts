import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { parse } from "yaml";

interface Kubeconfig {
  clusters: { cluster: { server: string; "certificate-authority-data": string } }[];
  users: { user: { token: string } }[];
}

/** The whole log of a one-container pod. */
export async function podLog(kubeconfig: string, namespace: string, name: string): Promise<string> {
  const config: Kubeconfig = parse(await readFile(kubeconfig, "utf8"));
  const [cluster] = config.clusters;
  const [user] = config.users;
  if (cluster === undefined || user === undefined)
    throw new Error(`${kubeconfig} names no cluster or no user`);
  const url = new URL(`/api/v1/namespaces/${namespace}/pods/${name}/log`, cluster.cluster.server);
  const ca = Buffer.from(cluster.cluster["certificate-authority-data"], "base64");
  return new Promise((resolve, reject) => {
    const call = request(url, { ca, headers: { authorization: `Bearer ${user.user.token}` } }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    });
    call.on("error", reject);
    call.end();
  });
}

/** The last line of a pod's log that is a number: what its program knows is durable. */
export async function lastAcknowledged(kubeconfig: string, namespace: string, name: string): Promise<number> {
  const text = await podLog(kubeconfig, namespace, name);
  const numbers = text.split("\n").filter((line) => /^\d+$/.test(line));
  return Number(numbers.at(-1) ?? 0);
}

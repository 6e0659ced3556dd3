// What an operator does with kubectl, and waits for.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { until } from "./program.mjs";

export class Kube {
  constructor(cluster) {
    this.cluster = cluster;
    this.kubectl = cluster.kubectl;
  }

  /** `kubectl apply` of these objects. */
  async apply(...objects) {
    const child = spawn("kubectl", ["--kubeconfig", this.cluster.admin, "apply", "-f", "-"]);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    child.stdin.end(JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`kubectl apply: ${output}`);
  }

  /** `target`: `pvc/data`. */
  get(target, path, namespace = "default") {
    return this.kubectl("-n", namespace, "get", target, "-o", `jsonpath=${path}`);
  }

  /** Until a field is as wanted; reports what it was, and what has happened to the object. */
  async shows(target, path, wanted, seconds) {
    let seen;
    const matches = async () => {
      seen = await this.get(target, path);
      return wanted instanceof RegExp ? wanted.test(seen) : seen === wanted;
    };
    await until(`${target} ${path} to be ${wanted}`, matches, seconds).catch(async (cause) => {
      const described = await this.kubectl("describe", ...target.split("/")).catch(String);
      throw new Error(`${cause.message}; it is ${seen}\n${described}`, { cause });
    });
    return seen;
  }

  /** Until pods are ready. */
  async ready(...pods) {
    for (const pod of pods)
      await this.shows(`pod/${pod}`, '{.status.conditions[?(@.type=="Ready")].status}', "True");
  }

  /** A shell line in a pod; returns what it prints. */
  async sh(pod, line) {
    return (await this.kubectl("exec", pod, "--", "sh", "-c", line)).trim();
  }

  async delete(...targets) {
    await this.kubectl("delete", ...targets, "--timeout=900s");
  }
}

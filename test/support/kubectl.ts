import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { kubectlPaths } from "../../scripts/kubectl.mjs";

const execute = promisify(execFile);
export const { kubectl: KUBECTL } = await kubectlPaths();

export interface Ran {
  stdout: string;
  stderr: string;
  code: number;
}

/** A real kubectl against one server. */
export class Kubectl {
  readonly #kubeconfig: string;
  constructor(kubeconfig: string) {
    this.#kubeconfig = kubeconfig;
  }

  /** Runs it and answers stdout; throws with both streams when it fails. */
  async run(...args: string[]): Promise<string> {
    const { stdout } = await execute(KUBECTL, ["--kubeconfig", this.#kubeconfig, ...args], {
      maxBuffer: 64 << 20,
    });
    return stdout;
  }

  /** `kubectl <args> -f -` with these manifests. */
  async feed(input: string, ...args: string[]): Promise<Ran> {
    const child = spawn(KUBECTL, ["--kubeconfig", this.#kubeconfig, ...args, "-f", "-"]);
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
    });
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    child.stdin.end(input);
    const code = await new Promise<number>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (exit) => resolve(exit ?? 1));
    });
    return { stdout, stderr, code };
  }

  async apply(manifests: string): Promise<void> {
    const { code, stderr } = await this.feed(manifests, "apply");
    if (code !== 0) throw new Error(stderr);
  }
}

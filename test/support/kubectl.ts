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

type Wanted = (seen: string) => boolean;
/** Between two states of an object that is watched. */
const END = "=====";
/** What a watch has missed is read again. */
const WATCH_MS = 20_000;

/** A real kubectl against one server. */
export class Kubectl {
  readonly #kubeconfig: string;
  readonly #env: NodeJS.ProcessEnv;
  /** `variables`: by which a user has it behave otherwise. */
  constructor(kubeconfig: string, variables: Readonly<Record<string, string>> = {}) {
    this.#kubeconfig = kubeconfig;
    this.#env = { ...process.env, ...variables };
  }

  /** Runs it and returns stdout; throws with both streams when it fails. */
  async run(...args: string[]): Promise<string> {
    const { stdout } = await execute(KUBECTL, ["--kubeconfig", this.#kubeconfig, ...args], {
      maxBuffer: 64 << 20,
      env: this.#env,
    });
    return stdout;
  }

  /**
   * What `kubectl get <target> --watch` prints of one object at this path, as soon as it is `wanted`; undefined when kubectl
   * ends before. One process for a wait, and not one for every read.
   */
  async watch(target: string[], path: string, wanted: Wanted): Promise<string | undefined> {
    const output = `jsonpath=${path}{"\\n${END}\\n"}`;
    const args = ["--kubeconfig", this.#kubeconfig, "get", ...target, "--watch", "-o", output];
    const child = spawn(KUBECTL, args, { stdio: ["ignore", "pipe", "ignore"] });
    const late = setTimeout(() => child.kill(), WATCH_MS);
    let said = "";
    try {
      for await (const chunk of child.stdout.setEncoding("utf8")) {
        const states = (said + chunk).split(`\n${END}\n`);
        said = states.pop() ?? "";
        const found = states.find(wanted);
        if (found !== undefined) return found;
      }
      return undefined;
    } finally {
      clearTimeout(late);
      child.kill();
    }
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

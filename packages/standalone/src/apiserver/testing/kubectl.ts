import { spawn } from "node:child_process";
import { join } from "node:path";
import { defined } from "@mooring/store";

const SCRIPT = new URL("../../../../../scripts/kubectl.mjs", import.meta.url).href;

export interface Programs {
  kubectl: string;
  helm: string;
}

/** The real kubectl and helm; fetched on first use. */
export async function programs(): Promise<Programs> {
  const { kubectlPaths } = (await import(SCRIPT)) as { kubectlPaths(): Promise<Programs> };
  return kubectlPaths();
}

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  input?: string;
  env?: Record<string, string>;
  signal?: AbortSignal;
}

export type Run = (args: readonly string[], options?: RunOptions) => Promise<Ran>;

/** Runs a program against a server; caches and configuration stay in the server's folder. */
export function runner(program: string, server: { folder: string; kubeconfig: string }): Run {
  return (args, { input, env = {}, signal } = {}) =>
    new Promise((resolve, reject) => {
      const child = spawn(program, args, {
        ...defined({ signal }),
        env: {
          PATH: process.env.PATH ?? "",
          HOME: server.folder,
          KUBECONFIG: server.kubeconfig,
          KUBECACHEDIR: join(server.folder, "kubecache"),
          ...env,
        },
      });
      const output = { stdout: "", stderr: "" };
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output.stdout += text;
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        output.stderr += text;
      });
      child.on("error", reject);
      child.on("close", (code) => resolve({ code: code ?? 128, ...output }));
      child.stdin.on("error", () => {});
      child.stdin.end(input);
    });
}

/** Like {@link runner}, but a failure throws what the program printed; resolves with its output. */
export function mustRun(run: Run): (args: readonly string[], options?: RunOptions) => Promise<string> {
  return async (args, options) => {
    const { code, stdout, stderr } = await run(args, options);
    if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  };
}

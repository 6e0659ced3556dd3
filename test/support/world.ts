import { eventually } from "@mooring/store/testing";
import { afterFiles } from "./at-end.ts";
import { Kubectl } from "./kubectl.ts";
import { Up, type UpOptions } from "./up.ts";

export interface World {
  up: Up;
  kubectl: Kubectl;
  /** Waits until `kubectl get <target> -o jsonpath=<path>` prints this. */
  shows(target: string[], path: string, wanted: string | RegExp): Promise<string>;
  /** Waits until the object is gone. */
  gone(kind: string, name: string): Promise<void>;
}

const ups = new Map<string, Promise<Up>>();

async function started(options: UpOptions): Promise<Up> {
  const up = await Up.create(options);
  afterFiles(() => up.disposeWhole());
  await up.start();
  return up;
}

/**
 * A running `mooring up` and a kubectl on it, disposed of when the tests have ended. Files of one process that want the same
 * of it have the same one, and leave nothing in it: `scripts/lib/tests/lanes.mjs` says which they are.
 */
export async function world(options: UpOptions = {}): Promise<World> {
  const key = JSON.stringify(options);
  const running = ups.get(key) ?? started(options);
  ups.set(key, running);
  const up = await running;
  const kubectl = new Kubectl(up.kubeconfig);
  return {
    up,
    kubectl,
    shows: (target, path, wanted) =>
      eventually(
        `${target.join(" ")} ${path} to be ${wanted}; mooring said:\n${up.output.slice(-3000)}`,
        async () => {
          const isWanted = (seen: string) =>
            typeof wanted === "string" ? seen === wanted : wanted.test(seen);
          const [, name] = target;
          const isOne = name !== undefined && target.length === 2;
          const shown = isOne ? await kubectl.watch(target, path, isWanted) : undefined;
          if (shown !== undefined) return shown;
          const seen = await kubectl.run("get", ...target, "-o", `jsonpath=${path}`);
          return isWanted(seen) ? seen : undefined;
        },
      ),
    gone: async (kind, name) => {
      await kubectl.run("wait", "--for=delete", `${kind}/${name}`, "--timeout=120s");
    },
  };
}

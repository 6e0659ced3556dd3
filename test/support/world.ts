import { after } from "node:test";
import { eventually } from "@mooring/store/testing";
import { Kubectl } from "./kubectl.ts";
import { Up, type UpOptions } from "./up.ts";

export interface World {
  up: Up;
  kubectl: Kubectl;
  /** Waits until `kubectl get <target> -o jsonpath=<path>` prints this. */
  shows(target: string[], path: string, wanted: string | RegExp): Promise<string>;
  /** Waits until the object is gone. */
  gone(...target: string[]): Promise<void>;
}

/** A running `mooring up` and a kubectl on it, for the tests of one file. Disposed of when they have ended. */
export async function world(options: UpOptions = {}): Promise<World> {
  const up = await Up.create(options);
  after(() => up.disposeWhole());
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  return {
    up,
    kubectl,
    shows: (target, path, wanted) =>
      eventually(
        `${target.join(" ")} ${path} to be ${wanted}; mooring said:\n${up.output.slice(-3000)}`,
        async () => {
          const seen = await kubectl.run("get", ...target, "-o", `jsonpath=${path}`);
          return (typeof wanted === "string" ? seen === wanted : wanted.test(seen)) ? seen : undefined;
        },
      ),
    gone: async (...target) => {
      await eventually(`${target.join(" ")} to be gone`, () =>
        kubectl.run("get", ...target).then(
          () => false,
          (error: Error) => /NotFound|not found/.test(error.message),
        ),
      );
    },
  };
}

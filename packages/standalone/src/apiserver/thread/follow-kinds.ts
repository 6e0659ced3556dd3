import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { ResourceRegistry } from "@mooring/store";
import { ServedKinds } from "../../crd/controller/served-kinds.ts";
import type { CountedChange } from "../../crd/kind-changes.ts";
import type { KindRegistry, MutableKindRegistry } from "../../kinds/kind-info.ts";

/** Kinds as another thread serves them. */
export interface FollowedKinds {
  kinds: KindRegistry;
  /** Learns what has changed, and returns how many changes that were in all. */
  catchUp(): number;
}

/**
 * Serves the kinds of definitions as the thread at the other end of `port` does. Whatever that one has sent is known before
 * the server reports to any client that there is, or is not, a kind.
 */
export function followKinds(
  port: MessagePort,
  registry: ResourceRegistry,
  kinds: MutableKindRegistry,
): FollowedKinds {
  const served = new ServedKinds(registry, kinds);
  let count = 0;
  const serve = (change: CountedChange["change"]) => {
    if (change === undefined) return;
    if (change.do === "withdraw") return served.withdraw(change.name);
    served.serve(change.crd);
    if (change.do === "freeze") served.freeze(change.crd);
  };
  const apply = (message: CountedChange) => {
    serve(message.change);
    // Not before: a write by rules that this thread does not have must not count as one by those of now.
    count = message.count;
  };
  const catchUp = () => {
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
      apply(next.message as CountedChange);
    return count;
  };
  return {
    catchUp,
    kinds: {
      all() {
        catchUp();
        return kinds.all();
      },
      find(group, version, plural) {
        catchUp();
        return kinds.find(group, version, plural);
      },
      onChange: (listener) => kinds.onChange(listener),
    },
  };
}

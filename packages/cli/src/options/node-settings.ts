import type { MooringNodeOptions } from "@mooring/standalone";
import { isLabelKey, isLabelValue, sha256 } from "@mooring/store";
import { CommandError } from "../output/command-error.ts";

type Settings = MooringNodeOptions["settings"];
type Taint = NonNullable<Settings["taints"]>[number];

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const POOL_NAME = /^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$/;

/** The name of a Node and of a CSI node: a DNS-1123 subdomain that also fits into a label. */
export function nodeName(text: string): string {
  if (isNodeName(text)) return text;
  throw new CommandError(`--node-name ${text} is not a node name`, {
    next: "use up to 63 lower case letters, digits, '-' and '.', alphanumeric at both ends",
  });
}

/** True for what a Node of ours can be called: see {@link nodeName}. */
export const isNodeName = (text: string): boolean => NAME.test(text) && text.length <= 63;

/** `zone=a,disk=fast` */
export function labels(text: string): Record<string, string> {
  return Object.fromEntries(
    items(text).map((item) => {
      const [key = "", value = "", more] = item.split("=");
      if (more === undefined && isLabelKey(key) && isLabelValue(value)) return [key, value];
      throw new CommandError(`--labels: ${item} is not a label`, {
        next: "write them like zone=a,disk=fast",
      });
    }),
  );
}

/** `dedicated=db:NoSchedule,test:NoExecute` */
export function taints(text: string): Taint[] {
  return items(text).map((item) => {
    const [, key = "", value = "", effect = ""] = /^([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(item) ?? [];
    if (isLabelKey(key) && isLabelValue(value) && EFFECTS.includes(effect)) {
      return { key, effect, ...(value === "" ? {} : { value }) } as Taint;
    }
    throw new CommandError(`--taints: ${item} is not a taint`, {
      next: `write them like dedicated=db:NoSchedule; effects: ${EFFECTS.join(", ")}`,
    });
  });
}

/** Pools are named for the whole cluster: a node's own one after the node, or after a hash where that is too long. */
export function ownPoolName(node: string): string {
  const name = `default-${node}`;
  if (POOL_NAME.test(name)) return name;
  return `default-${sha256(node).slice(0, 12)}`;
}

/** The name of a Pool object. */
export function poolName(text: string): string {
  if (POOL_NAME.test(text)) return text;
  throw new CommandError(`${text} is not a pool name`, {
    next: "use up to 32 lower case letters, digits and '-', alphanumeric at both ends",
  });
}

function items(text: string): string[] {
  return text.split(",").filter((item) => item !== "");
}

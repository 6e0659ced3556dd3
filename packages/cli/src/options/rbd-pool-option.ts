import { isAbsolute } from "node:path";
import type { AgentPool, RbdSpec } from "@mooring/engine";
import { defined } from "@mooring/store";
import { Option } from "commander";
import { CommandError } from "../output/command-error.ts";
import { poolName } from "./node-settings.ts";

const EXAMPLE = "ceph=conf:/etc/ceph/ceph.conf,user:mooring,pool:images";
const NEEDED = ["conf", "user", "pool"] as const;
const KNOWN: readonly string[] = [...NEEDED, "namespace", "keyring", "flatten"];
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;

/** `ceph=conf:/etc/ceph/ceph.conf,user:mooring,pool:images,namespace:team-a`, as often as there are pools. */
export function rbdPoolOption(): Option {
  return new Option(
    "--rbd-pool <name=settings>",
    `a pool in a Ceph cluster, like ${EXAMPLE}; also namespace:, keyring: (the file with the key), flatten:; repeatable`,
  )
    .default([] as AgentPool[], "none")
    .argParser((text: string, before: AgentPool[]) => [...before, rbdPool(text)]);
}

function rbdPool(text: string): AgentPool {
  const [, name = "", rest = ""] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  const settings = new Map<string, string>();
  for (const item of rest.split(",")) {
    const [, key = "", value = ""] = /^([a-z]+):(.+)$/.exec(item) ?? [];
    if (!KNOWN.includes(key)) throw refused(text, `has no ${JSON.stringify(item)}`);
    if (settings.has(key)) throw refused(text, `has ${key} twice`);
    settings.set(key, value);
  }
  const missing = NEEDED.filter((key) => !settings.has(key));
  if (missing.length > 0) throw refused(text, `lacks ${missing.join(", ")}`);
  for (const key of ["user", "pool", "namespace"])
    if (!NAME.test(settings.get(key) ?? "x")) throw refused(text, `has a ${key} that is no name of Ceph's`);
  for (const key of ["conf", "keyring"])
    if (!isAbsolute(settings.get(key) ?? "/")) throw refused(text, `has a ${key} that is no absolute path`);
  const { conf = "", user = "", pool = "", namespace, keyring } = Object.fromEntries(settings);
  const flattenDepth = depth(text, settings.get("flatten"));
  const rbd: RbdSpec = { user, pool, ...defined({ namespace, keyring, flattenDepth }) };
  return { name: poolName(name), type: "rbd", shared: true, path: conf, rbd };
}

function depth(text: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^([1-9]|1[0-5])$/.test(value)) return Number(value);
  throw refused(text, "has a flatten that is no number from 1 to 15");
}

function refused(text: string, why: string): CommandError {
  return new CommandError(`--rbd-pool ${text} ${why}`, { next: `write it like ${EXAMPLE}` });
}

import { isNotFound, Namespaces } from "@mooring/store";
import type { Api } from "../api.ts";
import type { Call } from "../http/call.ts";
import { sendText } from "../http/respond.ts";
import { pathNotFound } from "../resources/target.ts";

/** Undefined when it passes, else what is wrong. */
type Check = (api: Api) => string | undefined;

const ping: Check = () => undefined;
const store: Check = ({ store }) => {
  try {
    store.getJson(Namespaces, { name: "default" });
  } catch (error) {
    if (!isNotFound(error)) return error instanceof Error ? error.message : String(error);
  }
  return undefined;
};

const ALIVE: Readonly<Record<string, Check>> = { ping, store };
/** A restart does not help against what is only here: reads have responses, and writes have once that is put right. */
const READY: Readonly<Record<string, Check>> = {
  ...ALIVE,
  "state-disk": ({ store }) => store.diskFault("full"),
  "state-disk-writes": ({ store }) => store.diskFault("unwritable"),
  "state-disk-files": ({ store }) => store.diskFault("no-files"),
  "state-file": ({ store }) => store.damage(),
};

/** `/healthz`, `/livez`, `/readyz`: `ok`, or what is wrong; `?verbose` lists the checks; `/readyz/store` makes one. */
export function handleHealth(call: Call, api: Api): void {
  const [endpoint, only, ...rest] = call.segments;
  const excluded = new Set(call.query.getAll("exclude"));
  const checks = Object.entries(endpoint === "readyz" ? READY : ALIVE).filter(
    ([name]) => (only === undefined || name === only) && !excluded.has(name),
  );
  if (rest.length > 0 || (only !== undefined && checks.length === 0)) throw pathNotFound();
  const results = checks.map(([name, check]) => ({ name, wrong: check(api) }));
  const failed = results.some(({ wrong }) => wrong !== undefined);
  // A client that has not authenticated must not learn of folders of this machine.
  const isKnown = !call.user.groups.includes("system:unauthenticated");
  const lines = results.map(({ name, wrong }) =>
    wrong === undefined ? `[+]${name} ok` : `[-]${name} failed: ${isKnown ? wrong : "reason withheld"}`,
  );
  const result = `${endpoint} check ${failed ? "failed" : "passed"}`;
  if (failed || call.query.has("verbose"))
    sendText(call, failed ? 500 : 200, `${[...lines, result].join("\n")}\n`);
  else sendText(call, 200, "ok");
}

import { isNotFound, Namespaces } from "@mooring/store";
import type { Api } from "../api.ts";
import type { Call } from "../http/call.ts";
import { sendText } from "../http/respond.ts";
import { pathNotFound } from "../resources/target.ts";

type Check = (api: Api) => void;

const CHECKS: Readonly<Record<string, Check>> = {
  ping: () => {},
  store: ({ store }) => {
    try {
      store.getJson(Namespaces, { name: "default" });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  },
};

/** `/healthz`, `/livez`, `/readyz`: `ok`, or what is wrong; `?verbose` lists the checks; `/readyz/store` makes one. */
export function handleHealth(call: Call, api: Api): void {
  const [endpoint, only, ...rest] = call.segments;
  const excluded = new Set(call.query.getAll("exclude"));
  const names = Object.keys(CHECKS).filter(
    (name) => (only === undefined || name === only) && !excluded.has(name),
  );
  if (rest.length > 0 || (only !== undefined && names.length === 0)) throw pathNotFound();
  const results = names.map((name) => ({ name, ok: passes(name, api) }));
  const failed = results.some(({ ok }) => !ok);
  const lines = results.map(({ name, ok }) => (ok ? `[+]${name} ok` : `[-]${name} failed`));
  const result = `${endpoint} check ${failed ? "failed" : "passed"}`;
  if (failed || call.query.has("verbose"))
    sendText(call, failed ? 500 : 200, `${[...lines, result].join("\n")}\n`);
  else sendText(call, 200, "ok");
}

function passes(name: string, api: Api): boolean {
  try {
    CHECKS[name]?.(api);
    return true;
  } catch {
    return false;
  }
}

import type { RbdSpec } from "../../api/pool.ts";
import { EngineError } from "../../errors.ts";

/** Where in which Ceph cluster a pool's images are. */
export interface RbdPlace extends RbdSpec {
  /** Absolute path of the cluster's configuration file. */
  conf: string;
}

/** Reads go through each image below, and the kernel's client refuses more than 16. */
export const FLATTEN_DEPTH = 8;

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;

/** Names reach programs' arguments and a configuration file: nothing that would be read as more than a name gets there. */
export function checkPlace(place: RbdPlace): void {
  const { user, pool, namespace } = place;
  for (const [what, name] of Object.entries({ user, pool, namespace })) {
    if (name === undefined || NAME.test(name)) continue;
    const message = `${JSON.stringify(name)} is no name of a Ceph ${what}`;
    throw new EngineError("INVALID_ARGUMENT", message, { hint: "use letters, digits, and . _ - inside" });
  }
  for (const path of [place.conf, place.keyring ?? "/"]) {
    if (/^\/[^\n\r"#;]*$/.test(path)) continue;
    throw new EngineError("INVALID_ARGUMENT", `${JSON.stringify(path)} is no absolute path of a file`);
  }
}

/** What the place is called in messages. */
export function describePlace({ pool, namespace }: RbdPlace): string {
  return namespace === undefined ? pool : `${pool}/${namespace}`;
}

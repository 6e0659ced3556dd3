/** Freezes both for ten minutes and ends: `STATE CGROUP MOUNT`. */
import { silentLogger } from "@mooring/store";
import { Freezes } from "../index.ts";

const [state = "", cgroup = "", mount = ""] = process.argv.slice(2);
const freezer = await new Freezes(state, silentLogger).arm(
  [
    { kind: "filesystem", path: mount },
    { kind: "cgroup", path: cgroup },
  ],
  600,
);
await freezer.freeze();
process.exit();

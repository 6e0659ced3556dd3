import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

interface Flow {
  /** Most rooms that the way of the request may have. */
  most: number;
  /** Most returns to the handler: rooms that it goes to itself. */
  returns?: number;
  /** Files that the way imports and that are not given the request, with what they are given instead. */
  aside: Readonly<Record<string, string>>;
}

const OF_EVERY_CALL = { "errors.ts": "a failure", "objects/pool-room.ts": "the Pool" };
const OF_NODE_CALLS = {
  ...OF_EVERY_CALL,
  "node/context.ts": "the Volume",
  "node/damaged-record.ts": "nothing, or a record that cannot be read",
  "node/drop-damaged.ts": "the Volume's name",
  "node/published.ts": "the record of what is published",
  "objects/writers-not-held.ts": "the Volume",
  "request/parameters.ts": "the Volume's parameters",
};

const FLOWS: Readonly<Record<string, Flow>> = {
  CreateVolume: {
    most: 10,
    returns: 3,
    aside: {
      ...OF_EVERY_CALL,
      "controller/responses.ts": "the Volume that was made",
      "controller/snapshot-places.ts": "the Pool",
      "controller/withdraw.ts": "the Volume that failed",
      "objects/require-unmounted.ts": "the source of the Volume that is waited for",
      "wait.ts": "the Volume that is waited for",
    },
  },
  NodeStageVolume: {
    most: 7,
    aside: {
      ...OF_NODE_CALLS,
      "node/remounted.ts": "the Volume",
      "node/tuning.ts": "the Volume and its device",
      "objects/io-limits.ts": "the Volume",
    },
  },
  NodePublishVolume: {
    most: 7,
    aside: {
      ...OF_NODE_CALLS,
      "node/restage.ts": "the Volume and its records",
      "node/stage.ts": "the request only after a fault: it has a way of its own",
      "node/remounted.ts": "the Volume",
      "node/tuning.ts": "the Volume and its device",
      "objects/io-limits.ts": "the Volume",
      "node/share.ts": "a mount",
      "request/mount-flags.ts": "nothing: it is for staging a share",
    },
  },
  "Server-side apply": { most: 8, aside: {} },
};

const IMPORT = /(?:^|\n)(?:import|export) (?!type )([^;]*?) from "(\.[^"]+)"/g;

/** The modules that one imports itself; types are no way for a value. */
async function importsOf(file: string): Promise<string[]> {
  const found = [...(await readFile(file, "utf8")).matchAll(IMPORT)];
  const values = found.filter(([, names = ""]) =>
    names
      .replace(/[{}]/g, "")
      .split(",")
      .map((name) => name.trim())
      .some((name) => name !== "" && !name.startsWith("type ")),
  );
  return values.map(([, , path = ""]) => join(dirname(file), path));
}

/** The modules that one loads, itself included, as paths below `folder`. */
async function loads(folder: string, first: string): Promise<string[]> {
  const seen = new Set([join(ROOT, folder, first)]);
  for (const file of seen) for (const path of await importsOf(file)) seen.add(path);
  return [...seen].map((file) => relative(join(ROOT, folder), file));
}

test("the way of each request is what the page says, and no longer than it may be", async () => {
  const page = await readFile(join(ROOT, "docs/architecture.md"), "utf8");
  for (const [name, { most, returns, aside }] of Object.entries(FLOWS)) {
    const text = page.split("\n\n").find((part) => part.startsWith(`**${name}**`)) ?? "";
    const [, number, folder = ""] = /, (\d+) rooms in `([^`]+)`/.exec(text) ?? [];
    const rooms = [...text.slice(text.indexOf(":")).matchAll(/`([^`]+\.ts)`/g)].map(([, file = ""]) => file);
    assert.equal(rooms.length, Number(number), `${name}: the number of its rooms`);
    assert.equal(new Set(rooms).size, rooms.length, `${name}: each once`);
    assert.ok(rooms.length <= most, `${name}: ${rooms.length} rooms, at most ${most}`);
    for (const room of rooms) assert.ok(existsSync(join(ROOT, "packages", folder, room)), `${name}: ${room}`);
    const loaded = await loads(join("packages", folder), rooms[0] ?? "");
    assert.ok(loaded.length > 1, `${name}: what its handler imports`);
    const unknown = loaded.filter((file) => !rooms.includes(file) && !Object.hasOwn(aside, file));
    assert.deepEqual(unknown, [], `${name}: rooms that the page does not have`);
    if (returns !== undefined) {
      const handler = join(ROOT, "packages", folder, rooms[0] ?? "");
      const own = (await importsOf(handler)).map((file) => relative(join(ROOT, "packages", folder), file));
      const visited = rooms.filter((room) => own.includes(room));
      assert.ok(visited.length <= returns, `${name}: the handler goes to ${visited.join(", ")}`);
      assert.match(text, new RegExp(`, ${visited.length} returns:`), `${name}: the number of its returns`);
    }
    const gone = Object.keys(aside).filter((file) => !loaded.includes(file) || rooms.includes(file));
    assert.deepEqual(gone, [], `${name}: files that are not beside the way`);
  }
});

// Child of the crash test: writes as fast as it can and prints what has been acknowledged, until it is killed.
import { writeSync } from "node:fs";
import { Shelves, shelf, testRegistry } from "../contract/kinds.ts";
import { LocalStore } from "../local/local-store.ts";

const [folder = "", round = ""] = process.argv.slice(2);
const store = await LocalStore.open({ path: folder, registry: testRegistry() });

/** Creates, changes, and deletes every third object; each line is what must be true from now on. */
async function write(worker: number): Promise<never> {
  for (let n = 0; ; n++) {
    const name = `r${round}-w${worker}-${n}`;
    const made = await store.create(Shelves, shelf(name, { state: "new" }));
    writeSync(1, `${name} new ${made.metadata.resourceVersion}\n`);
    const changed = await store.update(Shelves, { ...made, data: { state: "changed" } });
    writeSync(1, `${name} changed ${changed.metadata.resourceVersion}\n`);
    if (n % 3 !== 0) continue;
    await store.delete(Shelves, { name });
    writeSync(1, `${name} deleted 0\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, worker) => write(worker)));

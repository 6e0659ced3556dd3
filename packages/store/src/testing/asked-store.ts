// Child of the test of a full disk that copies on write: with each line that comes it writes an object and reads all, and prints how
// that ended. It is a process of its own because what the test is about ends a process.
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { Shelves, shelf, testRegistry } from "../contract/kinds.ts";
import { LocalStore } from "../local/local-store.ts";
import { isStatus } from "../object/status-error.ts";

const [folder = ""] = process.argv.slice(2);
const store = await LocalStore.open({ path: folder, registry: testRegistry() });

async function write(name: string): Promise<string> {
  try {
    await store.create(Shelves, shelf(name, {}));
    return "wrote";
  } catch (error) {
    if (isStatus(error, "InsufficientStorage")) return "refused";
    throw error;
  }
}

for await (const name of createInterface({ input: process.stdin })) {
  const outcome = await write(name);
  const { items } = await store.list(Shelves);
  writeSync(1, `${outcome} ${items.length}\n`);
}
await store.close();

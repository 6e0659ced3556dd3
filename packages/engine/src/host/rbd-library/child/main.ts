import { CHANGES, changeName, changeOne } from "./change.ts";
import { CONNECTION, call, connect, type Library } from "./connect.ts";
import type { LibraryReply, LibraryRequest } from "./messages.ts";
import { READS, readOne } from "./read.ts";

/*
 * The functions below are part of a program that runs from their text (`node -e`): they use nothing but themselves and
 * what they are given.
 */

/** Whether pool and namespace are there: an image that is not there has the same number of error as these. */
async function hasNamespace(library: Library): Promise<boolean> {
  if (!library.isPool()) return false;
  if (library.namespace === "") return true;
  const out = Buffer.alloc(1);
  const native = library.rbd("rbd_namespace_exists(void *io, const char *name, void *out)");
  return (await call(native, library.pool, library.namespace, out).catch(() => -1)) === 0 && out[0] === 1;
}

async function carryOut(library: Library, { id, call: order }: LibraryRequest): Promise<LibraryReply> {
  try {
    const done = readOne(library, order) ?? changeOne(library, order) ?? changeName(library, order);
    return { id, value: await done };
  } catch (error) {
    const errno = typeof error === "number" ? error : 5;
    return { id, errno, absent: errno === 2 && (await hasNamespace(library)) };
  }
}

function libraryMain(require: NodeJS.Require): void {
  const [, koffiPath = "", place = "{}"] = process.argv;
  // Whoever sent it ends it; a connection to a cluster that is silent could not be closed.
  const end = () => process.kill(process.pid, "SIGKILL");
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  const send = (reply: LibraryReply) => process.stdout.write(`${JSON.stringify(reply)}\n`);
  const connected = connect(require(koffiPath), JSON.parse(place));
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines)
      void connected.then((library) => carryOut(library, JSON.parse(line))).then(send);
  });
  for (const event of ["end", "error"]) process.stdin.on(event, end);
  process.stdout.on("error", end);
  connected.then(() => send({ ready: true }), end);
}

const PARTS = [...CONNECTION, ...READS, ...CHANGES, hasNamespace, carryOut];

/** `__name` is what some compilers put into the text of a function. */
export const LIBRARY_PROGRAM: string = `const __name = (f) => f;
${PARTS.map(String).join("\n")}
(${String(libraryMain)})(require);`;

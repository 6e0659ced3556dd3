import { EngineError } from "../../errors.ts";
import { ENOENT, type RbdCommands } from "./commands.ts";
import { listOf, objectOf, parse } from "./json.ts";

/** What Ceph has of an image. */
export interface RbdInfo {
  name: string;
  /** Ceph's own, which no other image ever gets. */
  id: string;
  /** Bytes. */
  size: number;
  madeAt: Date;
  /** Names as Ceph has them; also such as no image of ours is made with. */
  features: string[];
  /** The image that this one has what nobody has written here. */
  parent?: { id: string; trash: boolean };
}

/** An image, or a snapshot of one, in a list. */
export interface RbdEntry {
  image: string;
  snapshot?: string;
  size: number;
}

/** So often the images are listed while they change. */
const LISTINGS = 10;

/** By its name, or by Ceph's id of it, also in the trash. Undefined when there is none. */
export async function readInfo(
  commands: RbdCommands,
  image: { name: string } | { id: string },
): Promise<RbdInfo | undefined> {
  const which = "name" in image ? [image.name] : ["--image-id", image.id];
  const result = await commands.rbd(["info", "--format", "json", ...which], { allow: [ENOENT] });
  if (result.exitCode === 0) return infoOf(parse(result.stdout));
  // The same code says that the pool, or its namespace, is missing.
  if (/error opening image|does not exist in the trash/.test(result.stderr)) return undefined;
  throw new EngineError("UNAVAILABLE", `rbd info failed: ${result.stderr.trim().slice(-200)}`, {
    hint: "check that the Ceph pool and its namespace are there",
  });
}

/** All images of the pool, ours and others', and their snapshots. */
export function readList(commands: RbdCommands): Promise<RbdEntry[]> {
  return list(commands, "--long");
}

/** All images of the pool, ours and others'. With thousands of them far sooner: `-l` is what Ceph's library does. */
export async function readImages(commands: RbdCommands): Promise<RbdEntry[]> {
  return (await list(commands, "-l")).filter(({ snapshot }) => snapshot === undefined);
}

async function list(commands: RbdCommands, how: "-l" | "--long"): Promise<RbdEntry[]> {
  const list = ["ls", how, "--format", "json"];
  let listed = await commands.rbd(list, { allow: [ENOENT] });
  // It opens each image of the list, and one of them may have another name by then.
  for (let again = 1; again < LISTINGS && listed.exitCode === ENOENT; again++)
    listed = await commands.rbd(list, again < LISTINGS - 1 ? { allow: [ENOENT] } : {});
  const { stdout } = listed;
  return listOf(parse(stdout)).map((entry) => {
    const { image, snapshot, size } = objectOf(entry);
    return {
      image: String(image),
      size: Number(size),
      ...(typeof snapshot === "string" ? { snapshot } : {}),
    };
  });
}

/** What was deleted, and that others may still need. */
export async function readTrash(commands: RbdCommands): Promise<{ id: string; name: string }[]> {
  const { stdout } = await commands.rbd(["trash", "ls", "--format", "json"]);
  return listOf(parse(stdout)).map((entry) => {
    const { id, name } = objectOf(entry);
    return { id: String(id), name: String(name) };
  });
}

function infoOf(value: unknown): RbdInfo {
  const { name, id, size, parent, features, create_timestamp } = objectOf(value);
  const below = parent === undefined ? undefined : objectOf(parent);
  return {
    name: String(name),
    id: String(id),
    size: Number(size),
    features: listOf(features).map(String),
    // Without a zone: commands run in this one.
    madeAt: new Date(`${create_timestamp} UTC`),
    ...(below === undefined ? {} : { parent: { id: String(below["id"]), trash: below["trash"] === true } }),
  };
}

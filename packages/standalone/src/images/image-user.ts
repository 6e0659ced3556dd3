import { readInRoot } from "../runtime/in-root.ts";

/** Who a container runs as. */
export interface ImageUser {
  uid: number;
  gid: number;
  /** Groups of the image's /etc/group that list the user. */
  groups: readonly number[];
  home?: string;
  /** It is given by name, or not at all: only the image shows whether that is root. */
  named: boolean;
}

const FILE_BYTES = 1024 * 1024;
const LARGEST = 0xffff_fffe;

/** What the pod sets, which counts before the image. */
interface AskedUser {
  uid?: number;
  gid?: number;
}

/** Reads the image's /etc/passwd and /etc/group; nothing of the image is run. Throws when a name is in neither. */
export async function imageUser(root: string, user: string, asked: AskedUser): Promise<ImageUser> {
  const colon = user.indexOf(":");
  const [who, ofGroup] = colon < 0 ? [user, ""] : [user.slice(0, colon), user.slice(colon + 1)];
  const lines = async (file: string) => tableOf(await readInRoot(root, file, FILE_BYTES));
  const entries = await lines("/etc/passwd");
  const own = asked.uid === undefined ? who : String(asked.uid);
  const number = own === "" ? 0 : numberOf(own);
  const entry = entries.find(([name, , uid]) =>
    number === undefined ? name === own : numberOf(uid) === number,
  );
  const uid = number ?? numberOf(entry?.[2]);
  if (uid === undefined)
    throw new Error(`the image runs as user "${own}", who is not in its /etc/passwd; set runAsUser`);
  const teams = await lines("/etc/group");
  const group = asked.uid === undefined ? ofGroup : "";
  const gid = asked.gid ?? gidOf(teams, group) ?? numberOf(entry?.[3]) ?? 0;
  const groups = teams.flatMap(([, , id, members = ""]) => {
    const team = numberOf(id);
    return team !== undefined && entry !== undefined && members.split(",").includes(entry[0] ?? "")
      ? [team]
      : [];
  });
  const home = entry?.[5];
  return {
    ...{ uid, gid, groups: [...new Set(groups)] },
    ...(home?.startsWith("/") ? { home } : {}),
    named: asked.uid === undefined && number === undefined,
  };
}

function gidOf(teams: readonly string[][], group: string): number | undefined {
  if (group === "") return undefined;
  const gid = numberOf(group) ?? numberOf(teams.find(([name]) => name === group)?.[2]);
  if (gid === undefined)
    throw new Error(`the image runs as group "${group}", which is not in its /etc/group; set runAsGroup`);
  return gid;
}

function tableOf(text = ""): string[][] {
  return text.split("\n").map((line) => line.trim().split(":"));
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[0-9]{1,10}$/.test(text) && Number(text) <= LARGEST
    ? Number(text)
    : undefined;
}

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { makeInRoot, readInRoot } from "../runtime/in-root.ts";
import { imageUser } from "./image-user.ts";

const folder = await mkdtemp("/tmp/mooring-image-user-");
after(() => rm(folder, { recursive: true }));

let serial = 0;
async function root(passwd?: string, group?: string): Promise<string> {
  serial += 1;
  const made = join(folder, String(serial));
  await mkdir(join(made, "etc"), { recursive: true });
  if (passwd !== undefined) await writeFile(join(made, "etc/passwd"), passwd);
  if (group !== undefined) await writeFile(join(made, "etc/group"), group);
  return made;
}

const PASSWD =
  "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1001:An app:/home/app:/bin/sh\nbad:x:zero:0::/:/bin/sh\n";
const GROUP = "root:x:0:\napp:x:1001:\ndisk:x:6:app,other\nlogs:x:7:other\n";

test("the user of an image comes from its own files, and the pod's field counts before that", async () => {
  const image = await root(PASSWD, GROUP);
  const found = async (user: string, asked = {}) => {
    const { uid, gid, groups, named, home } = await imageUser(image, user, asked);
    return [uid, gid, groups, named, home];
  };
  assert.deepEqual(await found(""), [0, 0, [], false, "/root"]);
  assert.deepEqual(await found("app"), [1000, 1001, [6], true, "/home/app"]);
  assert.deepEqual(await found("1000"), [1000, 1001, [6], false, "/home/app"]);
  assert.deepEqual(await found("app:logs"), [1000, 7, [6], true, "/home/app"]);
  assert.deepEqual(await found("4242:4343"), [4242, 4343, [], false, undefined]);
  assert.deepEqual(await found("app:logs", { uid: 5 }), [5, 0, [], false, undefined]);
  assert.deepEqual(await found("", { uid: 1000, gid: 9 }), [1000, 9, [6], false, "/home/app"]);
});

test("a name that the image does not explain starts nothing", async () => {
  await assert.rejects(
    imageUser(await root(PASSWD, GROUP), "nobody", {}),
    /"nobody".*\/etc\/passwd.*runAsUser/,
  );
  await assert.rejects(imageUser(await root(PASSWD, GROUP), "bad", {}), /"bad"/);
  await assert.rejects(imageUser(await root(PASSWD, GROUP), "app:none", {}), /"none".*runAsGroup/);
  await assert.rejects(imageUser(await root(), "app", {}), /"app"/);
});

test("links in an image lead to its own files, and what is no plain file is not read", async () => {
  const image = await root();
  await symlink("/etc/passwd", join(image, "etc/passwd"));
  await assert.rejects(imageUser(image, "root", {}), /too many levels/);
  const inside = await root();
  await writeFile(join(inside, "real"), "app:x:77:78::/:/bin/sh\n");
  await symlink("../../../../../real", join(inside, "etc/passwd"));
  assert.equal((await imageUser(inside, "app", {})).uid, 77);
  const outside = await root();
  await symlink(`../../../../../..${folder}/secret`, join(outside, "etc/passwd"));
  await writeFile(join(folder, "secret"), "app:x:0:0::/:/bin/sh\n");
  await assert.rejects(imageUser(outside, "app", {}), /"app"/);
  const pipe = await root();
  await promisify(execFile)("mkfifo", [join(pipe, "etc/passwd")]);
  await assert.rejects(imageUser(pipe, "app", {}), /no file/);
  const long = await root("");
  await truncate(join(long, "etc/passwd"), 2 * 1024 * 1024);
  await assert.rejects(imageUser(long, "app", {}), /longer/);
});

test("mount points are made in the image only, wherever its links point", async () => {
  const image = await root();
  const victim = join(folder, "victim");
  await mkdir(victim);
  await symlink(victim, join(image, "data"));
  await symlink("../../../../..", join(image, "up"));
  assert.equal(await makeInRoot(image, "/data/in", "directory"), `${victim}/in`);
  assert.equal(await makeInRoot(image, "/up/etc/new", "file"), "/etc/new");
  assert.equal(await readInRoot(image, "/etc/new", 10), "");
  assert.deepEqual(await readdir(victim), []);
  assert.deepEqual(await readdir(join(image, victim)), ["in"]);
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { requireKind } from "./file-kind.ts";

const folder = await mkdtemp(join(tmpdir(), "mooring-kinds-"));
after(() => rm(folder, { recursive: true }));

test("what is of another kind is refused before it is opened, with its path and what to do", async () => {
  const at = (name: string) => join(folder, name);
  await writeFile(at("file"), "");
  await mkdir(at("folder"));
  execFileSync("mkfifo", [at("fifo")]);
  await symlink("file", at("link"));
  await symlink("loop", at("loop"));
  const of = (name: string, kind: "file" | "folder") => () =>
    requireKind({ path: at(name), kind, hint: "do" });
  for (const name of ["file", "link", "none", "file/below"]) of(name, "file")();
  for (const name of ["folder", "none"]) of(name, "folder")();
  for (const [name, kind, what] of [
    ["folder", "file", "a folder, not a regular file"],
    ["fifo", "file", "a FIFO, not a regular file"],
    ["fifo", "folder", "a FIFO, not a folder"],
    ["file", "folder", "a regular file, not a folder"],
    ["loop", "file", "a symbolic link, not a regular file"],
  ] as const)
    assert.throws(of(name, kind), { name: "FileKindError", message: `${at(name)} is ${what}`, hint: "do" });
});

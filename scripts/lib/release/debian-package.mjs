// A .deb for one machine: the command with all that it needs but Node.js, a systemd unit, and /etc/mooring/config.yaml.
import { execFile } from "node:child_process";
import { copyFile, cp, lstat, lutimes, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { copyPackages, copyProgram } from "../program-folder.mjs";
import { ROOT } from "../setup.mjs";
import { settleModes } from "./pack.mjs";

const execute = promisify(execFile);
const SOURCES = join(ROOT, "deploy", "debian");
const ARCHITECTURES = { x64: "amd64", arm64: "arm64" };

export async function makeDebianPackage({ work, out, version, epoch }) {
  const architecture = ARCHITECTURES[process.arch];
  const root = join(work, "debian");
  const lib = join(root, "usr/lib/mooring");
  for (const folder of [
    "DEBIAN",
    "etc/mooring",
    "usr/bin",
    "usr/lib/systemd/system",
    "usr/share/doc/mooring",
  ])
    await mkdir(join(root, folder), { recursive: true });
  await copyProgram(lib);
  await copyPackages(lib);
  await copyFile(join(SOURCES, "config.yaml"), join(root, "etc/mooring/config.yaml"));
  await copyFile(join(SOURCES, "mooring.service"), join(root, "usr/lib/systemd/system/mooring.service"));
  await copyFile(join(ROOT, "LICENSE"), join(root, "usr/share/doc/mooring/copyright"));
  await copyFile(join(ROOT, "README.md"), join(root, "usr/share/doc/mooring/README.md"));
  await cp(join(ROOT, "docs"), join(root, "usr/share/doc/mooring/docs"), { recursive: true });
  await writeFile(
    join(root, "usr/bin/mooring"),
    '#!/bin/sh\nexec node /usr/lib/mooring/dist/mooring.mjs "$@"\n',
    {
      mode: 0o755,
    },
  );
  for (const script of ["postinst", "prerm", "postrm"]) {
    const text = await readFile(join(SOURCES, script), "utf8");
    await writeFile(join(root, "DEBIAN", script), text, { mode: 0o755 });
  }
  await writeFile(join(root, "DEBIAN/conffiles"), "/etc/mooring/config.yaml\n");
  const control = await readFile(join(SOURCES, "control"), "utf8");
  const size = Math.ceil((await bytesOf(root)) / 1024);
  await writeFile(
    join(root, "DEBIAN/control"),
    `${control}Version: ${version}\nArchitecture: ${architecture}\nInstalled-Size: ${size}\n`,
  );
  await settleModes(root);
  await settleTimes(root, epoch);
  const file = join(out, `mooring_${version}_${architecture}.deb`);
  // One thread: where xz divides its work decides what comes out.
  await execute("dpkg-deb", ["--root-owner-group", "-Zxz", "--threads-max=1", "--build", root, file], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
  });
  return file;
}

async function bytesOf(path) {
  const info = await lstat(path);
  if (!info.isDirectory()) return info.size;
  const sizes = (await readdir(path)).map((name) => bytesOf(join(path, name)));
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

async function settleTimes(path, epoch) {
  const info = await lstat(path);
  if (info.isDirectory()) for (const name of await readdir(path)) await settleTimes(join(path, name), epoch);
  await lutimes(path, epoch, epoch);
}

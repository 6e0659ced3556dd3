// What pods run, made of this machine's files: Debian's static busybox, also as the container that holds a pod's network.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { writeArchive } from "../../../../scripts/lib/image/archive.mjs";
import { POPULATOR } from "./components.mjs";

const execute = promisify(execFile);
export const BUSYBOX = "docker.io/library/busybox-of-debian:1";

const TESTS = "registry.k8s.io/e2e-test-images";
/** Images that Kubernetes' storage tests name, and that have to have a shell and its tools. */
const SHELLS = [`${TESTS}/busybox:1.37.0-1`, `${TESTS}/nginx:1.14-4`];
/** One in which a shell runs the dd of GNU: busybox runs its own, which cannot pass the cache by. */
const DEBIAN = `${TESTS}/jessie-dnsutils:1.7`;
const AGNHOST = `${TESTS}/agnhost:2.59`;
const POPULATOR_IMAGE = `registry.k8s.io/sig-storage/${POPULATOR}:v1.0.1`;
const FOREVER = ["/bin/busybox", "sleep", "1000000000"];

/** Writes an OCI archive with a shell and its tools. `programs`: more of them, by their paths there. */
async function shellImage({ name, file, entrypoint = FOREVER, programs = {} }) {
  const work = await mkdtemp(join(tmpdir(), "mooring-busybox-"));
  try {
    const root = join(work, "root");
    const bin = join(root, "bin");
    await mkdir(bin, { recursive: true });
    for (const folder of ["tmp", "mnt"]) await mkdir(join(root, folder));
    await copyFile("/bin/busybox", join(bin, "busybox"));
    const { stdout } = await execute("/bin/busybox", ["--list"]);
    for (const each of stdout.split("\n").filter((line) => line !== "" && line !== "busybox"))
      await symlink("busybox", join(bin, each));
    for (const [path, source] of Object.entries(programs)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      // Never through a link to busybox.
      await rm(join(root, path), { force: true });
      await copyFile(source, join(root, path));
    }
    await writeArchive({ root, work, name, file, entrypoint });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** A program of this machine with the libraries that it is linked to, by their paths in an image. */
async function withLibraries(path) {
  const { stdout } = await execute("ldd", [path]);
  const libraries = [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, library]) => library);
  return Object.fromEntries([path, ...libraries].map((file) => [file, file]));
}

/** Writes an OCI archive of it. */
export const busyboxImage = (file) => shellImage({ name: BUSYBOX, file });

/** What the pods of Kubernetes' storage tests run, by the names that the tests have for it: the files in `folder`. */
export async function suiteImages(folder, bin) {
  const files = [];
  const file = (name) => {
    const [last] = name.split("/").slice(-1);
    files.push(`suite-${last.replace(/:.*$/, "")}.tar`);
    return join(folder, files.at(-1));
  };
  for (const name of SHELLS) await shellImage({ name, file: file(name) });
  const gnu = {
    ...(await withLibraries("/bin/dash")),
    ...(await withLibraries("/bin/dd")),
    "bin/sh": "/bin/dash",
  };
  await shellImage({ name: DEBIAN, file: file(DEBIAN), programs: gnu });
  const programs = { agnhost: join(bin, "agnhost") };
  await shellImage({ name: AGNHOST, file: file(AGNHOST), entrypoint: ["/agnhost"], programs });
  if (existsSync(join(bin, POPULATOR))) {
    const populator = { name: POPULATOR_IMAGE, file: file(POPULATOR_IMAGE), entrypoint: [`/${POPULATOR}`] };
    await shellImage({ ...populator, programs: { [POPULATOR]: join(bin, POPULATOR) } });
  }
  return files;
}

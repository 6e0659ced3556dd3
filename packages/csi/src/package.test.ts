import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as csi from "./index.ts";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string): Promise<string> => readFile(join(PACKAGE, path), "utf8");

const sources = (await readdir(join(PACKAGE, "src"), { recursive: true })).filter(
  (path) => path.endsWith(".ts") && !path.includes(".test.") && !path.startsWith("testing/"),
);

test("the package stands alone: it needs Node and the dependencies that it names, nothing of Mooring", async () => {
  const { dependencies } = JSON.parse(await read("package.json")) as { dependencies: object };
  const foreign: string[] = [];
  for (const path of sources) {
    const text = await read(join("src", path));
    for (const [, from = ""] of text.matchAll(/(?:\bfrom|^import) "([^"]+)"/gm)) {
      const name = from.split("/", from.startsWith("@") ? 2 : 1).join("/");
      if (!/^(\.{1,2}\/|node:)/.test(from) && !(name in dependencies)) foreign.push(`${path}: ${from}`);
    }
  }
  assert.ok(sources.length > 40);
  assert.deepEqual(foreign, []);
  assert.ok(Object.keys(dependencies).every((name) => !name.startsWith("@mooring/")));
});

test("every public name has a comment that explains it", async () => {
  const bare: string[] = [];
  for (const index of ["", "fuzz/"]) {
    const text = await read(`src/${index}index.ts`);
    for (const [, names = "", from = ""] of text.matchAll(
      /^export (?:type )?\{([^}]*)\} from "\.\/([^"]+)"/gm,
    )) {
      const lines = (await read(`src/${index}${from}`)).split("\n");
      for (const name of names.split(",").map((each) => each.replace("type ", "").trim())) {
        const declaration = new RegExp(`^export (async )?(function|class|interface|type|const) ${name}\\b`);
        const line = lines.findIndex((each) => declaration.test(each));
        if (name !== "" && !lines[line - 1]?.trim().endsWith("*/")) bare.push(`${from}: ${name}`);
      }
    }
  }
  assert.deepEqual(bare, []);
});

test("every code but OK has a constructor of its name", () => {
  const names = Object.keys(csi.Code).filter((name) => /^[A-Z_]+$/.test(name) && name !== "OK");
  assert.equal(names.length, 16);
  const constructors = csi.CsiError as unknown as Record<string, (message: string) => csi.CsiError>;
  for (const name of names) {
    const method = name.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const error = constructors[method]?.("why");
    assert.equal(error?.codeName, name, method);
    assert.equal(error?.message, "why");
  }
});

test("what the README imports is there, and its driver in 150 lines has no more", async () => {
  const readme = await read("README.md");
  const imported = [...readme.matchAll(/import \{([^}]*)\} from "@mooring\/csi";/g)].flatMap(
    ([, names = ""]) => names.split(",").map((name) => name.trim()),
  );
  assert.ok(imported.includes("createServer") && imported.includes("connect"));
  assert.deepEqual(
    imported.filter((name) => !(name in csi)),
    [],
  );
  const example = await read("../../examples/driver-minimal/driver.ts");
  assert.ok(example.trimEnd().split("\n").length <= 150);
});

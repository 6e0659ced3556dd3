import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidImageName, parseImage } from "./reference.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

test("names of images are read as they are written everywhere", () => {
  assert.deepEqual(parseImage("host"), { kind: "host" });
  assert.deepEqual(parseImage("dir:/srv/root"), { kind: "folder", path: "/srv/root" });
  assert.deepEqual(parseImage("oci:/srv/layout"), { kind: "layout", path: "/srv/layout", tag: "latest" });
  assert.deepEqual(parseImage("oci:/srv/layout:v1.2"), { kind: "layout", path: "/srv/layout", tag: "v1.2" });
  const registry = (domain: string, path: string, more = {}) => ({
    kind: "registry",
    ...{ domain, name: `${domain}/${path}` },
    ...more,
  });
  assert.deepEqual(parseImage("busybox"), registry("docker.io", "library/busybox"));
  assert.deepEqual(parseImage("team/app:2"), registry("docker.io", "team/app", { tag: "2" }));
  assert.deepEqual(parseImage("localhost/app"), registry("localhost", "app"));
  assert.deepEqual(parseImage("localhost:5000/a/b"), registry("localhost:5000", "a/b"));
  assert.deepEqual(parseImage("[::1]:5000/a"), registry("[::1]:5000", "a"));
  assert.deepEqual(
    parseImage(`ghcr.io/a/b_c:t@${DIGEST}`),
    registry("ghcr.io", "a/b_c", { tag: "t", digest: DIGEST }),
  );
});

test("what is no name, or a path that could mean two things, is refused", () => {
  const wrong = [
    ...[
      "",
      " ",
      "HOST",
      "host:latest ",
      "-v",
      "--authfile=/x",
      "a b",
      "Busybox",
      "a//b",
      "/a",
      "a/",
      "a:",
      "a:-b",
    ],
    ...[
      "a@sha256:12",
      `a@${DIGEST}@${DIGEST}`,
      "docker://a",
      "http://a/b",
      "a:1:2",
      "é",
      "a\0b",
      "x".repeat(2000),
    ],
    ...[
      "dir:",
      "dir:srv",
      "dir:./srv",
      "dir:/srv/../etc",
      "dir:/srv/",
      "dir:/",
      "dir://srv",
      "dir:/a:b",
      "dir:/a\nb",
    ],
    ...["oci:", "oci:layout", "oci:/a/../b", "oci:/a:", "oci:/a:b:c", "oci:/a:..", "oci:/a:-x"],
  ];
  for (const name of wrong) assert.throws(() => parseImage(name), InvalidImageName, JSON.stringify(name));
});

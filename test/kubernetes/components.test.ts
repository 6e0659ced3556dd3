// How programs of others are built from their Go modules.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mainModule } from "./real/support/components.mjs";

const THEIRS = `module example.com/driver

go 1.26.0

require (
	k8s.io/kubernetes v1.36.1
	k8s.io/client-go v1.5.2 // indirect
	k8s.io/api v0.0.0
)

replace k8s.io/client-go => k8s.io/client-go v0.36.1

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	example.com/old => example.com/new v1.2.3
)
`;

test("what a module replaces by other versions is replaced by the same", () => {
  const lines = mainModule(THEIRS, "example.com/driver", "v1.0.0").split("\n");
  const replaced = lines.slice(lines.indexOf("replace (") + 1, lines.lastIndexOf(")"));
  assert.deepEqual(replaced, [
    "\tk8s.io/api => k8s.io/api v0.35.4",
    "\tk8s.io/client-go => k8s.io/client-go v0.36.1",
    "\texample.com/old => example.com/new v1.2.3",
  ]);
  assert.ok(lines.includes("require example.com/driver v1.0.0"));
  assert.ok(lines.includes("\tk8s.io/client-go v1.5.2"));
});
